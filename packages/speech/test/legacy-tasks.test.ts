/** Legacy tasks and language detection: on the real service, and their states one by one on a scripted one. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { eventually } from '@parley/kit/testing/wait.ts';
import { problem } from '../src/core/codes.ts';
import type { JobRecord } from '../src/core/job-record.ts';
import type { Jobs, Speech } from '../src/core/speech.ts';
import type { ModelInfo } from '../src/core/types.ts';
import { createLegacyClient, type LegacyClient } from './legacy-client.ts';
import { startScripted } from './scripted-speech.ts';
import { ADMIN_KEY, readTestdata, startTestSpeech, type TestSpeech, testFile } from './start-test-speech.ts';

// biome-ignore lint/suspicious/noExplicitAny: bodies are what the test looks into.
type Json = any;

const TASK_ID = /^job_[0-9a-f]{32}~[a-z0-9_-]+$/;

describe('tasks', () => {
  let speech: TestSpeech;
  let client: LegacyClient;
  let wav: File;
  before(async () => {
    speech = await startTestSpeech();
    client = createLegacyClient(speech);
    wav = await testFile('speech/transfer-digits.wav');
  });
  after(() => speech[Symbol.asyncDispose]());

  const create = async (query: string, file: File = wav): Promise<string> => {
    const answer = await client.post(`/asr_task${query}`, file);
    assert.equal(answer.status, 200, answer.text);
    const { task_id: id, ...rest }: Json = JSON.parse(answer.text);
    assert.deepEqual(rest, { success: true });
    assert.match(id, TASK_ID);
    return id;
  };
  /** Waits for the end of the job behind the task. */
  const finish = async (id: string): Promise<void> => {
    await (await speech.fetch(`/api/v1/jobs/${id.split('~')[0]}/events`)).text();
  };

  for (const output of ['txt', 'json', 'srt', 'vtt', 'tsv', 'docx']) {
    it(`end with the very file that /asr answers, as ${output}`, async () => {
      const query = `?output=${output}&vad_filter=1`;
      const id = await create(query);
      assert.ok(id.endsWith(`~${output}`));
      await finish(id);
      const [task, direct] = [await client.get(`/asr_task/${id}`), await client.post(`/asr${query}`, wav)];
      assert.equal(task.text, direct.text);
      for (const name of ['content-type', 'asr-engine', 'content-disposition', 'x-service-warnings'])
        assert.equal(task.headers.get(name), direct.headers.get(name), name);
    });
  }

  it('can be read in another format, by their bare id, and again', async () => {
    const id = await create('?output=srt');
    await finish(id);
    assert.match((await client.get(`/asr_task/${id}?output=tsv`)).text, /^start\tend\ttext\n/);
    assert.match((await client.get(`/asr_task/${id}?output=`)).text, /^1\n00:00:/);
    const bare = await client.get(`/asr_task/${id.split('~')[0]}`);
    assert.equal(bare.text, 'transfer three five seven nine\n');
    assert.match(bare.headers.get('content-disposition')!, /wav\.txt"$/);
    const odd = await client.get(`/asr_task/${id}?output=doc`);
    assert.deepEqual([odd.text, odd.warnings], [bare.text, ['output_unknown_rendered_as_txt']]);
  });

  it('show words in json when they were asked for, and only then', async () => {
    const [with_, without] = [await create('?output=json&word_timestamps=1'), await create('?output=json')];
    await finish(with_);
    await finish(without);
    const words: Json = JSON.parse((await client.get(`/asr_task/${with_}`)).text);
    assert.equal(words.word_segments.length, 5);
    assert.equal(words.segments[0].words.length, 5);
    const none: Json = JSON.parse((await client.get(`/asr_task/${without}`)).text);
    assert.ok(!('word_segments' in none) && !('words' in none.segments[0]));
  });

  it('take bare samples', async () => {
    const bytes = await readTestdata('speech/transfer-digits.wav');
    const samples = new File([new Uint8Array(bytes.subarray(bytes.indexOf('data') + 8))], 'audio_file');
    const id = await create('?encode=false&output=txt', samples);
    await finish(id);
    const answer = await client.get(`/asr_task/${id}`);
    assert.deepEqual([answer.text, answer.warnings], ['transfer three five seven nine\n', ['raw_pcm_assumed']]);
  });

  it('say why there is no file', async () => {
    const id = await create('', new File(['what is this'], 'x'));
    await finish(id);
    const answer = await client.get(`/asr_task/${id}`);
    assert.equal(answer.status, 200);
    const { error, ...rest }: Json = JSON.parse(answer.text);
    assert.deepEqual(rest, { success: false, is_ready: true });
    assert.deepEqual([error.title, error.traceback], ['The task failed', ['code: unsupported_media_type']]);
    assert.ok(error.message.length > 5);
  });

  it('are their key’s own, and an administrator’s', async () => {
    const id = await create('');
    await finish(id);
    assert.equal((await client.get(`/asr_task/${id}`, { key: ADMIN_KEY })).status, 200);
    const foreign = await client.post('/asr_task', wav, {}, { key: ADMIN_KEY });
    const { task_id: foreignId }: Json = JSON.parse(foreign.text);
    const answer = await client.get(`/asr_task/${foreignId}`);
    assert.deepEqual([answer.status, answer.detail()], [404, { message: 'task not found', code: 'job_not_found' }]);
    await (await speech.fetch(`/api/v1/jobs/${foreignId.split('~')[0]}/events`, { key: ADMIN_KEY })).text();
    await eventually('the uploads to go', async () => (await speech.spooled()).length === 0);
  });
});

