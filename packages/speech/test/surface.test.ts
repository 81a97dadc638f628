import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import { CODES } from '../src/core/codes.ts';
import { WARNING_CODES } from '../src/core/types.ts';
import { type Scripted, startScripted } from './scripted-speech.ts';

const DOCUMENT = new URL('../../../docs/speech-api.md', import.meta.url);
const ROW = /^\| (GET|POST|PUT|PATCH|DELETE) \| `([^`]+)` \| (open|key|admin) \|/;

type Row = { method: string; path: string; access: string };

let service: Scripted;
let document: string;
let rows: Row[];
// biome-ignore lint/suspicious/noExplicitAny: the document is what the test looks into.
let openApi: any;

before(async () => {
  service = await startScripted();
  document = await readFile(DOCUMENT, 'utf8');
  rows = document.split('\n').flatMap((line) => {
    const match = ROW.exec(line);
    return match ? [{ method: match[1]!, path: match[2]!, access: match[3]! }] : [];
  });
  openApi = await (await service.call('/docs/openapi.json', { key: '' })).json();
});
after(() => service[Symbol.asyncDispose]());

describe('the surface', () => {
  it('is what docs/speech-api.md says, both ways: method, path, access', () => {
    const mounted = Object.entries<Record<string, { security: unknown[]; 'x-admin'?: boolean }>>(openApi.paths).flatMap(
      ([path, operations]) =>
        Object.entries(operations).map(([method, operation]) => {
          const access = operation['x-admin'] ? 'admin' : operation.security.length > 0 ? 'key' : 'open';
          return `${method.toUpperCase()} ${path} ${access}`;
        }),
    );
    const told = rows.map(({ method, path, access }) => `${method} ${path} ${access}`);
    assert.ok(told.length >= 15);
    assert.deepEqual(mounted.sort(), told.sort());
  });

  it('asks for a key wherever the document says so', async () => {
    for (const { method, path, access } of rows) {
      const response = await service.call(path.replaceAll(/\{\w+\}/g, 'x'), { method, key: '' });
      await response.text();
      if (access === 'open') assert.notEqual(response.status, 401, path);
      else assert.equal(response.status, 401, `${method} ${path}`);
    }
  });

  it('names every code and every warning in the document and on the reference page', async () => {
    const page = await (await service.call('/docs', { key: '' })).text();
    for (const code of Object.keys(CODES)) {
      assert.ok(document.includes(`| \`${code}\` | ${CODES[code as keyof typeof CODES]} |`), code);
      assert.ok(page.includes(`id="error-${code}"`), code);
    }
    for (const code of WARNING_CODES) {
      assert.ok(document.includes(`| \`${code}\` |`), code);
      assert.ok(page.includes(`id="warning-${code}"`), code);
    }
  });

  it('answers HEAD wherever it answers GET', async () => {
    for (const path of ['/', '/docs', '/healthz', '/readyz', '/ui', '/v1/models', '/api/v1/models']) {
      const [head, get] = [await service.call(path, { method: 'HEAD' }), await service.call(path)];
      assert.equal(head.status, get.status, path);
      await get.text();
    }
  });
});

describe('/docs', () => {
  it('is where / leads', async () => {
    const response = await service.call('/', { key: '' });
    assert.equal(response.status, 302);
    assert.equal(response.headers.get('location'), '/docs');
  });

  it('describes itself in OpenAPI 3.1.0 without request or response schemas', () => {
    assert.equal(openApi.openapi, '3.1.0');
    assert.equal(openApi.info.version, 'v1.1.1');
    const text = JSON.stringify(openApi);
    assert.ok(!text.includes('requestBody') && !text.includes('"content"'));
    for (const operations of Object.values<Record<string, Record<string, string>>>(openApi.paths)) {
      for (const operation of Object.values(operations)) assert.ok(operation.summary);
    }
  });

  it('serves pages that load nothing from elsewhere and run no inline code', async () => {
    for (const path of ['/docs', '/docs/', '/ui', '/ui/']) {
      const response = await service.call(path, { key: '' });
      assert.equal(response.status, 200, path);
      assert.equal(response.headers.get('content-type'), 'text/html; charset=utf-8');
      const policy = response.headers.get('content-security-policy') ?? '';
      assert.match(policy, /default-src 'none'/);
      assert.ok(!policy.includes('unsafe'));
      const page = await response.text();
      const addresses = [...page.matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1]!);
      assert.ok(
        addresses.every((address) => /^[/#]/.test(address) && !address.startsWith('//')),
        addresses.join(' '),
      );
      assert.ok(!/<script(?![^>]*src=)|<style| style=| on\w+=/.test(page));
      for (const address of addresses.filter((one) => /\.\w+$/.test(one))) {
        const file = await service.call(address, { key: '' });
        assert.equal(file.status, 200, address);
        await file.text();
      }
    }
    assert.equal((await service.call('/docs/nothing.js', { key: '' })).status, 404);
    assert.equal((await service.call('/ui/..%2f..%2fendpoints.ts', { key: '' })).status, 404);
  });

  it('spares clients what they have', async () => {
    const first = await service.call('/docs/style.css');
    await first.text();
    const again = await service.call('/docs/style.css', { headers: { 'If-None-Match': first.headers.get('etag')! } });
    assert.equal(again.status, 304);
  });

  it('hides the studio where it is switched off', async () => {
    await using bare = await startScripted({ uiEnabled: false });
    assert.equal((await bare.call('/ui')).status, 404);
  });
});

describe('health', () => {
  it('names the versions of the native libraries, nested and flat', async () => {
    const body = (await (await service.call('/healthz', { key: '' })).json()) as Record<string, unknown>;
    assert.equal(body.status, 'ok');
    assert.deepEqual(body.engines, { sherpa_onnx: '1.13.8', onnxruntime: '1.24.4' });
    assert.deepEqual([body.sherpa_onnx, body.onnxruntime, body.node], ['1.13.8', '1.24.4', process.versions.node]);
    assert.equal(typeof body.uptime_s, 'number');
  });

  it('says 503 with the same body unless ready', async () => {
    assert.equal((await service.call('/readyz', { key: '' })).status, 200);
    const depth = {
      queue_depth: 3,
      queue_size: 3,
      queued_bytes: 9,
      max_queued_bytes: 9,
      running: 1,
      workers: 1,
      models_resident: 1,
    };
    await using full = await startScripted({
      readiness: () => ({ status: 'saturated', ...depth, retryAfterSec: 2.5 }),
    });
    const response = await full.call('/readyz', { key: '' });
    assert.equal(response.status, 503);
    assert.equal(response.headers.get('retry-after'), '3');
    assert.deepEqual(await response.json(), { status: 'saturated', ...depth });
  });
});
