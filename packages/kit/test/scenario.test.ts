/** Rows against a real server, and that a row fails when it must. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type Endpoint, mount } from '../src/http/endpoint.ts';
import { createServer, type Listening, listen } from '../src/http/server.ts';
import { createSilentLog } from '../src/log.ts';
import { meets, runScenarios, send } from '../src/testing/scenario.ts';

let server: Listening;
const endpoint: Endpoint<'open', string> = {
  method: 'POST',
  path: '/echo',
  access: 'open',
  tag: 'test',
  summary: 'echo',
  handle: ({ request }) => ({ body: request.body, extra: [{ a: 1, b: 2 }] }),
};

before(async () => {
  const app = createServer({
    log: createSilentLog(),
    name: 'test',
    render: ({ status, code }) => ({ status, headers: { 'content-type': 'application/problem+json' }, body: { code } }),
  });
  mount(app, [endpoint], { open: () => '' });
  server = await listen(app, { host: '127.0.0.1', port: 0 });
});
after(() => server.close());

describe('rows', () => {
  runScenarios(
    () => server.url,
    [
      {
        name: 'send JSON',
        path: '/echo',
        body: { x: 1 },
        expect: { status: 200, body: { body: { x: 1 }, extra: [{ a: 1 }] } },
      },
      {
        name: 'send text',
        path: '/echo',
        body: 'x',
        expect: { status: 415, body: { code: 'unsupported_media_type' } },
      },
      {
        name: 'look at headers',
        path: '/echo',
        expect: { status: 405, headers: { allow: 'POST', vary: null, 'x-request-id': /^req_/ } },
      },
      { name: 'look at text', path: '/no', expect: { status: 404, body: /"not_found"/ } },
    ],
  );

  it('fail when something else comes back', async () => {
    const ask = () => send(server.url, { path: '/echo', body: { x: 1 } });
    await assert.rejects(async () => meets(await ask(), { status: 201 }));
    await assert.rejects(async () => meets(await ask(), { status: 200, body: { body: { x: 2 } } }));
    await assert.rejects(async () => meets(await ask(), { status: 200, body: { missing: true } }));
    await assert.rejects(async () => meets(await ask(), { status: 200, body: { extra: [] } }));
    await assert.rejects(async () => meets(await ask(), { status: 200, headers: { 'x-none': 'x' } }));
  });
});