describe('states of a task', () => {
  const base = { id: 'job_1', object: 'job', model_id: 'm', model_rev: '1', audio_bytes: 9, source: 'api' } as const;
  const record = (more: Partial<JobRecord>): JobRecord =>
    ({ ...base, priority: 'batch', attempt: 1, created_at: '', links: { self: '', events: '' }, ...more }) as JobRecord;
  const ERROR = { code: 'queue_expired', message: 'It waited too long.' };
  const STATES: readonly [JobRecord, object][] = [
    [record({ status: 'queued', position: 3 }), { success: true, is_ready: false, status: 'queued', position: 3 }],
    [record({ status: 'running', percent: 40 }), { success: true, is_ready: false, status: 'running', percent: 40 }],
    [
      record({ status: 'canceled' }),
      {
        success: false,
        is_ready: true,
        error: { title: 'The task was cancelled', message: 'There is no transcript.', traceback: ['code: canceled'] },
      },
    ],
    [
      record({ status: 'expired', error: ERROR }),
      {
        success: false,
        is_ready: true,
        error: { title: 'The task waited too long', message: ERROR.message, traceback: ['code: queue_expired'] },
      },
    ],
  ];
  for (const [job, body] of STATES) {
    it(`${job.status} is told so`, async () => {
      await using scripted = await startWith({ jobs: { get: async () => job } as unknown as Jobs });
      const answer = await scripted.client.get('/asr_task/job_1~srt');
      assert.deepEqual([answer.status, JSON.parse(answer.text)], [200, body]);
      assert.match(answer.headers.get('content-type')!, /^application\/json/);
    });
  }

  it('a full queue refuses before the upload is read, and the place is given back otherwise', async () => {
    let released = 0;
    const full = problem('queue_full', 'full', { retryAfterSec: 7 });
    const release = (): void => {
      released += 1;
    };
    const reserve = () => ({ setBytes: () => undefined, release });
    const jobs = { reserve, submit: () => Promise.reject(full) } as unknown as Jobs;
    await using late = await startWith({ jobs });
    const answer = await late.client.post('/asr_task', new File(['x'], 'x'));
    assert.deepEqual([answer.status, answer.headers.get('retry-after'), released], [429, '7', 1]);
    const refuse = (): never => {
      throw full;
    };
    await using early = await startWith({ jobs: { reserve: refuse } as unknown as Jobs });
    const refused = await early.client.post('/asr_task', new File(['x'], 'x'));
    assert.deepEqual([refused.status, refused.detail()], [429, { message: 'full', code: 'queue_full' }]);
  });
});

/** The scripted service with some of its parts replaced. */
const startWith = async (speech: Partial<Speech>) => {
  const missing = new Proxy({}, { get: () => () => Promise.reject(new Error('not scripted')) }) as Speech;
  const transcribe: Speech['transcribe'] = () => Promise.reject(new Error('nothing is to be recognised'));
  const scripted = await startScripted({
    speech: {
      transcribe,
      inspect: missing.inspect,
      models: missing.models,
      jobs: missing.jobs,
      realtime: missing.realtime,
      ...speech,
    },
  });
  return {
    client: createLegacyClient({ fetch: scripted.call }),
    [Symbol.asyncDispose]: () => scripted[Symbol.asyncDispose](),
  };
};

describe('POST /detect-language', () => {
  const speaking = (...languages: string[]): Partial<Speech> => {
    const model = { id: 'm', kind: 'asr', streaming: false, languages } as unknown as ModelInfo;
    return {
      models: { list: async () => [model] } as unknown as Speech['models'],
      inspect: async (_caller, { rawPcmRate }) => ({
        model,
        warnings: rawPcmRate === 16_000 ? [{ code: 'raw_pcm_assumed', message: 'raw' }] : [],
      }),
    };
  };
  const ROWS: readonly [string[], string, string, number][] = [
    [['ru'], 'ru', 'russian', 1],
    [['ru', 'ru-RU'], 'ru', 'russian', 1],
    [['zh-Hans', 'yue', 'en'], 'zh', 'chinese', 0],
    [['multi'], 'en', 'english', 0],
    [['multi', 'ht'], 'ht', 'haitian creole', 1],
  ];
  for (const [languages, code, name, confidence] of ROWS) {
    it(`answers ${name} for a model of ${languages}`, async () => {
      await using scripted = await startWith(speaking(...languages));
      const answer = await scripted.client.post('/detect-language?encode=0', new File(['x'], 'x'));
      assert.equal(answer.text, JSON.stringify({ detected_language: name, language_code: code, confidence }));
      assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8');
      const told = confidence === 1 ? [] : ['language_detection_unavailable'];
      assert.deepEqual(answer.warnings, ['raw_pcm_assumed', ...told]);
    });
  }

  it('says 503 where no transcription model is installed', async () => {
    const none = speaking('en');
    await using scripted = await startWith({ ...none, models: { ...none.models!, list: async () => [] } });
    const answer = await scripted.client.post('/detect-language', new File(['x'], 'x'));
    assert.deepEqual([answer.status, answer.detail().code], [503, 'model_unavailable']);
    assert.ok(answer.headers.get('retry-after'));
  });

  it('opens every format, and reads no further than it must', async () => {
    await using speech = await startTestSpeech({ settings: { 'audio.max_duration': '2s', 'audio.ffmpeg_path': '' } });
    const client = createLegacyClient(speech);
    for (const name of ['words.wav', 'words.mp3', 'words-moov-last.m4a', 'words.flac', 'words.opus', 'words.webm']) {
      const answer = await client.post('/detect-language', await testFile(`audio/${name}`));
      assert.equal(answer.text, '{"detected_language":"english","language_code":"en","confidence":1}', name);
      assert.deepEqual(answer.warnings, [], name);
    }
    await speech.emptied();
  });
});
