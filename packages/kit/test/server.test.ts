/** The server's own behaviour on the wire: ids, headers, limits, refusals, upgrades, shutdown. */
import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { afterEach, describe, it } from 'node:test';
import { pino } from 'pino';
import type { Endpoint } from '../src/http/endpoint.ts';
import { mount } from '../src/http/endpoint.ts';
import type { Render } from '../src/http/errors.ts';
import { createServer, type Listening, listen, type ServerOptions } from '../src/http/server.ts';
import { createSilentLog, type Log } from '../src/log.ts';
import { fetchOutbound } from '../src/outbound.ts';
import { Problem } from '../src/problem.ts';
import { failOnLeaks } from '../src/testing/leaks.ts';
import { createSelfSigned } from '../src/testing/self-signed.ts';
import { headerOf, openRaw, type RawClient, statusOf } from './raw-client.ts';

const render: Render = (problem, { path, requestId }) => ({
  status: problem.status,
  headers: { 'content-type': 'application/json' },
  body: { code: problem.code, path, requestId, message: problem.message },
});

type Test = Endpoint<'open' | 'key', string>;
failOnLeaks();
const opened: { close(): Promise<void> }[] = [];
const clients: RawClient[] = [];
afterEach(async () => {
  for (const client of clients.splice(0)) client.socket.destroy();
  await Promise.all(opened.splice(0).map((server) => server.close()));
});

const raw = async (server: Listening): Promise<RawClient> => {
  const client = await openRaw(server.port);
  clients.push(client);
  return client;
};

const endpoint = (
  method: Test['method'],
  path: string,
  handle: Test['handle'],
  access: Test['access'] = 'open',
): Test => ({
  method,
  path,
  access,
  tag: 'test',
  summary: path,
  handle,
});

const start = async (endpoints: readonly Test[], options: Partial<ServerOptions> = {}): Promise<Listening> => {
  const app = createServer({ log: createSilentLog(), name: 'test', render, ...options });
  mount(app, endpoints, {
    open: () => 'anyone',
    key: ({ headers }) => {
      if (headers.authorization === 'Bearer good') return 'someone';
      throw new Problem({ code: 'unauthorized', status: 401, message: 'A key is needed.' });
    },
  });
  const listening = await listen(app, { host: '127.0.0.1', port: 0 });
  opened.push(listening);
  return listening;
};

const echo = endpoint('POST', '/echo', ({ request }) => ({ body: request.body ?? null }));
const hello = endpoint('GET', '/hello', () => ({ hello: true }));

describe('every answer', () => {
  it('carries a request id and the security headers, whatever it is', async () => {
    const server = await start([hello, echo]);
    for (const [method, path, status] of [
      ['GET', '/hello', 200],
      ['GET', '/nowhere', 404],
      ['DELETE', '/hello', 405],
      ['GET', '/%zz', 400],
      ['GET', `/${'a'.repeat(17_000)}`, 414],
      ['GET', `/hello?${'a'.repeat(17_000)}`, 414],
    ] as const) {
      const answer = await fetch(server.url + path, { method });
      assert.equal(answer.status, status, path.slice(0, 20));
      assert.match(answer.headers.get('x-request-id') ?? '', /^req_/);
      assert.equal(answer.headers.get('x-content-type-options'), 'nosniff');
      // An answer of an interface is neither kept by a browser nor shown as a page of its own.
      assert.equal(answer.headers.get('cache-control'), 'no-store');
      assert.equal(answer.headers.get('content-security-policy'), "default-src 'none'; frame-ancestors 'none'");
      assert.equal(answer.headers.get('referrer-policy'), 'no-referrer');
      if (status >= 400) {
        const body = (await answer.json()) as { requestId: string };
        assert.equal(body.requestId, answer.headers.get('x-request-id'));
      } else await answer.body?.cancel();
    }
  });

  it('keeps a request id that can be kept', async () => {
    const server = await start([hello]);
    const ask = async (id: string) => {
      const answer = await fetch(`${server.url}/hello`, { headers: { 'x-request-id': id } });
      await answer.body?.cancel();
      return answer.headers.get('x-request-id');
    };
    assert.equal(await ask('trace-1 of 2'), 'trace-1 of 2');
    assert.equal(await ask('x'.repeat(128)), 'x'.repeat(128));
    assert.match((await ask('x'.repeat(129)))!, /^req_/);
    assert.match((await ask('caf\u00e9'))!, /^req_/);
  });
});

