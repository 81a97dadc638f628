/** A Speech that answers what a test says, behind the real server, guards and dialects: for parsing and rendering only. */
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mount } from '@parley/kit/http/endpoint.ts';
import { createServer, listen } from '@parley/kit/http/server.ts';
import { acceptSockets } from '@parley/kit/http/socket.ts';
import { createSilentLog } from '@parley/kit/log.ts';
import { NO_METRICS } from '@parley/kit/metrics.ts';
import { problem } from '../src/core/codes.ts';
import type { Realtime } from '../src/core/realtime.ts';
import type { Jobs, ModelManagement, TranscribeOptions } from '../src/core/speech.ts';
import type { Caller, ModelInfo, Segment, Transcript, TranscriptionRequest, Upload } from '../src/core/types.ts';
import { renderProblem } from '../src/dialects/errors.ts';
import { type EndpointParts, endpointsOf } from '../src/endpoints.ts';
import { issueKey } from '../src/keys/issue.ts';
import { keyFileBook } from '../src/keys/key-file.ts';
import { openKeys } from '../src/keys/keys.ts';
import { createRateLimiter } from '../src/keys/rate.ts';
import { createGuards } from '../src/keys/require-key.ts';

const model = (id: string, more: Partial<ModelInfo> = {}): ModelInfo => ({
  id,
  revision: '1',
  display_name: id,
  kind: 'asr',
  streaming: false,
  family: 'nemo_ctc',
  languages: ['en'],
  sample_rate: 16_000,
  license: 'MIT',
  commercial_use: 'yes',
  state: 'installed',
  resident: false,
  pinned: false,
  word_timestamps: true,
  capabilities: {
    word_timestamps: true,
    confidence: true,
    language_detect: false,
    punctuation_builtin: false,
    hotwords: false,
    streaming: false,
  },
  ref_count: 0,
  rss_mb: 100,
  size_bytes: 1000,
  installed_at: '2026-01-02T03:04:05.678Z',
  default: false,
  revisions: ['1'],
  ...more,
});

const MODELS: readonly ModelInfo[] = [
  model('english', { default: true }),
  model('russian', { languages: ['ru'], state: 'resident', resident: true }),
  model('silero-vad', { kind: 'vad', languages: ['multi'] }),
  model('live', { streaming: true }),
  model('broken', { problem: 'its tokens are missing' }),
];

export const SEGMENTS: readonly Segment[] = [
  {
    id: 0,
    start: 0.5,
    end: 1.75,
    text: 'hello world',
    channel: 0,
    speaker: null,
    avg_confidence: 0.5,
    speech_probability: 0.875,
    tokens: [7, 8],
    words: [
      { word: 'hello', start: 0.5, end: 1, confidence: 0.25 },
      { word: 'world', start: 1.25, end: 1.75, confidence: 0.75 },
    ],
  },
  {
    id: 1,
    start: 2,
    end: 3.00049,
    text: 'good bye',
    channel: 0,
    speaker: null,
    words: [
      { word: 'good', start: 2, end: 2.5 },
      { word: 'bye', start: 2.5, end: 3.00049 },
    ],
  },
];

export const transcriptOf = (segments: readonly Segment[], more: Partial<Transcript> = {}): Transcript => ({
  id: 'txn_1',
  model: 'english@1',
  language: 'en',
  duration: 3.25,
  text: segments.map(({ text }) => text).join(' '),
  timestamp_source: 'token',
  segments,
  silence: [{ start: 0, end: 0.5 }],
  stats: {
    audio_duration: 3.25,
    processing_ms: 65,
    rtf: 0.02,
    stages_ms: { decode: 1, vad: 2, asr: 60, assemble: 1, diarize: 0, post: 0 },
    segments_total: segments.length,
    speech_ratio: 0.692,
  },
  warnings: [],
  ...more,
});

const NO_JOBS = {} as Jobs;
const NO_MANAGEMENT = {} as ModelManagement;

type Heard = { caller: Caller; request: TranscriptionRequest; upload: Upload };
export type Script = (heard: Heard, options: TranscribeOptions) => Transcript | Promise<Transcript>;

/** What the service says when nothing else is scripted: the segments one by one, then all of it. */
export const sayHello: Script = ({ request }, { onSegment }) => {
  for (const [index, segment] of SEGMENTS.entries()) onSegment?.(segment, index);
  return transcriptOf(SEGMENTS, { warnings: request.warnings });
};

