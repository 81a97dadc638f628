/** The last value that is taken and the first that is not, of the limits every server of ours has. */
import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { createServer as createBareServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, it } from 'node:test';
import { WebSocket } from 'ws';
import { type Endpoint, mount } from '../src/http/endpoint.ts';
import { createServer, type Listening, listen } from '../src/http/server.ts';
import { acceptSockets } from '../src/http/socket.ts';
import { createSpoolBudget } from '../src/http/spool.ts';
import { readOctets } from '../src/http/upload.ts';
import { createSilentLog } from '../src/log.ts';
import { fetchOutbound, OutboundError, readOutboundUrl } from '../src/outbound.ts';
import { Problem } from '../src/problem.ts';
import { failOnLeaks } from '../src/testing/leaks.ts';
import { openRaw, statusOf } from './raw-client.ts';

failOnLeaks();
const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

const MAX_MESSAGE_BYTES = 1000;

const start = async (spoolDir = tmpdir()): Promise<Listening> => {
  const app = createServer({
    log: createSilentLog(),
    name: 'test',
    render: ({ status, code }) => ({ status, headers: { 'content-type': 'application/json' }, body: { code } }),
  });
  const sockets = acceptSockets(app);
  const common = { access: 'open', tag: 'test', summary: 'test' } as const;
  const endpoints: Endpoint<'open', string>[] = [
    { ...common, method: 'GET', path: '/hello', handle: () => 'hello' },
    { ...common, method: 'POST', path: '/echo', handle: () => 'taken' },
    {
      ...common,
      method: 'GET',
      path: '/fails/:status',
      handle: ({ request }) => {
        const { status } = request.params as { status: string };
        throw new Problem({ code: 'no', status: Number(status), message: 'No.' });
      },
    },
    {
      ...common,
      method: 'POST',
      path: '/octets',
      handle: async ({ request }) => (await readOctets(request, { spoolDir, maxBytes: 1000 })).remove(),
    },
    {
      ...common,
      method: 'GET',
      path: '/socket',
      handle: async ({ request, reply }) => {
        const socket = await sockets.upgrade(request, reply, {
          maxMessageBytes: MAX_MESSAGE_BYTES,
          protocols: ['ours', 'also-ours'],
        });
        socket.on('message', (data) => socket.send(data));
        socket.on('error', () => undefined);
        socket.resume();
      },
    },
  ];
  mount(app, endpoints, { open: () => '' });
  const server = await listen(app, { host: '127.0.0.1', port: 0 });
  closers.push(() => server.close());
  return server;
};

const statusFor = async (url: string, init?: RequestInit): Promise<number> => {
  const answer = await fetch(url, init);
  await answer.body?.cancel();
  return answer.status;
};

