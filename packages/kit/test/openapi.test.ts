/** The endpoint list as OpenAPI: what stands in it and what must not. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Endpoint } from '../src/http/endpoint.ts';
import { renderOpenApi } from '../src/http/openapi.ts';

type Access = 'open' | 'key' | 'admin';
const endpoint = (
  method: Endpoint<Access, string>['method'],
  path: string,
  access: Access,
): Endpoint<Access, string> => ({
  method,
  path,
  access,
  tag: 'native',
  summary: `${method} ${path}`,
  handle: () => undefined,
});

const endpoints = [
  endpoint('GET', '/', 'open'),
  endpoint('GET', '/api/v1/jobs/:id', 'key'),
  endpoint('DELETE', '/api/v1/jobs/:id', 'key'),
  { ...endpoint('POST', '/api/v1/models/:id/load', 'admin'), description: 'Loads it.' },
  endpoint('GET', '/ui/*', 'open'),
];

const document = renderOpenApi<Access, string>(endpoints, {
  title: 'Sample',
  version: 'v1.1.1',
  description: 'About it.',
  tags: { native: 'The native dialect.' },
  security: { key: { schemes: ['bearer'] }, admin: { schemes: ['bearer'], admin: true } },
  schemes: { bearer: { type: 'http', scheme: 'bearer' } },
}) as { openapi: string; info: unknown; paths: Record<string, Record<string, Record<string, unknown>>> };

it('lists every endpoint once, with path parameters in braces', () => {
  assert.equal(document.openapi, '3.1.0');
  assert.deepEqual(document.info, { title: 'Sample', version: 'v1.1.1', description: 'About it.' });
  const listed = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method} ${path}`),
  );
  assert.deepEqual(listed, [
    'get /',
    'get /api/v1/jobs/{id}',
    'delete /api/v1/jobs/{id}',
    'post /api/v1/models/{id}/load',
    'get /ui/{path}',
  ]);
});

it('says who may ask, and declares path parameters', () => {
  assert.deepEqual(document.paths['/api/v1/models/{id}/load']?.post, {
    operationId: 'postApiV1ModelsByIdLoad',
    tags: ['native'],
    summary: 'POST /api/v1/models/:id/load',
    description: 'Loads it.',
    parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }],
    responses: { default: { description: 'See the description of the interface.' } },
    security: [{ bearer: [] }],
    'x-admin': true,
  });
  assert.deepEqual(document.paths['/']?.get?.security, []);
});

it('has unique operation ids and no request or response schema', () => {
  const operations = Object.values(document.paths).flatMap((path) => Object.values(path));
  assert.equal(new Set(operations.map((operation) => operation.operationId)).size, endpoints.length);
  for (const operation of operations) {
    assert.equal(operation.requestBody, undefined);
    assert.deepEqual(Object.keys(operation.responses as object), ['default']);
    assert.doesNotMatch(JSON.stringify(operation.responses), /schema|content/);
  }
});
