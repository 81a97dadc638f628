/** Three services as processes of their own on one PostgreSQL and one bucket: one queue. */
import assert from 'node:assert/strict';
import { cp, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createSilentLog } from '@parley/kit/log.ts';
import { openStore } from '@parley/kit/store/open.ts';
import type { Store } from '@parley/kit/store/store.ts';
import { openPostgresDriver, type TestDatabase } from '@parley/kit/testing/each-store.ts';
import { eventually } from '@parley/kit/testing/wait.ts';
import { createDataDir, KEY, type SoakService, startService, testdata } from '../../../tools/soak/service.ts';
import { DOMAIN, KIND } from '../src/jobs/records.ts';
import { issueKey } from '../src/keys/issue.ts';
import { sharedBook } from '../src/keys/shared-book.ts';
import { type EventReader, readEvents } from './event-stream.ts';
import { type S3Server, startS3 } from './s3-server.ts';

type Job = { id: string; status: string; attempt: number; result?: { text: string; segments: unknown[] } };

const headers = { authorization: `Bearer ${KEY}` };
/** What only the first two have, and what only the third has; the demonstration model comes with every first start. */
const COMMON = 'demo-ctc-en';
const OTHER = 'other-ctc-en';

/** The reference recording joined `times` times. */
const longRecording = async (times: number): Promise<Blob> => {
  const wav = await readFile(testdata('audio/words.wav'));
  const at = wav.indexOf('data') + 8;
  const body = Buffer.concat(Array.from({ length: times }, () => wav.subarray(at)));
  const head = Buffer.from(wav.subarray(0, at));
  head.writeUInt32LE(body.length, at - 4);
  head.writeUInt32LE(at - 8 + body.length, 4);
  return new Blob([head, body]);
};

/** Installs the CTC fixture under another id. */
const installUnder = async (id: string, dataDir: string): Promise<void> => {
  const from = testdata('models/offline-ctc');
  const manifest = JSON.parse(await readFile(join(from, 'model.json'), 'utf8')) as { id: string; revision: string };
  const to = join(dataDir, 'models', `${id}@${manifest.revision}`);
  await cp(from, to, { recursive: true });
  await writeFile(join(to, 'model.json'), JSON.stringify({ ...manifest, id }));
};

const post = (service: SoakService, path: string, file: Blob, model: string, webhook?: string): Promise<Response> => {
  const form = new FormData();
  if (webhook !== undefined) form.append('webhook_url', webhook);
  form.append('model', model);
  form.append('file', file, 'recording.wav');
  return fetch(`${service.url}${path}`, { method: 'POST', body: form, headers });
};

const submit = async (service: SoakService, file: Blob, model: string, webhook?: string): Promise<Job> => {
  const response = await post(service, '/api/v1/jobs', file, model, webhook);
  assert.equal(response.status, 202, await response.clone().text());
  return (await response.json()) as Job;
};

const follow = (service: SoakService, job: Job, afterId = ''): Promise<EventReader> =>
  readEvents(`${service.url}/api/v1/jobs/${job.id}/events?segments=true`, { ...headers, 'last-event-id': afterId });

const read = async (service: SoakService, job: Job): Promise<Job> =>
  (await (await fetch(`${service.url}/api/v1/jobs/${job.id}`, { headers })).json()) as Job;

/** Utterances that engines of this process have heard. */
const heardBy = async (service: SoakService): Promise<number> => {
  const response = await fetch(`${service.url}/metrics`, { headers });
  assert.equal(response.status, 200);
  const lines = (await response.text()).matchAll(/^parley_speech_segments_recognized_total\{[^}]*\} (\d+)$/gm);
  return [...lines].reduce((sum, [, value]) => sum + Number(value), 0);
};