describe('addresses and methods', () => {
  it('answers HEAD where GET is, and 405 with Allow elsewhere', async () => {
    const server = await start([
      hello,
      echo,
      endpoint('GET', '/things/:id', () => 'x'),
      endpoint('DELETE', '/things/list', () => 'x'),
    ]);
    const head = await fetch(`${server.url}/hello`, { method: 'HEAD' });
    assert.equal(head.status, 200);
    assert.equal(head.headers.get('content-length'), '14');
    const wrong = await fetch(`${server.url}/things/7`, { method: 'PUT', body: 'x' });
    assert.equal(wrong.status, 405);
    assert.equal(wrong.headers.get('allow'), 'GET, HEAD');
    const both = await fetch(`${server.url}/things/list`, { method: 'PATCH' });
    assert.equal(both.headers.get('allow'), 'DELETE, GET, HEAD');
    const known = await fetch(`${server.url}/things/list`);
    assert.equal(known.status, 200);
    await Promise.all([wrong, both, known].map((answer) => answer.body?.cancel()));
  });

  it('asks for a Host header in its own shape', async () => {
    const server = await start([hello]);
    const client = await raw(server);
    client.write('GET /hello HTTP/1.1\r\nConnection: close\r\n\r\n');
    const { text } = await client.closed();
    assert.equal(statusOf(text), 400);
    assert.match(headerOf(text, 'x-request-id')!, /^req_/);
  });
});

describe('bodies', () => {
  const post = (server: Listening, body: string, type = 'application/json') =>
    fetch(`${server.url}/echo`, { method: 'POST', body, headers: { 'content-type': type } });

  it('reads JSON, and takes an empty one for none', async () => {
    const server = await start([echo]);
    assert.deepEqual(await (await post(server, '{"a":1}')).json(), { body: { a: 1 } });
    assert.deepEqual(await (await post(server, '\ufeff[2]', 'application/json; charset=utf-8')).json(), { body: [2] });
    assert.deepEqual(await (await post(server, '{"a":1}', 'application/merge-patch+json')).json(), { body: { a: 1 } });
    assert.deepEqual(await (await post(server, '')).json(), { body: null });
    assert.deepEqual(await (await post(server, '', 'application/x-www-form-urlencoded')).json(), { body: null });
    const client = await raw(server);
    client.write('POST /echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n');
    assert.match((await client.closed()).text, /\{"body":null\}$/);
  });

  it('refuses what it cannot read, never with a 500', async () => {
    const server = await start([echo], { limits: { maxBodyBytes: 1000 } });
    const cases: [string, string, number, string][] = [
      ['{"a":', 'application/json', 400, 'invalid_request'],
      ['{"__proto__":{"a":1}}', 'application/json', 400, 'invalid_request'],
      [`${'['.repeat(40)}${']'.repeat(40)}`, 'application/json', 400, 'invalid_request'],
      ['x'.repeat(1001), 'application/json', 413, 'file_too_large'],
      ['a=1', 'application/x-www-form-urlencoded', 415, 'unsupported_media_type'],
      ['a=1', 'nonsense', 415, 'unsupported_media_type'],
    ];
    for (const [body, type, status, code] of cases) {
      const answer = await post(server, body, type);
      assert.equal(answer.status, status, type + body.slice(0, 20));
      assert.equal(((await answer.json()) as { code: string }).code, code);
    }
  });

  it('answers a stalled body with 408', async () => {
    const server = await start([echo], { limits: { bodyIdleMs: 60 } });
    const client = await raw(server);
    client.write('POST /echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{"a"');
    const { text, reset } = await client.closed();
    assert.equal(statusOf(text), 408);
    assert.equal(reset, false);
    assert.equal(headerOf(text, 'connection'), 'close');
  });
});

