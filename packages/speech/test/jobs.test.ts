/** Jobs through the real service: accept, run, follow, cancel, list, repeat, survive. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { eachStore, type TestDatabase, type TestDriver } from '@parley/kit/testing/each-store.ts';
import { ADMIN_KEY, readTestdata, startTestSpeech, type TestSpeech, testFile, USER_KEY } from './start-test-speech.ts';

type Job = {
  id: string;
  status: string;
  key_id?: string;
  percent?: number;
  attempt: number;
  result?: { id: string; text: string; segments: unknown[] };
  error?: { code: string };
  links: { self: string; events: string };
};
type Message = { id: string; event: string; data: Job & { seq: number; segment?: { text: string }; index?: number } };

/** Reads an event stream to its end (or until `stop` says so). */
const readEvents = async (
  response: Response,
  stop: (message: Message) => boolean = () => false,
): Promise<Message[]> => {
  assert.equal(response.status, 200);
  assert.match(response.headers.get('content-type') ?? '', /^text\/event-stream/);
  const messages: Message[] = [];
  let text = '';
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    for (let at = text.indexOf('\n\n'); at >= 0; at = text.indexOf('\n\n')) {
      const fields = Object.fromEntries(
        text
          .slice(0, at)
          .split('\n')
          .map((line) => line.split(/: (.*)/s) as [string, string]),
      );
      text = text.slice(at + 2);
      if (fields.data === undefined) continue;
      messages.push({ id: fields.id!, event: fields.event!, data: JSON.parse(fields.data) });
      if (stop(messages.at(-1)!)) return messages;
    }
  }
  return messages;
};

const create = async (speech: TestSpeech, fields: Record<string, string>, path: string, key?: string): Promise<Job> => {
  const response = await speech.post('/api/v1/jobs', fields, await testFile(path), key);
  const body = (await response.json()) as Job;
  assert.equal(response.status, 202, JSON.stringify(body));
  assert.equal(response.headers.get('location'), body.links.self);
  return body;
};

const finish = async (speech: TestSpeech, job: Job, key?: string): Promise<Job> => {
  const messages = await readEvents(await speech.fetch(job.links.events, key === undefined ? {} : { key }));
  return messages.at(-1)!.data;
};

/** A wav of `seconds` of the reference recording, joined again and again. */
const longFile = async (seconds: number): Promise<File> => {
  const wav = await readTestdata('audio/words.wav');
  const at = wav.indexOf('data') + 8;
  const rate = wav.readUInt32LE(24);
  const sound = wav.subarray(at);
  const times = Math.ceil((seconds * rate * 2) / sound.length);
  const body = Buffer.concat(Array.from({ length: times }, () => sound));
  const head = Buffer.from(wav.subarray(0, at));
  head.writeUInt32LE(body.length, at - 4);
  head.writeUInt32LE(at - 8 + body.length, 4);
  return new File([head, new Uint8Array(body)], 'long.wav');
};

