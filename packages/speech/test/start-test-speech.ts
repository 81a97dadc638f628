/** The real service for tests: temporary folders, port 0, the fixture models, two known keys. */
import { cp, mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createSilentLog, type Log } from '@parley/kit/log.ts';
import { readSettings } from '@parley/kit/settings.ts';
import { eventually } from '@parley/kit/testing/wait.ts';
import { SPEECH_SETTINGS } from '../src/settings.ts';
import { startSpeech } from '../src/start.ts';

const TESTDATA = new URL('../../../testdata/', import.meta.url);

export const ADMIN_KEY = 'sk-test-admin-0123456789';
export const USER_KEY = 'sk-test-user-0123456789';

/** Fixture models by the folder they lie in under testdata/models. */
export type FixtureModel =
  | 'offline-ctc'
  | 'offline-transducer'
  | 'online-transducer'
  | 'punct'
  | 'punct-online'
  | 'diarization'
  | 'itn';

export type TestSpeechOptions = {
  readonly models?: readonly FixtureModel[];
  /** Settings by key without the section, as in `{ 'server.max_upload_bytes': '1 MiB' }`. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Settings that stand at the top, by key. */
  readonly shared?: Readonly<Record<string, string>>;
  readonly log?: Log;
  /** A PostgreSQL database; a file of the data folder when not given. */
  readonly storageUrl?: string;
  /** A data folder that outlives the service, for tests that start it again. */
  readonly dataDir?: string;
};

export type TestSpeech = AsyncDisposable & {
  readonly url: string;
  readonly dataDir: string;
  /** Files waiting in the spool, at any depth. */
  spooled(): Promise<string[]>;
  /** Waits until nothing is in the spool: what is given up leaves it a moment after its answer. */
  emptied(): Promise<void>;
  /** `fetch` with the user's key (or another). */
  fetch(path: string, init?: RequestInit & { key?: string }): Promise<Response>;
  /** Posts a multipart form: text fields, and `file` when given. */
  post(
    path: string,
    fields: Readonly<Record<string, string | readonly string[]>>,
    file?: Blob | File,
    key?: string,
  ): Promise<Response>;
  /** Ends the service and leaves the data folder. */
  stop(): Promise<void>;
};

export const testdataPath = (path: string): string => fileURLToPath(new URL(path, TESTDATA));
export const readTestdata = (path: string): Promise<Buffer> => readFile(new URL(path, TESTDATA));
export const testFile = async (path: string): Promise<File> =>
  new File([new Uint8Array(await readTestdata(path))], path.slice(path.lastIndexOf('/') + 1));

/** Puts a fixture model where the service looks for models. */
export const installFixture = async (dataDir: string, name: FixtureModel): Promise<void> => {
  const from = testdataPath(`models/${name}`);
  const { id, revision }: { id: string; revision: string } = JSON.parse(
    await readFile(join(from, 'model.json'), 'utf8'),
  );
  await cp(from, join(dataDir, 'models', `${id}@${revision}`), { recursive: true });
};

/** Starts the service with the transducer and CTC fixtures (or those named); the transducer is the default model. */
export const startTestSpeech = async (options: TestSpeechOptions = {}): Promise<TestSpeech> => {
  const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), 'parley-speech-')));
  await mkdir(join(dataDir, 'models'), { recursive: true });
  for (const name of options.models ?? ['offline-transducer', 'offline-ctc']) await installFixture(dataDir, name);
  const flags = {
    data_dir: dataDir,
    'speech.server.port': '0',
    'speech.auth.admin_key': ADMIN_KEY,
    'speech.auth.user_key': USER_KEY,
    'speech.registry.first_start': 'demo',
    'speech.registry.allow_download': 'false',
    'speech.asr.default_model': 'demo-transducer-en',
    'speech.server.shutdown_grace': '2s',
    ...(options.storageUrl === undefined ? {} : { 'storage.url': options.storageUrl }),
    ...options.shared,
    ...Object.fromEntries(Object.entries(options.settings ?? {}).map(([key, value]) => [`speech.${key}`, value])),
  };
  const settings = readSettings(SPEECH_SETTINGS, { section: 'speech', env: {}, flags });
  const running = await startSpeech(settings, options.log ?? createSilentLog());
  const spooled = async (): Promise<string[]> => {
    const entries = await readdir(join(dataDir, 'spool'), { recursive: true, withFileTypes: true });
    return entries.filter((entry) => entry.isFile()).map((entry) => entry.name);
  };
  const send: TestSpeech['fetch'] = (path, { key = USER_KEY, ...init } = {}) => {
    const headers = new Headers(init.headers);
    if (key !== '') headers.set('authorization', `Bearer ${key}`);
    return fetch(`${running.url}${path}`, { ...init, headers });
  };
  return {
    url: running.url,
    dataDir,
    spooled,
    emptied: async () => {
      await eventually('the spool to be empty', async () => (await spooled()).length === 0);
    },
    fetch: send,
    post: (path, fields, file, key = USER_KEY) => {
      const form = new FormData();
      for (const [name, value] of Object.entries(fields)) {
        for (const one of [value].flat()) form.append(name, one);
      }
      if (file) form.append('file', file);
      return send(path, { method: 'POST', body: form, key });
    },
    stop: async () => {
      await running[Symbol.asyncDispose]();
    },
    [Symbol.asyncDispose]: async () => {
      await running[Symbol.asyncDispose]();
      if (options.dataDir === undefined) await rm(dataDir, { recursive: true, force: true });
    },
  };
};