/** Takes deliveries. */
const startReceiver = async () => {
  const told: { event: string; job: string }[] = [];
  const server = createServer(async (request, response) => {
    const body = JSON.parse(Buffer.concat(await Array.fromAsync(request)).toString()) as Job;
    told.push({ event: String(request.headers['x-service-event']), job: body.id });
    response.writeHead(204).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    told,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
};

describe('three instances', () => {
  const stack = new AsyncDisposableStack();
  let database: TestDatabase;
  let s3: S3Server;
  let store: Store;
  let receiver: Awaited<ReturnType<typeof startReceiver>>;
  let services: SoakService[];
  let dataDirs: { path: string }[];

  const start = (at: number): Promise<SoakService> =>
    startService(dataDirs[at]!.path, {
      ...s3.settings,
      'storage.url': database.place,
      'speech.jobs.lease': '2s',
      'speech.jobs.max_concurrent': '1',
      'speech.asr.inference_slots': '1',
      'speech.asr.default_model': at === 2 ? OTHER : COMMON,
      'speech.metrics.enabled': 'true',
      'speech.jobs.webhook_allowed_hosts': receiver.host,
      'speech.log.level': 'fatal',
    });

  before(async () => {
    const driver = stack.use(await openPostgresDriver());
    database = stack.use(await driver.createDatabase());
    receiver = stack.use(await startReceiver());
    s3 = stack.use(await startS3());
    store = stack.use(await openStore(database.place, createSilentLog()));
    dataDirs = await Promise.all(
      [['offline-ctc'], ['offline-ctc'], []].map(async (models) => {
        const dir = await createDataDir(models);
        stack.defer(dir.remove);
        return dir;
      }),
    );
    await installUnder(OTHER, dataDirs[2]!.path);
    services = await Promise.all([0, 1, 2].map(start));
    stack.defer(async () => {
      await Promise.all(services.map((service) => service.kill()));
    });
  });
  after(() => stack.disposeAsync());

  it('finish what one of them began: nothing that was kept is heard again, no event is missing or comes twice', async (context) => {
    const file = await longRecording(120);
    const [, , third] = services as [SoakService, SoakService, SoakService];
    const job = await submit(services[0]!, file, COMMON, `http://${receiver.host}/told`);
    const seen: string[] = [];
    const first = await follow(third, job);
    for await (const { id, event } of first) {
      seen.push(id);
      if (event === 'segment') break;
    }
    const heard = await Promise.all(services.map(heardBy));
    const runner = heard.findIndex((count) => count > 0);
    assert.ok(runner === 0 || runner === 1, `heard ${heard}`);
    await services[runner]!.kill();
    const kept = await store.count(DOMAIN, KIND.utterance);
    assert.ok(kept > 0);

    // The reader went away, and comes back through the one that cannot run the job.
    let last: Job | undefined;
    for await (const { id, data } of await follow(third, job, seen.at(-1)!)) {
      seen.push(id);
      last = data as Job;
    }
    assert.deepEqual([last?.status, last?.attempt], ['succeeded', 2]);
    const order = seen.map((id) => id.split('.').map(Number)).map(([state = 0, segment = 0]) => state * 1e6 + segment);
    assert.deepEqual(
      order,
      [...new Set(order)].sort((a, b) => a - b),
    );

    const survivor = services[1 - runner]!;
    const before = await heardBy(survivor);
    const whole = (await (await post(survivor, '/api/v1/transcribe', file, COMMON)).json()) as { text: string };
    const all = (await heardBy(survivor)) - before;
    context.diagnostic(`${kept} of ${all} utterances kept at the kill, ${before} heard by the other`);
    assert.ok(before > 0, 'killed in mid-job');
    assert.ok(before <= all - kept, `${kept} of ${all} were kept, ${before} heard afterwards`);
    assert.equal(last?.result?.text, whole.text);
    assert.deepEqual(await s3.bucket.list(''), [], 'the upload is gone');
    await eventually('the delivery', () => receiver.told.length > 0);
    assert.deepEqual(receiver.told, [{ event: 'job.succeeded', job: job.id }], 'told of once');
    services[runner] = await start(runner);
  });

  it('cancel what another runs', async () => {
    const file = await longRecording(200);
    const [one, two, three] = services as [SoakService, SoakService, SoakService];
    const job = await submit(one, file, COMMON);
    assert.equal((await s3.bucket.list('')).length, 1);
    for await (const { event } of await follow(two, job)) if (event === 'segment') break;
    const canceled = await fetch(`${three.url}/api/v1/jobs/${job.id}`, { method: 'DELETE', headers });
    assert.deepEqual([canceled.status, ((await canceled.json()) as Job).status], [200, 'canceled']);
    const events = await Array.fromAsync(await follow(two, job));
    assert.deepEqual(
      events.map(({ event }) => event),
      ['canceled'],
    );
    assert.deepEqual(await s3.bucket.list(''), []);
    await eventually('what it had to be dropped', async () => (await store.count(DOMAIN, KIND.utterance)) === 0);
  });

  it('leave a job to those that have its model, and do not wait behind it', async () => {
    const file = await longRecording(1);
    const [one, two] = services as [SoakService, SoakService, SoakService];
    // Stopped in order, it puts back what it began.
    const waiting = await submit(services[2]!, await longRecording(40), OTHER);
    await services[2]!.stop();
    const quick = await Promise.all([submit(one, file, COMMON), submit(two, file, COMMON)]);
    for (const job of quick) {
      const events = await Array.fromAsync(await follow(one, job));
      assert.equal(events.at(-1)?.event, 'succeeded');
    }
    assert.equal((await read(two, waiting)).status, 'queued');
    services[2] = await start(2);
    const events = await Array.fromAsync(await follow(one, waiting));
    assert.equal(events.at(-1)?.event, 'succeeded');
  });

  it('know the same keys, one of which may ask all together no more than its rate', async () => {
    const [one, two] = services as [SoakService, SoakService, SoakService];
    const book = sharedBook(store, '/nowhere');
    const { record, secret } = await issueKey(book, { name: 'slow', rps: 2 });
    const ask = (service: SoakService): Promise<Response> =>
      fetch(`${service.url}/api/v1/models`, { headers: { authorization: `Bearer ${secret}` } });
    await eventually('the key to be known to both', async () => {
      const known = await Promise.all([one, two].map(async (service) => (await ask(service)).status));
      return known.every((status) => status !== 401);
    });
    const row = await store.get<{ tokens: number; at_ms: number }>('$speech-keys', 'key_rate', record.id);
    const startedMs = row!.data.at_ms;
    let allowed = 0;
    let refused = 0;
    for (let round = 0; round < 20; round += 1) {
      for (const answer of await Promise.all([one, two].map(ask))) {
        if (answer.status === 200) allowed += 1;
        else {
          assert.equal(answer.status, 429);
          assert.ok(Number(answer.headers.get('retry-after')) >= 1);
          refused += 1;
        }
      }
    }
    const elapsedSec = (Date.now() - startedMs) / 1000;
    assert.ok(refused > 0);
    assert.ok(allowed <= row!.data.tokens + 2 * elapsedSec + 1, `${allowed} in ${elapsedSec} s`);
  });
});