const suite = (driver: TestDriver): void => {
  let speech: TestSpeech;
  let database: TestDatabase;
  before(async () => {
    database = await driver.createDatabase();
    speech = await startTestSpeech(driver.name === 'postgres' ? { storageUrl: database.place } : {});
  });
  after(async () => {
    await speech?.[Symbol.asyncDispose]();
    await database?.[Symbol.asyncDispose]();
  });

  it('runs a job and gives the same result as transcribe, in every format', async () => {
    const job = await create(speech, {}, 'speech/transfer-digits.wav');
    const ended = await finish(speech, job);
    assert.equal(ended.status, 'succeeded');
    assert.equal(ended.result?.text, 'transfer three five seven nine');
    assert.equal(ended.result?.id, job.id);
    const read = (await (await speech.fetch(job.links.self)).json()) as Job;
    assert.deepEqual(read.result, ended.result);
    for (const [format, start] of [
      ['text', 'transfer'],
      ['srt', '1\n00:'],
      ['vtt', 'WEBVTT'],
      ['tsv', 'start\tend\ttext'],
    ] as const) {
      const rendered = await speech.fetch(`${job.links.self}?response_format=${format}`);
      assert.equal(rendered.status, 200);
      assert.ok((await rendered.text()).startsWith(start), format);
    }
    await speech.emptied();
  });

  it('sends exactly one event for a job that is over, whatever was seen before', async () => {
    const job = await create(speech, {}, 'speech/close-menu.wav');
    const ended = await finish(speech, job);
    for (const lastEventId of ['0', '1', '999999']) {
      const messages = await readEvents(
        await speech.fetch(job.links.events, { headers: { 'Last-Event-ID': lastEventId } }),
      );
      assert.deepEqual(
        messages.map((message) => [message.event, message.data.status]),
        [['succeeded', 'succeeded']],
      );
      assert.equal(messages[0]?.id, String((ended as Message['data']).seq));
    }
  });

  it('numbers events without a gap or a repetition across reconnects at every event', async () => {
    const response = await speech.post('/api/v1/jobs', {}, await longFile(120));
    const job = (await response.json()) as Job;
    const seen: Message[] = [];
    for (;;) {
      const last = seen.at(-1)?.id ?? '';
      const [message] = await readEvents(
        await speech.fetch(`${job.links.events}?segments=true`, { headers: { 'Last-Event-ID': last } }),
        () => true,
      );
      if (!message) break;
      seen.push(message);
      if (message.event === 'succeeded') break;
    }
    const ids = seen.map((message) => message.id);
    // Over when it connected: then only the last one comes, and a gap before it is right.
    const live = seen.slice(0, -1);
    const states = live.filter((message) => message.event !== 'segment').map((message) => message.id);
    assert.deepEqual(
      states,
      states.map((_, index) => String(index + 1)),
    );
    assert.equal(new Set(ids).size, ids.length);
    assert.ok(
      live.some((message) => message.event === 'segment'),
      'no segment was told of',
    );
    assert.equal(seen.at(-1)?.event, 'succeeded');
    const told = live.filter((message) => message.event === 'segment').map((message) => message.data.index);
    assert.deepEqual(
      told,
      told.map((_, index) => index),
    );
  });

  it('numbers the states of a stream that is followed to its end without a gap', async () => {
    const job = (await (await speech.post('/api/v1/jobs', {}, await longFile(60))).json()) as Job;
    const messages = await readEvents(await speech.fetch(job.links.events));
    assert.deepEqual(
      messages.map((message) => message.id),
      messages.map((_, index) => String(index + 1)),
    );
    assert.ok(messages.length >= 3 && messages.at(-1)?.event === 'succeeded');
  });

  it("shows a job to its own key and to administrators, and hides it from others'", async () => {
    const job = await create(speech, {}, 'speech/close-menu.wav', ADMIN_KEY);
    for (const [path, init] of [
      [job.links.self, {}],
      [job.links.events, {}],
      [job.links.self, { method: 'DELETE' }],
    ] as const) {
      const response = await speech.fetch(path, init);
      assert.equal(response.status, 404);
      assert.equal(((await response.json()) as { code: string }).code, 'job_not_found');
    }
    const own = await create(speech, {}, 'speech/close-menu.wav');
    const asAdmin = (await (await speech.fetch(own.links.self, { key: ADMIN_KEY })).json()) as Job;
    assert.ok(asAdmin.key_id);
    assert.equal(own.key_id, undefined);
    await finish(speech, job, ADMIN_KEY);
    await finish(speech, own);
  });

  it('pages through the list newest first and refuses bad parameters by name', async () => {
    const made = [];
    for (let n = 0; n < 5; n += 1) made.push(await create(speech, {}, 'speech/close-menu.wav'));
    await Promise.all(made.map((job) => finish(speech, job)));
    const seen: string[] = [];
    let cursor: string | null = '';
    do {
      const page = (await (
        await speech.fetch(`/api/v1/jobs?limit=2&status=succeeded${cursor ? `&cursor=${cursor}` : ''}`)
      ).json()) as {
        data: Job[];
        next_cursor: string | null;
        has_more: boolean;
      };
      seen.push(...page.data.map((job) => job.id));
      assert.equal(page.has_more, page.next_cursor !== null);
      assert.ok(page.data.every((job) => job.result === undefined));
      cursor = page.next_cursor;
    } while (cursor !== null);
    assert.deepEqual(seen.slice(0, 5), made.map((job) => job.id).toReversed());
    assert.equal(new Set(seen).size, seen.length);
    for (const [query, param] of [
      ['limit=0', 'limit'],
      ['limit=x', 'limit'],
      ['cursor=zzz', 'cursor'],
      ['status=done', 'status'],
      ['since=yesterday', 'since'],
      ['source=mail', 'source'],
    ]) {
      const response = await speech.fetch(`/api/v1/jobs?${query}`);
      assert.deepEqual([response.status, ((await response.json()) as { param: string }).param], [400, param]);
    }
    assert.equal((await speech.fetch('/api/v1/jobs?key=abc')).status, 403);
  });

  it('lists to a key its own jobs only, and to an administrator those of all or of one', async () => {
    const own = await create(speech, {}, 'speech/close-menu.wav');
    const file = await testFile('speech/close-menu.wav');
    const foreign = (await (await speech.post('/api/v1/jobs', {}, file, ADMIN_KEY)).json()) as Job;
    await finish(speech, own);
    await speech.fetch(`/api/v1/jobs/${foreign.id}/events`, { key: ADMIN_KEY }).then((answer) => answer.text());
    const listed = async (key: string, query = ''): Promise<string[]> => {
      const { data } = (await (await speech.fetch(`/api/v1/jobs?limit=100${query}`, { key })).json()) as {
        data: Job[];
      };
      return data.map(({ id }) => id);
    };
    const [mine, all] = [await listed(USER_KEY), await listed(ADMIN_KEY)];
    assert.deepEqual([mine.includes(own.id), mine.includes(foreign.id)], [true, false]);
    assert.deepEqual([all.includes(own.id), all.includes(foreign.id)], [true, true]);
    const { key_id } = (await (await speech.fetch(`/api/v1/jobs/${foreign.id}`, { key: ADMIN_KEY })).json()) as Job;
    const ofKey = await listed(ADMIN_KEY, `&key=${key_id}`);
    assert.deepEqual([ofKey.includes(own.id), ofKey.includes(foreign.id)], [false, true]);
  });

  it('cancels a queued and a running job, and leaves one that ended as it is', async () => {
    const file = await longFile(600);
    const posted = await Promise.all(Array.from({ length: 5 }, () => speech.post('/api/v1/jobs', {}, file)));
    const jobs = (await Promise.all(posted.map((response) => response.json()))) as Job[];
    for (const job of jobs) {
      const response = await speech.fetch(job.links.self, { method: 'DELETE' });
      assert.equal(response.status, 200);
      assert.equal(((await response.json()) as Job).status, 'canceled');
    }
    const again = (await (await speech.fetch(jobs[0]!.links.self, { method: 'DELETE' })).json()) as Job;
    assert.equal(again.status, 'canceled');
    assert.equal((await speech.fetch(`${jobs[0]!.links.self}?response_format=srt`)).status, 409);
    await speech.emptied();
  });

  it('answers a repeated submission with the first job, and refuses another one under the same key', async () => {
    const file = await testFile('speech/close-menu.wav');
    const send = async (fields: Record<string, string>): Promise<Response> => {
      const form = new FormData();
      for (const [name, value] of Object.entries(fields)) form.append(name, value);
      form.append('file', file);
      return speech.fetch('/api/v1/jobs', { method: 'POST', body: form, headers: { 'Idempotency-Key': 'once' } });
    };
    const answers = await Promise.all([send({}), send({}), send({})]);
    const ids = await Promise.all(answers.map(async (answer) => ((await answer.json()) as Job).id));
    assert.equal(new Set(ids).size, 1);
    const other = await send({ language: 'en' });
    assert.deepEqual([other.status, ((await other.json()) as { code: string }).code], [409, 'idempotency_conflict']);
  });

  it('tells of an undecodable upload in the job, and refuses a bad form at once', async () => {
    const broken = new File(['this is not audio at all'], 'x.wav');
    const job = (await (await speech.post('/api/v1/jobs', {}, broken)).json()) as Job;
    const ended = await finish(speech, job);
    assert.deepEqual([ended.status, ended.error?.code], ['failed', 'unsupported_media_type']);
    const refused = await speech.post('/api/v1/jobs', { webhook_url: 'http://10.0.0.1/x' }, broken);
    assert.deepEqual([refused.status, ((await refused.json()) as { param: string }).param], [400, 'webhook_url']);
    await speech.emptied();
  });
};