describe('a request refused before its body was read', () => {
  it('is answered without a reset although the client goes on sending', async () => {
    const locked = endpoint('POST', '/locked', ({ request }) => request.body, 'key');
    const server = await start([locked]);
    const client = await raw(server);
    client.write(
      'POST /locked HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n',
    );
    const block = `10000\r\n${'x'.repeat(65_536)}\r\n`;
    for (let count = 0; count < 40; count++) client.write(block);
    const text = await client.until((seen) => seen.includes('needed'));
    assert.equal(statusOf(text), 401);
    assert.equal(headerOf(text, 'connection'), 'close');
    for (let count = 0; count < 40; count++) client.write(block);
    assert.equal((await client.closed()).reset, false);
  });

  it('keeps the connection when the rest is small', async () => {
    const server = await start([endpoint('POST', '/locked', () => 'in', 'key'), hello]);
    const client = await raw(server);
    client.write('POST /locked HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 7\r\n\r\n{"a"');
    await client.until((seen) => seen.includes('needed'));
    client.write(':1}GET /hello HTTP/1.1\r\nHost: x\r\n\r\n');
    assert.match(await client.until((seen) => seen.includes('hello')), /401[\s\S]*200/);
  });

  it('is not asked for its body when it waits for 100 Continue', async () => {
    const server = await start([endpoint('POST', '/locked', ({ request }) => request.body, 'key')]);
    const head = (key: string) =>
      `POST /locked HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nExpect: 100-continue\r\nContent-Type: application/json\r\nContent-Length: 7\r\n\r\n`;
    const bad = await raw(server);
    bad.write(head('bad'));
    const refused = await bad.until((seen) => seen.includes('needed'));
    assert.equal(statusOf(refused), 401);
    assert.doesNotMatch(refused, /100 Continue/);
    const good = await raw(server);
    good.write(head('good'));
    await good.until((seen) => seen.startsWith('HTTP/1.1 100 Continue\r\n\r\n'));
    good.write('{"a":1}');
    assert.match(await good.until((seen) => seen.includes('{"a":1}')), /200 OK/);
  });
});

describe('broken requests', () => {
  it('get a body in the service’s shape and a closed connection', async () => {
    const server = await start([hello], { limits: { maxUriBytes: 1000, maxHeaderBytes: 1000 } });
    for (const [bytes, status] of [
      ['NONSENSE\r\n\r\n', 400],
      ['GET /hello HTTP/1.1\r\nHost: x\r\nbad header\r\n\r\n', 400],
      ['POST /hello HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n', 400],
      [`GET /hello HTTP/1.1\r\nHost: x\r\nX-Big: ${'a'.repeat(4000)}\r\n\r\n`, 431],
      [`GET /${'a'.repeat(4000)} HTTP/1.1\r\nHost: x\r\n\r\n`, 414],
      [`GET /${'a'.repeat(4000)}`, 414],
    ] as const) {
      const client = await raw(server);
      client.write(bytes);
      const { text } = await client.closed();
      assert.equal(statusOf(text), status, bytes.slice(0, 40));
      assert.match(headerOf(text, 'x-request-id')!, /^req_/);
      assert.equal(JSON.parse(text.split('\r\n\r\n')[1]!).requestId, headerOf(text, 'x-request-id'));
    }
  });

  it('that never end their head are cut off with 408', async () => {
    const server = await start([hello], { limits: { headersTimeoutMs: 300 } });
    const client = await raw(server);
    client.write('GET /hello HTTP/1.1\r\nX-Slow: ');
    assert.equal(statusOf((await client.closed()).text), 408);
  });

  it('break a body without breaking the server', async () => {
    const server = await start([echo, hello]);
    const client = await raw(server);
    client.write(
      'POST /echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nZZZ\r\n',
    );
    assert.equal(statusOf((await client.closed()).text), 400);
    assert.equal((await fetch(`${server.url}/hello`)).status, 200);
  });
});

describe('split and pipelined requests', () => {
  it('are answered in order', async () => {
    const server = await start([hello, echo]);
    const client = await raw(server);
    const bytes =
      'POST /echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 7\r\n\r\n{"a":1}';
    for (const byte of bytes) client.write(byte);
    await client.until((seen) => seen.includes('{"a":1}'));
    client.write(
      'GET /hello HTTP/1.1\r\nHost: x\r\n\r\nGET /nowhere HTTP/1.1\r\nHost: x\r\n\r\nHEAD /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
    );
    const { text } = await client.closed();
    assert.deepEqual(text.match(/HTTP\/1\.1 \d+/g), ['HTTP/1.1 200', 'HTTP/1.1 200', 'HTTP/1.1 404', 'HTTP/1.1 200']);
  });
});

