/** docs/platform-api.md and the service say the same: addresses, access, kinds of domain, codes. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import { CODES } from '../src/codes.ts';
import { ADMIN_PASSWORD, startTestPlatform, type TestPlatform } from './start-test-platform.ts';

const DOCUMENT = new URL('../../../docs/platform-api.md', import.meta.url);
const COLLECTION = /^\| `([a-z]+\/[a-z_]+)` \| (any|master|working) \| ([^|]+) \|/;
const ROW = /^\| (GET|POST|PUT|PATCH|DELETE|LOOKUP) \| `([^`]+)` \| (open|signed-in|route) \| (any|master|working) \|/;

describe('the surface', () => {
  let platform: TestPlatform;
  let document: string;
  before(async () => {
    platform = await startTestPlatform();
    document = await readFile(DOCUMENT, 'utf8');
  });
  after(() => platform?.[Symbol.asyncDispose]());

  const expand = (path: string, domain: string, verbs: string): string[] => {
    const base = `/rest/v1/${path}`;
    const all = ['POST', 'GET', 'LOOKUP', 'GET by id', 'PUT by id', 'PATCH by id', 'DELETE by id'];
    const names = verbs.trim() === 'all' ? all : ['GET', 'GET by id', 'PATCH by id'];
    return names.map((name) => `${name.split(' ')[0]} ${base}${name.includes('by') ? '/{id}' : ''} route ${domain}`);
  };

  it('is what the document tells, both ways', async () => {
    const told = document.split('\n').flatMap((line) => {
      const collection = COLLECTION.exec(line);
      if (collection) return expand(collection[1]!, collection[2]!, collection[3]!);
      const row = ROW.exec(line);
      return row ? [row.slice(1, 5).join(' ')] : [];
    });
    const api = (await platform.guest.call('GET', '/rest/v1/openapi.json')).body;
    const mounted = Object.entries<Record<string, Record<string, string>>>(api.paths).flatMap(([path, operations]) =>
      Object.values(operations).map(
        (operation) =>
          `${operation['x-method']} ${path.replace('!lookup', '')} ${operation['x-access']} ${operation['x-domain-type']}`,
      ),
    );
    assert.ok(told.length > 100);
    assert.deepEqual(mounted.sort(), told.sort());
  });

  it('names every code with its status and number', () => {
    for (const [code, { status, errorCode }] of Object.entries(CODES)) {
      assert.ok(document.includes(`| \`${code}\` | ${status} | ${errorCode} |`), code);
    }
  });

  it('is described with schemas and shown on a page that loads nothing from elsewhere', async () => {
    const api = (await platform.guest.call('GET', '/rest/v1/openapi.json')).body;
    assert.equal(api.openapi, '3.1.0');
    const user = api.paths['/rest/v1/iam/users'].post.requestBody.content['application/json'].schema;
    assert.deepEqual(user.required, ['login']);
    assert.equal(user.properties.opts.properties.roles.type, 'array');
    const page = await platform.guest.call('GET', '/docs');
    assert.equal(page.status, 200);
    assert.match(page.headers.get('content-security-policy')!, /default-src 'none'/);
    for (const file of page.text.matchAll(/(?:src|href)="([^"#][^"]*)"/g)) {
      assert.match(file[1]!, /^\//);
      assert.equal((await platform.guest.call('GET', file[1]!)).status, 200, file[1]);
    }
    assert.equal((await platform.guest.call('GET', '/')).headers.get('location'), '/docs');
  });

  it('compresses long answers for who asks, but none that holds a token', async () => {
    const admin = await platform.signIn('admin', ADMIN_PASSWORD);
    const encoding = async (path: string, accepted: string) =>
      (await admin.call('GET', path, { headers: { 'accept-encoding': accepted } })).headers.get('content-encoding');
    assert.equal(await encoding('/rest/v1/openapi.json', 'gzip'), 'gzip');
    assert.equal(await encoding('/rest/v1/openapi.json', 'br, gzip;q=0.5'), 'gzip');
    for (const refused of ['identity', 'gzip;q=0', 'gzip;q=0.0, br'])
      assert.equal(await encoding('/rest/v1/openapi.json', refused), null, refused);
    assert.equal(await encoding('iam/users/current', 'gzip'), null, 'short');
    for (let n = 0; n < 10; n++)
      await admin.call('POST', 'service/integration_points', { body: { code: `p${n}`, type: 'public' } });
    assert.equal(await encoding('service/integration_points?mask=*', 'gzip'), null);
  });
});