// A describe of its own, so that the service ends before the database server does.
eachStore((driver) => describe('jobs', () => suite(driver)));

describe('a full queue', () => {
  it('answers 429 and 503 until there is room again', async () => {
    await using speech = await startTestSpeech({ settings: { 'jobs.queue_size': '2', 'jobs.max_concurrent': '1' } });
    const file = await longFile(300);
    const jobs: Job[] = [];
    let refused: Response | undefined;
    while (!refused) {
      const response = await speech.post('/api/v1/jobs', {}, file);
      if (response.status === 429) refused = response;
      else jobs.push((await response.json()) as Job);
      assert.ok(jobs.length <= 20, 'the queue is never full');
    }
    assert.equal(((await refused.json()) as { code: string }).code, 'queue_full');
    assert.ok(Number(refused.headers.get('retry-after')) >= 1);
    const ready = await speech.fetch('/readyz', { key: '' });
    assert.equal(ready.status, 503);
    assert.equal(((await ready.json()) as { status: string }).status, 'saturated');
    for (const job of jobs) await speech.fetch(job.links.self, { method: 'DELETE' });
    assert.equal((await speech.fetch('/readyz', { key: '' })).status, 200);
    const accepted = await speech.post('/api/v1/jobs', {}, await testFile('speech/close-menu.wav'));
    assert.equal(accepted.status, 202);
  });
});
