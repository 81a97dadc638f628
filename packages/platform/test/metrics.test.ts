/** `/metrics` as Prometheus scrapes it. */
import assert from 'node:assert/strict';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { describe, it } from 'node:test';
import { eachStore } from '@parley/kit/testing/each-store.ts';
import { ADMIN_PASSWORD, startTestPlatform, type TestPlatform } from './start-test-platform.ts';

const TOKEN = 'a-scraper-token';

/** A port nobody listens on now. */
const freePort = async (): Promise<number> => {
  const server = createTcpServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
};

/** Samples by name and labels, as they stand in the text. */
const scrape = async (platform: TestPlatform): Promise<Map<string, number>> => {
  const answer = await platform.as({ authorization: `Bearer ${TOKEN}` }).call('GET', '/metrics');
  assert.equal(answer.status, 200, answer.text);
  assert.match(answer.headers.get('content-type') ?? '', /^text\/plain; version=0\.0\.4/);
  const lines = answer.text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]),
  );
};

eachStore((driver) => {
  describe('measures', () => {
    it('count requests by route, commits, sessions and bans', async () => {
      await using database = await driver.createDatabase();
      await using platform = await startTestPlatform(database.place, { 'platform.metrics.token': TOKEN });
      const admin = await platform.signIn('admin', ADMIN_PASSWORD);
      await admin.call('GET', 'iam/users/current');
      await admin.call('GET', 'iam/no-such-thing/with-a-name-of-the-callers');
      const body = { login: 'admin', pwd: 'wrong' };
      const address = '203.0.113.7';
      for (let attempt = 0; attempt < 6; attempt += 1)
        await platform.guest.call('POST', 'iam/sessions', { body, address });
      const samples = await scrape(platform);
      const requests = [...samples].filter(([name]) => name.startsWith('parley_http_request_duration_seconds_count'));
      assert.ok(requests.length >= 3);
      const text = requests.map(([name]) => name).join('\n');
      assert.match(text, /method="POST",route="\/rest\/v1\/iam\/sessions",status="200"/);
      assert.ok(!text.includes('callers'), 'an address nobody declared is `unknown`');
      const commits = samples.get('parley_store_commit_duration_seconds_count{outcome="done"}') ?? 0;
      assert.ok(commits > 0);
      assert.equal(samples.get('parley_platform_sessions'), 1);
      assert.equal(samples.get('parley_platform_bans'), 1);
      assert.ok((samples.get('parley_platform_banned_attempts_total') ?? 0) >= 1);
      assert.ok((samples.get('parley_platform_domains_loaded') ?? 0) >= 1);
      assert.equal(samples.get('parley_platform_feed_lag_entries'), driver.name === 'postgres' ? 0 : undefined);
      assert.ok((samples.get('process_resident_memory_bytes') ?? 0) > 0);
    });
  });
});

describe('/metrics of the platform', () => {
  it('is for those who know the token, and not there without one', async () => {
    await using guarded = await startTestPlatform(undefined, { 'platform.metrics.token': TOKEN });
    assert.equal((await guarded.guest.call('GET', '/metrics')).status, 401);
    assert.equal((await guarded.as({ authorization: 'Bearer wrong' }).call('GET', '/metrics')).status, 401);
    await using closed = await startTestPlatform();
    assert.equal((await closed.guest.call('GET', '/metrics')).status, 404);
  });

  it('has a listener of its own where one is named', async () => {
    const port = await freePort();
    await using _platform = await startTestPlatform(undefined, { 'platform.metrics.addr': `127.0.0.1:${port}` });
    const answer = await fetch(`http://127.0.0.1:${port}/metrics`);
    assert.equal(answer.status, 200);
    assert.match(await answer.text(), /^parley_platform_sessions 0$/m);
    assert.equal((await fetch(`http://127.0.0.1:${port}/rest/v1/openapi.json`)).status, 404);
    await assert.rejects(startTestPlatform(undefined, { 'platform.metrics.addr': 'nowhere' }), /must be host:port/);
  });
});