describe('upgrades', () => {
  it('to h2c are ordinary requests, also with a body and with a websocket listener', async () => {
    const app = createServer({ log: createSilentLog(), name: 'test', render });
    mount(app, [hello, echo], { open: () => '', key: () => '' });
    app.server.on('upgrade', (_request, socket) => socket.end('HTTP/1.1 101 Switching Protocols\r\n\r\n'));
    const server = await listen(app, { host: '127.0.0.1', port: 0 });
    opened.push(server);
    const offer =
      'Host: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA\r\n';
    const client = await raw(server);
    client.write(`GET /hello HTTP/1.1\r\n${offer}\r\n`);
    await client.until((seen) => seen.includes('"hello"'));
    client.write(`POST /echo HTTP/1.1\r\n${offer}Content-Type: application/json\r\nContent-Length: 7\r\n\r\n{"a":1}`);
    await client.until((seen) => seen.includes('{"a":1}'));
    const socket = await raw(server);
    socket.write('GET /hello HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
    assert.equal(statusOf((await socket.closed()).text), 101);
  });
});

describe('cross-origin requests', () => {
  it('are answered only for the origins named', async () => {
    const cors = { origins: ['https://good.example'], exposedHeaders: ['X-Request-Id', 'Retry-After'] };
    const server = await start([endpoint('POST', '/locked', () => 'in', 'key')], { cors });
    const ask = (origin: string, method: string) =>
      fetch(`${server.url}/locked`, { method, headers: { origin, 'access-control-request-method': 'POST' } });
    const preflight = await ask('https://good.example', 'OPTIONS');
    assert.equal(preflight.status, 204);
    assert.equal(preflight.headers.get('access-control-allow-origin'), 'https://good.example');
    const refused = await ask('https://good.example', 'POST');
    assert.equal(refused.status, 401);
    assert.equal(refused.headers.get('access-control-expose-headers'), 'X-Request-Id, Retry-After');
    const foreign = await ask('https://bad.example', 'POST');
    assert.equal(foreign.headers.get('access-control-allow-origin'), null);
    await Promise.all([refused, foreign].map((answer) => answer.body?.cancel()));
  });
});

describe('errors', () => {
  it('say nothing of their cause and carry Retry-After when they may pass', async () => {
    const server = await start([
      endpoint('GET', '/bug', () => {
        throw new Error('secret detail');
      }),
      endpoint('GET', '/busy', () => {
        throw new Problem({ code: 'queue_full', status: 429, message: 'Later.', retryAfterSec: 2.2 });
      }),
      endpoint('GET', '/down', () => {
        throw new Problem({ code: 'model_unavailable', status: 503, message: 'Later.' });
      }),
    ]);
    const bug = await fetch(`${server.url}/bug`);
    assert.equal(bug.status, 500);
    assert.doesNotMatch(await bug.text(), /secret/);
    const busy = await fetch(`${server.url}/busy`);
    assert.equal(busy.headers.get('retry-after'), '3');
    const down = await fetch(`${server.url}/down`);
    assert.match(down.headers.get('retry-after')!, /^\d+$/);
    await Promise.all([busy, down].map((answer) => answer.body?.cancel()));
  });
});

describe('a closing server', () => {
  it('lets running requests end, refuses new ones on kept connections, then is gone', async () => {
    const entered = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    const slow = endpoint('GET', '/slow', async () => {
      entered.resolve();
      await release.promise;
      return 'slow';
    });
    const server = await start([slow, hello]);
    const running = await raw(server);
    running.write('GET /slow HTTP/1.1\r\nHost: x\r\n\r\n');
    await entered.promise;
    const closing = server.close();
    // Pipelined behind the running one, so it reaches the server while it drains.
    running.write('GET /hello HTTP/1.1\r\nHost: x\r\n\r\n');
    release.resolve();
    const { text } = await running.closed();
    assert.match(text, /^HTTP\/1\.1 200/);
    assert.match(headerOf(text, 'connection')!, /close/);
    await closing;
    await assert.rejects(fetch(`${server.url}/hello`));
  });

  it('cuts what does not end within the grace', async () => {
    const aborted = Promise.withResolvers<void>();
    const entered = Promise.withResolvers<void>();
    const stuck = endpoint('GET', '/stuck', ({ signal }) => {
      signal.addEventListener('abort', () => aborted.resolve());
      entered.resolve();
      return new Promise(() => undefined);
    });
    const server = await start([stuck], { limits: { shutdownGraceMs: 50 } });
    const client = await raw(server);
    client.write('GET /stuck HTTP/1.1\r\nHost: x\r\n\r\n');
    await entered.promise;
    await server.close();
    await aborted.promise;
    assert.equal((await client.closed()).text, '');
  });
});

describe('a closing server', () => {
  it('closes the connection of an answer that began before', async () => {
    const body = new PassThrough();
    const server = await start([endpoint('GET', '/stream', ({ reply }) => reply.send(body))]);
    const client = await raw(server);
    client.write('GET /stream HTTP/1.1\r\nHost: x\r\n\r\n');
    body.write('begun');
    assert.equal(headerOf(await client.until((seen) => seen.includes('begun')), 'connection'), 'keep-alive');
    const closing = server.close();
    // Until the server no longer takes connections it has not begun to close.
    while (
      await openRaw(server.port).then(
        ({ socket }) => socket.destroy(),
        () => undefined,
      )
    )
      await new Promise(setImmediate);
    body.end('done');
    await closing;
    assert.match((await client.closed()).text, /done/);
  });

  it('answers 503 to a request whose head was on its way', async () => {
    const entered = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    const slow = endpoint('GET', '/slow', async () => {
      entered.resolve();
      await release.promise;
      return 'slow';
    });
    const server = await start([slow, hello]);
    const late = await raw(server);
    late.write('GET /hello HTTP/1.1\r\nHost: x\r\n\r\nGET /hello HTTP/1.1\r\n');
    await late.until((seen) => seen.includes('hello'));
    const running = await raw(server);
    running.write('GET /slow HTTP/1.1\r\nHost: x\r\n\r\n');
    await entered.promise;
    const closing = server.close();
    late.write('Host: x\r\n\r\n');
    const { text } = await late.closed();
    const second = text.slice(text.lastIndexOf('HTTP/1.1'));
    assert.equal(statusOf(second), 503);
    assert.equal(headerOf(second, 'connection'), 'close');
    assert.match(headerOf(second, 'retry-after')!, /^\d+$/);
    release.resolve();
    await closing;
  });
});

describe('the log', () => {
  it('has one line a request, without its query, body or key', async () => {
    const lines = new PassThrough();
    const log: Log = pino({ level: 'info' }, lines);
    const server = await start([echo, endpoint('GET', '/things/:id', () => 'x', 'key')], { log });
    await (await fetch(`${server.url}/things/7?secret=1`, { headers: { authorization: 'Bearer good' } })).text();
    const json = { 'content-type': 'application/json' };
    await (await fetch(`${server.url}/echo`, { method: 'POST', body: '"secret"', headers: json })).text();
    await (await fetch(`${server.url}/secret/place`)).text();
    await server.close();
    // `read()` gives all of it up to Node 24, one write from Node 26 on.
    const text: string = (await lines.end().setEncoding('utf8').toArray()).join('');
    assert.doesNotMatch(text, /secret|good|Bearer/);
    const requests = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
      .filter((line) => line.msg === 'request')
      .map(({ server: name, method, route, status, bytes }) => ({ name, method, route, status, bytes }));
    assert.deepEqual(requests, [
      { name: 'test', method: 'GET', route: '/things/:id', status: 200, bytes: 1 },
      { name: 'test', method: 'POST', route: '/echo', status: 200, bytes: 17 },
      { name: 'test', method: 'GET', route: 'unknown', status: 404, bytes: requests[2]!.bytes },
    ]);
  });
});

describe('odd but lawful requests', () => {
  it('in absolute form are read as if they were not', async () => {
    const server = await start([hello]);
    const client = await raw(server);
    client.write('GET http://x/hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    assert.equal(statusOf((await client.closed()).text), 200);
  });

  it('in HTTP/1.0 need no Host', async () => {
    const server = await start([hello]);
    const client = await raw(server);
    client.write('GET /hello HTTP/1.0\r\n\r\n');
    const { text, reset } = await client.closed();
    assert.deepEqual([statusOf(text), reset], [200, false]);
  });

  it('with another expectation get 417 in our shape', async () => {
    const server = await start([hello]);
    const client = await raw(server);
    client.write('GET /hello HTTP/1.1\r\nHost: x\r\nExpect: tea\r\nConnection: close\r\n\r\n');
    const { text } = await client.closed();
    assert.equal(statusOf(text), 417);
    assert.match(headerOf(text, 'x-request-id')!, /^req_/);
  });
});

describe('TLS', () => {
  it('serves the same', async () => {
    const { key, cert } = createSelfSigned();
    const server = await start([hello], { tls: { key, cert } });
    assert.match(server.url, /^https:/);
    const allowedHosts = [`localhost:${server.port}`];
    const resolve = async () => [{ address: '127.0.0.1', family: 4 }];
    const answer = await fetchOutbound(`https://localhost:${server.port}/hello`, { ca: cert, allowedHosts, resolve });
    assert.equal(answer.body.toString(), '{"hello":true}');
    assert.equal(answer.headers['strict-transport-security'], 'max-age=31536000');
  });
});