/** The whole service but for what recognises; `script` may be replaced between requests. */
export const startScripted = async (more: Partial<EndpointParts> = {}) => {
  const dir = await mkdtemp(join(tmpdir(), 'parley-scripted-'));
  const keysPath = join(dir, 'keys.json');
  const user = await issueKey(keyFileBook(keysPath), { name: 'user' });
  const admin = await issueKey(keyFileBook(keysPath), { name: 'admin', admin: true });
  const slow = await issueKey(keyFileBook(keysPath), { name: 'slow', rps: 0.5 });
  const heard: Heard[] = [];
  const stage: { script: Script } = { script: sayHello };
  const resolve = async (name: string | undefined): Promise<ModelInfo> => {
    const found = MODELS.find(({ id }) => id === (name ?? 'english'));
    if (!found) throw problem('model_not_found', `There is no model ${name}.`, { param: 'model' });
    return found;
  };
  const spoolDir = await mkdtemp(join(dir, 'spool-'));
  const app = createServer({ log: createSilentLog(), name: 'speech', render: renderProblem });
  const parts: EndpointParts = {
    sockets: acceptSockets(app),
    gaEvents: true,
    speech: {
      transcribe: async (caller, request, upload, options) => {
        heard.push({ caller, request, upload });
        await resolve(request.model);
        return stage.script({ caller, request, upload }, options);
      },
      inspect: async (_caller, request) => ({ model: await resolve(request.model), warnings: [] }),
      // Neither is what administrators do with models (model-api.test.ts).
      models: { ...NO_MANAGEMENT, list: async () => MODELS, catalog: async () => [], resolve },
      // Jobs are tested with the real service (jobs.test.ts).
      jobs: NO_JOBS,
      // So are sessions (realtime.test.ts).
      realtime: {} as Realtime,
    },
    uploads: { spoolDir, maxBytes: 1_000_000, idleMs: 10_000 },
    subtitles: { maxChars: 84, maxLines: 2, maxSeconds: 7 },
    speakerPrefix: 'SPEAKER_',
    modelAliases: { 'whisper-1': 'default', 'gpt-4o-transcribe': 'russian' },
    config: () => ({ server: { port: 0 } }),
    health: () => ({ version: '1.1.1', engines: { sherpa_onnx: '1.13.8', onnxruntime: '1.24.4' } }),
    readiness: () => ({
      status: 'ready',
      queue_depth: 0,
      queue_size: 32,
      queued_bytes: 0,
      max_queued_bytes: 1,
      running: 0,
      workers: 1,
      models_resident: 1,
    }),
    uiEnabled: true,
    metrics: NO_METRICS,
    ...more,
  };
  const keys = openKeys({ path: keysPath, now: Date.now, onFault: () => undefined });
  mount(app, endpointsOf(parts), createGuards({ mode: 'apikey', keys, rates: createRateLimiter(Date.now) }));
  const listening = await listen(app, { host: '127.0.0.1', port: 0 });

  const call = (path: string, init: RequestInit & { key?: string } = {}): Promise<Response> => {
    const headers = new Headers(init.headers);
    if (init.key !== '') headers.set('Authorization', `Bearer ${init.key ?? user.secret}`);
    return fetch(`${listening.url}${path}`, { redirect: 'manual', ...init, headers });
  };
  return {
    url: listening.url,
    heard,
    stage,
    keys: { user: user.secret, admin: admin.secret, slow: slow.secret, path: keysPath },
    call,
    /** Posts a form with a small recording; a list sends a field several times. */
    post: (path: string, fields: Readonly<Record<string, string | readonly string[]>> = {}, init: RequestInit = {}) => {
      const form = new FormData();
      form.append('file', new Blob(['RIFF....WAVE']), 'sound.wav');
      for (const [name, values] of Object.entries(fields))
        for (const value of [values].flat()) form.append(name, value);
      return call(path, { method: 'POST', body: form, ...init });
    },
    /** The request the last call made of its form. */
    lastRequest: (): TranscriptionRequest => heard.at(-1)!.request,
    spooled: () => readdir(spoolDir),
    [Symbol.asyncDispose]: async () => {
      await listening.close();
      await rm(dir, { recursive: true, force: true });
    },
  };
};

export type Scripted = Awaited<ReturnType<typeof startScripted>>;
