/** Where uploads lie and how many there may be, when several services share one queue. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createSilentLog } from '@parley/kit/log.ts';
import type { Store } from '@parley/kit/store/store.ts';
import { openPostgresDriver, type TestDatabase, type TestDriver } from '@parley/kit/testing/each-store.ts';
import { eventually } from '@parley/kit/testing/wait.ts';
import { openLive } from '../src/jobs/live.ts';
import { DOMAIN, KIND } from '../src/jobs/records.ts';
import { createCleanUp, startSweeper } from '../src/jobs/recover.ts';
import type { Spool } from '../src/jobs/spool.ts';
import { openSpool, readSpoolPlace, type SpoolSettings } from '../src/jobs/spool-place.ts';
import { readEvents } from './event-stream.ts';
import { type S3Server, startS3 } from './s3-server.ts';
import { ADMIN_KEY, readTestdata, startTestSpeech, type TestSpeech, testFile } from './start-test-speech.ts';

type Job = { id: string; status: string; started_at?: string };

let driver: TestDriver & AsyncDisposable;
let folder: string;

before(async () => {
  driver = await openPostgresDriver();
  folder = await mkdtemp(join(tmpdir(), 'parley-spool-'));
});
after(async () => {
  await driver?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

const submit = async (speech: TestSpeech, file: File): Promise<Response> => speech.post('/api/v1/jobs', {}, file);

const endOf = async (speech: TestSpeech, job: Job): Promise<string | undefined> => {
  const url = `${speech.url}/api/v1/jobs/${job.id}/events`;
  const events = await Array.fromAsync(await readEvents(url, { authorization: `Bearer ${ADMIN_KEY}` }));
  return events.at(-1)?.event;
};

const start = (database: TestDatabase, shared: Readonly<Record<string, string>>, settings = {}): Promise<TestSpeech> =>
  startTestSpeech({ models: ['offline-transducer'], storageUrl: database.place, shared, settings });

describe('a folder that several instances see', () => {
  it('lets one run what another accepted', async () => {
    await using database = await driver.createDatabase();
    const shared = { 'spool.url': `file://${folder}` };
    // The first takes no more than one job at a time, so that the other gets some.
    await using one = await start(database, shared, { 'jobs.max_concurrent': '1' });
    await using two = await start(database, shared, { 'jobs.max_concurrent': '1' });
    const file = await testFile('audio/words.wav');
    const jobs = await Promise.all(
      Array.from({ length: 6 }, async () => (await (await submit(one, file)).json()) as Job),
    );
    assert.deepEqual(await Promise.all(jobs.map((job) => endOf(two, job))), Array(6).fill('succeeded'));
    await eventually('uploads to go', async () => (await readdir(folder)).every((name) => name === '.place'));
  });
});

describe('the size of a shared queue', () => {
  it('holds over all instances, however many are sent at once', async () => {
    await using database = await driver.createDatabase();
    await using store = await database.open();
    const shared = { 'spool.url': folder };
    const settings = { 'jobs.queue_size': '4', 'jobs.max_concurrent': '1' };
    await using one = await start(database, shared, settings);
    await using two = await start(database, shared, settings);
    const wav = await readTestdata('audio/words.wav');
    const long = new File([wav.subarray(0, 44), ...Array.from({ length: 100 }, () => wav.subarray(44))], 'long.wav');
    const answers = await Promise.all(Array.from({ length: 16 }, (_, at) => submit(at % 2 === 0 ? one : two, long)));
    const statuses = answers.map(({ status }) => status);
    const accepted = statuses.filter((status) => status === 202).length;
    assert.ok(accepted >= 4 && statuses.every((status) => status === 202 || status === 429), statuses.join());
    const rows = await store.query<Job>(DOMAIN, KIND.job, {});
    assert.equal(rows.length, accepted, 'nothing is half accepted');
    const begun = rows.filter(({ data }) => data.started_at !== null).length;
    assert.ok(accepted - begun <= 4, `${accepted} accepted, ${begun} begun`);
    const refused = answers.find(({ status }) => status === 429)!;
    assert.ok(Number(refused.headers.get('retry-after')) >= 1);
    assert.equal(((await refused.json()) as { code: string }).code, 'queue_full');
    const kept = (await readdir(folder)).filter((name) => name !== '.place');
    assert.ok(
      kept.every((name) => rows.some(({ id }) => id === name)),
      'what was refused left nothing',
    );
    for (const { id } of rows) await one.fetch(`/api/v1/jobs/${id}`, { method: 'DELETE' });
  });
});

describe('a bucket', () => {
  let s3: S3Server;
  before(async () => {
    s3 = await startS3();
  });
  after(() => s3?.[Symbol.asyncDispose]());

  it('takes a large upload in parts, and has nothing left when it is done', async () => {
    await using database = await driver.createDatabase();
    await using speech = await start(database, s3.settings);
    const wav = await readTestdata('audio/words.wav');
    // 20 MiB, all but the beginning of it silence.
    const silence = new Uint8Array(20 * 2 ** 20);
    const head = Buffer.from(wav);
    head.writeUInt32LE(wav.length - 44 + silence.length, 40);
    const file = new File([head, silence], 'large.wav');
    const job = (await (await submit(speech, file)).json()) as Job;
    assert.equal(await endOf(speech, job), 'succeeded');
    await eventually('the upload to go', async () => (await s3.bucket.list('')).length === 0);
    await eventually('the local copy to go', async () => (await speech.spooled()).length === 0);
  });

  it('that does not answer is 503 in each dialect, and nothing is half accepted; work waits until it is back', async () => {
    await using database = await driver.createDatabase();
    await using store = await database.open();
    await using speech = await start(database, s3.settings, { 'jobs.max_concurrent': '1' });
    const file = await testFile('audio/words.wav');
    const wav = await readTestdata('audio/words.wav');
    const long = new File([wav.subarray(0, 44), ...Array.from({ length: 1200 }, () => wav.subarray(44))], 'long.wav');
    const busy = (await (await submit(speech, long)).json()) as Job;
    const waiting = (await (await submit(speech, file)).json()) as Job;
    const unwanted = (await (await submit(speech, file)).json()) as Job;
    await s3.stop();
    const canceled = await speech.fetch(`/api/v1/jobs/${unwanted.id}`, { method: 'DELETE' });
    assert.equal(((await canceled.json()) as Job).status, 'canceled', 'its upload is left to the sweep');

    const native = await submit(speech, file);
    assert.equal(native.status, 503);
    assert.match(native.headers.get('content-type') ?? '', /^application\/problem\+json/);
    assert.ok(Number(native.headers.get('retry-after')) >= 1);
    assert.equal(((await native.json()) as { code: string }).code, 'storage_unavailable');
    const form = new FormData();
    form.append('audio_file', file);
    const legacy = await speech.fetch('/asr_task', { method: 'POST', body: form });
    assert.equal(legacy.status, 503);
    assert.equal(((await legacy.json()) as { detail: { code: string } }).detail.code, 'storage_unavailable');
    assert.equal(await store.count(DOMAIN, KIND.job), 3);
    await speech.fetch(`/api/v1/jobs/${busy.id}`, { method: 'DELETE' });
    const row = await store.get<Job>(DOMAIN, KIND.job, waiting.id);
    assert.equal(row?.data.status, 'queued');

    await s3.start();
    assert.equal(await endOf(speech, waiting), 'succeeded');
    await eventually('the local copy to go', async () => (await speech.spooled()).length === 0);
  });

  it('that is not there keeps the service from starting, in words', async () => {
    await using database = await driver.createDatabase();
    const wrong = { ...s3.settings, 'spool.url': 's3://nowhere/speech' };
    await assert.rejects(start(database, wrong), /the bucket of s3:\/\/nowhere\/speech is not there/);
  });
});

describe('a database that is away', () => {
  it('is 503 where it is needed, nothing is half accepted, and work goes on when it is back', async () => {
    await using database = await driver.createDatabase();
    await using speech = await start(database, {}, { 'jobs.lease': '2s' });
    const wav = await readTestdata('audio/words.wav');
    const file = new File([new Uint8Array(wav)], 'words.wav');
    const long = new File([wav.subarray(0, 44), ...Array.from({ length: 40 }, () => wav.subarray(44))], 'long.wav');
    const running = (await (await submit(speech, long)).json()) as Job;
    const url = `${speech.url}/api/v1/jobs/${running.id}/events?segments=true`;
    for await (const { event } of await readEvents(url, { authorization: `Bearer ${ADMIN_KEY}` })) {
      if (event === 'segment') break;
    }
    const server = driver.postgres()!;
    await server.stop('SIGQUIT');
    const refused = await submit(speech, file);
    assert.equal(refused.status, 503);
    assert.ok(Number(refused.headers.get('retry-after')) >= 1);
    assert.equal(((await refused.json()) as { code: string }).code, 'storage_unavailable');
    const legacy = await speech.fetch('/asr_task/job_0123456789abcdef0123456789abcdef~txt');
    assert.equal(((await legacy.json()) as { detail: { code: string } }).detail.code, 'storage_unavailable');
    assert.equal((await speech.post('/api/v1/transcribe', {}, file)).status, 200, 'what needs no database goes on');
    await server.start();
    await eventually('the database to be used again', async () => {
      const listed = await speech.fetch('/api/v1/jobs');
      return listed.status === 200 && ((await listed.json()) as { data: Job[] }).data.length === 1;
    });
    assert.equal(await endOf(speech, running), 'succeeded');
    const again = (await (await submit(speech, file)).json()) as Job;
    assert.equal(await endOf(speech, again), 'succeeded');
  });
});

describe('what nobody refers to', () => {
  const sweepOnce = async (store: Store, spool: Spool, afterMs: number): Promise<void> => {
    const log = createSilentLog();
    await using live = await openLive(store, log);
    const cleanUp = createCleanUp(store, spool, log);
    const parts = { store, spool, live, log, owner: undefined, maxQueueWaitMs: 1e12, maxProcessingMs: 1e12 };
    const now = (): number => Date.now() + afterMs;
    await using sweeper = startSweeper(
      { ...parts, now, canRun: () => true, onTerminal: () => [], onEnded: cleanUp },
      1e12,
    );
    await sweeper.sweep();
  };

  it('goes from a shared place, but not while it may be on its way to be accepted', async () => {
    await using s3 = await startS3();
    await using database = await driver.createDatabase();
    await using store = await database.open();
    const spool = await openSpool({ ...placeOf(s3.settings), dataDir: join(folder, 'data') }, () => assert.fail());
    const id = `job_${randomUUID().replaceAll('-', '')}`;
    const path = join(folder, 'upload');
    await writeFile(path, 'sound');
    await spool.adopt({ path, sizeBytes: 5, filename: undefined, remove: async () => undefined }, id);
    await sweepOnce(store, spool, 0);
    assert.deepEqual(
      (await spool.list()).map(({ jobId }) => jobId),
      [id],
    );
    await sweepOnce(store, spool, 25 * 3_600_000);
    assert.deepEqual(await spool.list(), []);
  });
});

const placeOf = (settings: Readonly<Record<string, string>>): SpoolSettings => ({
  url: settings['spool.url']!,
  endpoint: settings['spool.endpoint']!,
  region: 'us-east-1',
  accessKey: settings['spool.access_key']!,
  secretKey: settings['spool.secret_key']!,
  dataDir: '/data',
});

describe('spool.url', () => {
  const read = (url: string, more: Partial<SpoolSettings> = {}) =>
    readSpoolPlace({
      url,
      endpoint: '',
      region: 'eu-west-3',
      accessKey: 'k',
      secretKey: 's',
      dataDir: '/data',
      ...more,
    });

  it('is a bucket, a folder, or what the data folder has', () => {
    assert.deepEqual(read('s3://calls/a/b/'), {
      kind: 'bucket',
      bucket: { endpoint: 'https://calls.s3.eu-west-3.amazonaws.com', region: 'eu-west-3', keyId: 'k', secretKey: 's' },
      prefix: 'a/b/',
      name: 's3://calls/a/b',
    });
    const own = read('s3://calls', { endpoint: 'http://minio:9000/' });
    assert.deepEqual(own.kind === 'bucket' && [own.bucket.endpoint, own.prefix], ['http://minio:9000/calls', '']);
    assert.deepEqual(read('file:///mnt/calls'), { kind: 'folder', dir: '/mnt/calls' });
    assert.deepEqual(read('/mnt/calls'), { kind: 'folder', dir: '/mnt/calls' });
    assert.equal(read('').kind, 'folder');
  });

  it('that cannot be used is refused in words', () => {
    assert.throws(() => read('http://host/bucket'), /spool.url must be/);
    assert.throws(() => read('s3:///prefix'), /names no bucket/);
    assert.throws(() => read('s3://key:secret@calls'), /no user/);
    assert.throws(() => read('s3://calls', { secretKey: '' }), /spool.secret_key are needed/);
    assert.throws(() => read('s3://calls', { endpoint: 'minio:9000' }), /spool.endpoint must be/);
  });
});