describe('a JSON body', () => {
  const send = (server: Listening, body: string): Promise<number> =>
    statusFor(`${server.url}/echo`, { method: 'POST', headers: { 'content-type': 'application/json' }, body });

  it('may be 32 levels deep', async () => {
    const server = await start();
    const nested = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`;
    assert.deepEqual([await send(server, nested(32)), await send(server, nested(33))], [200, 400]);
  });

  it('may have 10,000 keys in all', async () => {
    const server = await start();
    const withKeys = (count: number): string => {
      const half = Math.floor(count / 2);
      const entries = Array.from({ length: count - 1 }, (_, n) => [`k${n}`, n] as const);
      return JSON.stringify({
        inner: Object.fromEntries(entries.slice(half)),
        ...Object.fromEntries(entries.slice(0, half)),
      });
    };
    assert.deepEqual([await send(server, withKeys(10_000)), await send(server, withKeys(10_001))], [200, 400]);
  });
});

describe('a refusal', () => {
  it('says when to come again where coming again makes sense', async () => {
    const server = await start();
    for (const [status, seconds] of [
      [429, '5'],
      [503, '5'],
      [400, null],
      [500, null],
    ] as const) {
      const answer = await fetch(`${server.url}/fails/${status}`);
      await answer.body?.cancel();
      assert.deepEqual([answer.status, answer.headers.get('retry-after')], [status, seconds]);
    }
  });
});

describe('an address', () => {
  it('may have 16 KiB', async () => {
    const server = await start();
    const ofBytes = (bytes: number): string => `${server.url}/hello?${'a'.repeat(bytes - '/hello?'.length)}`;
    assert.deepEqual([await statusFor(ofBytes(16 * 1024)), await statusFor(ofBytes(16 * 1024 + 1))], [200, 414]);
  });

  it('over plain HTTP promises nothing about TLS', async () => {
    const server = await start();
    const answer = await fetch(`${server.url}/hello`);
    await answer.body?.cancel();
    assert.equal(answer.headers.get('strict-transport-security'), null);
  });
});

describe('an upload', () => {
  it('that announces too much is refused before any of it is sent', async () => {
    const spoolDir = await mkdtemp(join(tmpdir(), 'parley-edges-'));
    closers.push(() => rm(spoolDir, { recursive: true }));
    const server = await start(spoolDir);
    const client = await openRaw(server.port);
    client.write(
      'POST /octets HTTP/1.1\r\nHost: x\r\nContent-Type: application/octet-stream\r\nContent-Length: 1001\r\n\r\n',
    );
    assert.equal(statusOf(await client.until((text) => text.includes('\r\n\r\n'))), 413);
    client.socket.destroy();
    assert.deepEqual(await readdir(spoolDir), []);
  });

  it('may fill the budget to its last byte', () => {
    const budget = createSpoolBudget(10, () => new Problem({ code: 'queue_full', status: 429, message: 'Full.' }));
    budget.take(4);
    budget.take(6);
    assert.throws(() => budget.take(1), /Full/);
    budget.give(1);
    budget.take(1);
    assert.equal(budget.usedBytes, 10);
  });
});

describe('a request to a stranger', () => {
  it('carries neither a user name nor a password alone', () => {
    for (const text of ['https://me@example.org/', 'https://:pw@example.org/']) {
      assert.throws(() => readOutboundUrl(text, [], 'url'), /user name or password/);
    }
  });

  it('takes an answer of as many bytes as are allowed', async () => {
    const server = createBareServer((_request, response) => response.end('x'.repeat(100)));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    closers.push(() => new Promise((resolve) => server.close(resolve)));
    const { port } = server.address() as AddressInfo;
    const ask = (maxResponseBytes: number) =>
      fetchOutbound(`http://127.0.0.1:${port}/`, { allowedHosts: [`127.0.0.1:${port}`], maxResponseBytes });
    assert.equal((await ask(100)).body.length, 100);
    await assert.rejects(ask(99), (thrown) => thrown instanceof OutboundError && thrown.failure === 'too_large');
  });
});

describe('a WebSocket', () => {
  const handshake = (version: string): string =>
    'GET /socket HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
    `Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: ${version}\r\n\r\n`;

  it('of a version nobody speaks is refused in our own shape', async () => {
    const server = await start();
    for (const [version, status] of [
      ['13', 101],
      ['8', 101],
      ['7', 400],
      ['14', 400],
    ] as const) {
      const client = await openRaw(server.port);
      client.write(handshake(version));
      const text = await client.until((received) => received.includes('\r\n\r\n'));
      assert.equal(statusOf(text), status, version);
      if (status === 400) assert.match(await client.until((received) => received.includes('}')), /"invalid_request"/);
      client.socket.destroy();
    }
  });

  it('agrees on the first name that is ours, and takes messages up to their limit', async () => {
    const server = await start();
    const url = `${server.url.replace('http', 'ws')}/socket`;
    const socket = new WebSocket(url, ['a-key.secret', 'also-ours', 'ours']);
    await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
    assert.equal(socket.protocol, 'also-ours');
    const echoed = new Promise<Buffer>((resolve) => socket.once('message', resolve));
    socket.send(Buffer.alloc(MAX_MESSAGE_BYTES));
    assert.equal((await echoed).length, MAX_MESSAGE_BYTES);
    const closed = new Promise<number>((resolve) => socket.once('close', resolve));
    socket.send(Buffer.alloc(MAX_MESSAGE_BYTES + 1));
    assert.equal(await closed, 1009);
  });
});
