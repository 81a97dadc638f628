/** Signed deliveries of finished jobs, against a real receiver and the verifier of the openai SDK. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import OpenAI from 'openai';
import { startTestSpeech, type TestSpeech, testFile } from './start-test-speech.ts';

const SECRET = `whsec_${Buffer.from('the secret of this test').toString('base64')}`;

type Delivery = { headers: Record<string, string>; body: string };

/** Answers with the given statuses in turn, then 204. */
const startReceiver = async () => {
  const deliveries: Delivery[] = [];
  const waiters: (() => void)[] = [];
  const answers: { status: number; headers?: Record<string, string> }[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8');
    request.on('data', (text: string) => {
      body += text;
    });
    request.on('end', () => {
      deliveries.push({ headers: request.headers as Record<string, string>, body });
      const { status, headers } = answers.shift() ?? { status: 204 };
      response.writeHead(status, headers).end();
      for (const wake of waiters.splice(0)) wake();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    host,
    answers,
    deliveries,
    /** Resolves when so many deliveries came in all. */
    count: async (wanted: number): Promise<Delivery[]> => {
      while (deliveries.length < wanted) await new Promise<void>((resolve) => waiters.push(resolve));
      return deliveries;
    },
    close: () => new Promise((resolve) => server.close(resolve)),
  };
};

type Job = {
  id: string;
  status: string;
  webhook?: { url_host: string; status: string; attempts: number; last_status: number | null };
};

describe('callbacks', () => {
  let receiver: Awaited<ReturnType<typeof startReceiver>>;
  let speech: TestSpeech;
  before(async () => {
    receiver = await startReceiver();
    speech = await startTestSpeech({
      settings: { 'jobs.webhook_allowed_hosts': receiver.host, 'jobs.webhook_secret': `${SECRET},an older secret` },
    });
  });
  after(async () => {
    await speech[Symbol.asyncDispose]();
    await receiver.close();
  });

  const submit = async (path = 'speech/close-menu.wav'): Promise<Job> => {
    const response = await speech.post(
      '/api/v1/jobs',
      { webhook_url: `http://${receiver.host}/hook?token=private` },
      await testFile(path),
    );
    assert.equal(response.status, 202);
    return (await response.json()) as Job;
  };
  const read = async (id: string): Promise<Job> => (await (await speech.fetch(`/api/v1/jobs/${id}`)).json()) as Job;
  /** The job once its delivery is settled; the outbox writes that down after the answer came. */
  const settled = async (id: string): Promise<Job> => {
    for (;;) {
      const job = await read(id);
      if (job.webhook?.status === 'delivered' || job.webhook?.status === 'failed') return job;
      await new Promise(setImmediate);
    }
  };

  it('delivers the finished job with signatures that the SDK accepts', async () => {
    const before = receiver.deliveries.length;
    const job = await submit();
    const delivery = (await receiver.count(before + 1)).at(-1)!;
    const event = (await new OpenAI({ apiKey: 'none', webhookSecret: SECRET }).webhooks.unwrap(
      delivery.body,
      delivery.headers,
    )) as unknown as Job;
    assert.deepEqual([event.id, event.status], [job.id, 'succeeded']);
    assert.equal(delivery.headers['x-service-event'], 'job.succeeded');
    assert.equal(delivery.headers['x-service-delivery'], delivery.headers['webhook-id']);
    assert.match(delivery.headers['x-service-signature']!, /^sha256=[0-9a-f]{64}$/);
    assert.equal(delivery.headers['webhook-signature']!.split(' ').length, 2);
    await assert.rejects(async () =>
      new OpenAI({ apiKey: 'none', webhookSecret: SECRET }).webhooks.unwrap(`${delivery.body} `, delivery.headers),
    );
    const after = await settled(job.id);
    assert.deepEqual(after.webhook, { url_host: receiver.host, status: 'delivered', attempts: 1, last_status: 204 });
    assert.doesNotMatch(JSON.stringify(after), /private/);
  });

  it('tries again after a failure, under the same delivery id', async () => {
    const before = receiver.deliveries.length;
    receiver.answers.push({ status: 503 });
    const job = await submit();
    const [first, second] = (await receiver.count(before + 2)).slice(before);
    assert.equal(first!.headers['webhook-id'], second!.headers['webhook-id']);
    assert.deepEqual([first!.headers['x-service-attempt'], second!.headers['x-service-attempt']], ['1', '2']);
    assert.equal((await settled(job.id)).webhook?.attempts, 2);
  });

  it('does not try again after a refusal or a redirect, and the job stays as it is', async () => {
    for (const status of [410, 302]) {
      receiver.answers.push({ status, headers: { location: `http://${receiver.host}/elsewhere` } });
      const job = await settled((await submit()).id);
      assert.deepEqual([job.status, job.webhook?.status, job.webhook?.last_status], ['succeeded', 'failed', status]);
    }
  });

  it('tells of a job that was cancelled', async () => {
    const before = receiver.deliveries.length;
    const job = await submit('audio/words.wav');
    await speech.fetch(`/api/v1/jobs/${job.id}`, { method: 'DELETE' });
    const delivery = (await receiver.count(before + 1)).at(-1)!;
    assert.match(delivery.headers['x-service-event']!, /^job\.(canceled|succeeded)$/);
  });

  it('refuses addresses that can never be delivered to', async () => {
    for (const url of [
      'http://example.org/',
      'https://10.0.0.1/',
      'https://[::1]/',
      'https://user:pw@example.org/',
      'ftp://example.org/',
      'https://localhost/',
      'nonsense',
      `https://example.org/${'x'.repeat(2048)}`,
    ]) {
      const response = await speech.post('/api/v1/jobs', { webhook_url: url }, await testFile('speech/close-menu.wav'));
      assert.deepEqual(
        [response.status, ((await response.json()) as { param: string }).param],
        [400, 'webhook_url'],
        url,
      );
    }
  });
});

describe('callbacks where cancelled jobs are not told of', () => {
  it('say so on the job, which owes nothing', async () => {
    await using speech = await startTestSpeech({ settings: { 'jobs.webhook_on_cancel': 'false' } });
    const fields = { webhook_url: 'https://example.org/hook' };
    for (;;) {
      const job = (await (await speech.post('/api/v1/jobs', fields, await testFile('audio/words.wav'))).json()) as Job;
      const gone = (await (await speech.fetch(`/api/v1/jobs/${job.id}`, { method: 'DELETE' })).json()) as Job;
      // It was quicker than we.
      if (gone.status !== 'canceled') continue;
      assert.deepEqual(gone.webhook, { url_host: 'example.org', status: 'skipped', attempts: 0, last_status: null });
      return;
    }
  });
});
