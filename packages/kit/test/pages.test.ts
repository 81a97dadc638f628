/** Built pages as they are served: policy, tags, compressed forms, nothing outside the folder. */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import type { FastifyInstance } from 'fastify';
import { openPages } from '../src/http/pages.ts';
import { createServer } from '../src/http/server.ts';
import { createSilentLog } from '../src/log.ts';

const SCRIPT = 'console.log(1);'.repeat(200);
const ADDRESS = '/page/assets/index-AbCd_123.js';

describe('built pages', () => {
  let folder: string;
  let app: FastifyInstance;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-pages-'));
    const built = join(folder, 'built');
    await mkdir(join(built, 'assets'), { recursive: true });
    await writeFile(join(folder, 'secret.txt'), 'secret');
    await writeFile(join(built, 'index.html'), '<!doctype html><meta property="csp-nonce" nonce="__CSP_NONCE__">');
    await writeFile(join(built, 'icon.svg'), '<svg/>');
    const script = join(built, 'assets', 'index-AbCd_123.js');
    await writeFile(script, SCRIPT);
    await writeFile(`${script}.br`, brotliCompressSync(SCRIPT));
    await writeFile(`${script}.gz`, gzipSync(SCRIPT));
    app = createServer({
      log: createSilentLog(),
      name: 'test',
      render: ({ status, code }) => ({ status, headers: { 'content-type': 'application/json' }, body: { code } }),
    });
    for (const [path, pages] of [
      ['/page', openPages(built)],
      ['/none', openPages(join(folder, 'none'))],
    ] as const) {
      for (const url of [path, `${path}/*`]) {
        app.get(url, (request, reply) => {
          const { '*': name = '' } = request.params as { '*'?: string };
          if (!pages.send(name, request, reply)) reply.code(404).send('');
        });
      }
    }
  });
  after(async () => {
    await app.close();
    await rm(folder, { recursive: true, force: true });
  });

  const get = (url: string, headers: Record<string, string> = {}) => app.inject({ url, headers });

  it('answers the document wherever no file is named, with a fresh nonce each time', async () => {
    const answers = await Promise.all(['/page', '/page/', '/page/jobs/job_1'].map((url) => get(url)));
    const nonces = answers.map(({ body, headers, statusCode }) => {
      assert.equal(statusCode, 200);
      assert.equal(headers['content-type'], 'text/html; charset=utf-8');
      assert.equal(headers['cache-control'], 'no-store');
      const nonce = /nonce="([\w-]{22})"/.exec(body)?.[1] ?? assert.fail(body);
      const policy = String(headers['content-security-policy']);
      assert.ok(policy.includes(`'nonce-${nonce}'`) && !policy.includes('unsafe') && !policy.includes('http'), policy);
      return nonce;
    });
    assert.equal(new Set(nonces).size, 3);
  });

  it('sends the compressed form that is asked for, to be kept for good', async () => {
    for (const [accepted, encoding, length] of [
      ['gzip, deflate, br', 'br', brotliCompressSync(SCRIPT).length],
      ['gzip;q=0.5, br;q=0', 'gzip', gzipSync(SCRIPT).length],
      ['', undefined, SCRIPT.length],
    ] as const) {
      const { headers, rawPayload } = await get(ADDRESS, { 'accept-encoding': accepted });
      assert.equal(headers['content-encoding'], encoding);
      assert.equal(headers['content-type'], 'text/javascript; charset=utf-8');
      assert.equal(headers['cache-control'], 'public, max-age=31536000, immutable');
      assert.equal(headers.vary, 'Accept-Encoding');
      assert.equal(rawPayload.length, length);
    }
  });

  it('spares clients what they have', async () => {
    const first = await get('/page/icon.svg');
    assert.equal(first.headers['cache-control'], 'no-cache');
    const again = await get('/page/icon.svg', { 'if-none-match': String(first.headers.etag) });
    assert.equal(again.statusCode, 304);
    assert.equal(again.body, '');
  });

  it('serves nothing outside the folder, no bare compressed form, and nothing that was never built', async () => {
    for (const url of [
      '/page/..%2fsecret.txt',
      '/page/%2e%2e/secret.txt',
      `${ADDRESS}.br`,
      '/page/no.js',
      '/none',
      '/none/x.js',
    ]) {
      assert.equal((await get(url)).statusCode, 404, url);
    }
  });
});
