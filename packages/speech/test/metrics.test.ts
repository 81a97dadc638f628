/** `/metrics` as Prometheus scrapes it. */
import assert from 'node:assert/strict';
import { type AddressInfo, createServer } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { eventually } from '@parley/kit/testing/wait.ts';
import { ADMIN_KEY, startTestSpeech, type TestSpeech, testFile, USER_KEY } from './start-test-speech.ts';

const freePort = async (): Promise<number> => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
};

/** Samples by name and labels, as they stand in the text. */
const parse = (text: string): Map<string, number> => {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]),
  );
};

describe('measures', () => {
  let speech: TestSpeech;
  let port: number;
  before(async () => {
    port = await freePort();
    speech = await startTestSpeech({
      models: ['offline-transducer'],
      settings: { 'metrics.enabled': 'true', 'metrics.addr': `127.0.0.1:${port}` },
    });
  });
  after(() => speech?.[Symbol.asyncDispose]());

  const scrape = async (): Promise<Map<string, number>> => {
    const answer = await speech.fetch('/metrics', { key: ADMIN_KEY });
    assert.equal(answer.status, 200);
    assert.match(answer.headers.get('content-type') ?? '', /^text\/plain; version=0\.0\.4/);
    return parse(await answer.text());
  };
  const model = 'model="demo-transducer-en"';

  it('tell of recognition, jobs, requests and commits, and of nothing a caller sent', async () => {
    const file = await testFile('audio/words.wav');
    assert.equal((await speech.post('/api/v1/transcribe', {}, file)).status, 200);
    const job = (await (await speech.post('/api/v1/jobs', {}, file)).json()) as { id: string };
    await (await speech.fetch(`/api/v1/jobs/${job.id}/events`)).text();
    await (await speech.fetch('/of/the/callers?own=choice')).text();
    const samples = await scrape();
    assert.ok((samples.get(`parley_speech_segments_recognized_total{${model}}`) ?? 0) >= 2);
    assert.ok((samples.get(`parley_speech_recognized_audio_seconds_total{${model}}`) ?? 0) > 1);
    assert.ok((samples.get(`parley_speech_recognition_seconds_total{${model}}`) ?? 0) > 0);
    assert.equal(samples.get(`parley_speech_realtime_factor_count{${model}}`), 2);
    assert.equal(samples.get('parley_speech_jobs_ended_total{status="succeeded"}'), 1);
    assert.equal(samples.get('parley_speech_jobs{status="queued"}'), 0);
    assert.equal(samples.get('parley_speech_queue_oldest_seconds'), 0);
    await eventually(
      'the feed to be taken in',
      async () => (await scrape()).get('parley_speech_feed_lag_entries') === 0,
    );
    assert.equal(samples.get('parley_speech_deliveries_pending'), 0);
    assert.equal(samples.get('parley_speech_realtime_sessions'), 0);
    assert.ok((samples.get('parley_store_commit_duration_seconds_count{outcome="done"}') ?? 0) > 0);
    const requests = 'parley_http_request_duration_seconds_count';
    assert.equal(samples.get(`${requests}{method="POST",route="/api/v1/transcribe",status="200"}`), 1);
    assert.equal(samples.get(`${requests}{method="GET",route="/api/v1/jobs/:id/events",status="200"}`), 1);
    const names = [...samples.keys()].join('\n');
    assert.ok(!names.includes('callers') && !names.includes(job.id));
  });

  it('count an engine that died', async () => {
    const crash = `parley_speech_engine_ends_total{model="demo-transducer-en",planned="false"}`;
    assert.equal((await scrape()).get(crash), undefined);
    for (const pid of await enginesOf(process.pid)) process.kill(pid, 'SIGKILL');
    await eventually('the death to be counted', async () => (await scrape()).get(crash) === 1);
  });

  it('are for administrative keys, or a listener of its own, or nobody', async () => {
    assert.equal((await speech.fetch('/metrics', { key: USER_KEY })).status, 403);
    assert.equal((await speech.fetch('/metrics', { key: '' })).status, 401);
    const own = await fetch(`http://127.0.0.1:${port}/metrics`);
    assert.equal(own.status, 200);
    assert.ok(parse(await own.text()).has('parley_speech_queue_bytes'));
    assert.equal((await fetch(`http://127.0.0.1:${port}/api/v1/models`)).status, 404);
    await using closed = await startTestSpeech({ models: [] });
    assert.equal((await closed.fetch('/metrics', { key: ADMIN_KEY })).status, 404);
  });
});

/** Processes below this one whose command line says `engine`. */
const enginesOf = async (parent: number): Promise<number[]> => {
  const { execFileSync } = await import('node:child_process');
  const lines = execFileSync('ps', ['-o', 'pid=,args=', '--ppid', String(parent)], { encoding: 'utf8' }).split('\n');
  return lines.filter((line) => /\bengine\b/.test(line)).map((line) => Number.parseInt(line, 10));
};
