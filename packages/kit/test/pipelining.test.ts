/** Requests that come before the answer to the one before was read. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, it } from 'node:test';
import { MAX_PIPELINED } from '../src/http/pipelining.ts';
import { createServer, type Listening, listen } from '../src/http/server.ts';
import { createSilentLog } from '../src/log.ts';
import { failOnLeaks } from '../src/testing/leaks.ts';

failOnLeaks();
const sockets: Socket[] = [];
const servers: Listening[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

/** More than a connection takes before it is read from. */
const LARGE = 'x'.repeat(16 * 1024 * 1024);

const start = async () => {
  const app = createServer({
    log: createSilentLog(),
    name: 'test',
    render: ({ status }) => ({ status, headers: {}, body: '' }),
  });
  const seen: string[] = [];
  const entered = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  app.get('/large', async () => {
    seen.push('large');
    return LARGE;
  });
  app.get('/slow', async () => {
    seen.push('slow');
    entered.resolve();
    await release.promise;
    return 'slow';
  });
  app.get<{ Params: { n: string } }>('/small/:n', ({ params }) => {
    seen.push(params.n);
    return `small ${params.n};`;
  });
  const server = await listen(app, { host: '127.0.0.1', port: 0 });
  servers.push(server);
  return { server, seen, entered: entered.promise, release: release.resolve };
};

const open = async ({ port }: Listening): Promise<Socket> => {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  sockets.push(socket);
  await once(socket, 'connect');
  return socket;
};

const get = (path: string, more = ''): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n${more}\r\n`;
const smalls = (count: number): string => Array.from({ length: count }, (_, n) => get(`/small/${n}`)).join('');

describe('pipelined requests', () => {
  it('are answered in order, each after the one before', async () => {
    const { server, seen, entered, release } = await start();
    const socket = await open(server);
    socket.write(get('/slow') + smalls(20) + get('/small/last', 'Connection: close\r\n'));
    await entered;
    // Another connection's answer: by then this one's chunk was read to its end.
    await (await fetch(`${server.url}/small/other`)).text();
    assert.deepEqual(seen, ['slow', 'other']);
    release();
    const text = (await socket.setEncoding('utf8').toArray()).join('');
    assert.equal(text.match(/HTTP\/1\.1 200 /g)?.length, 22);
    assert.deepEqual(
      [...text.matchAll(/small (\w+);/g)].map(([, n]) => n),
      [...Array.from({ length: 20 }, (_, n) => String(n)), 'last'],
    );
  });

  it('wait until the answer before them was taken', async () => {
    const { server, seen } = await start();
    const socket = await open(server);
    socket.pause();
    socket.write(get('/large').repeat(100));
    // As many turns as a hundred answers would have needed.
    for (let turn = 0; turn < 100; turn++) await (await fetch(`${server.url}/small/other`)).text();
    assert.deepEqual(
      seen.filter((each) => each === 'large'),
      ['large'],
    );
  });

  it('that are too many end the connection, and none of those that waited is begun', async () => {
    const { server, seen, entered, release } = await start();
    const socket = await open(server);
    socket.resume();
    const closed = once(socket, 'close');
    socket.write(get('/slow'));
    await entered;
    socket.write(smalls(MAX_PIPELINED + 1));
    await closed;
    release();
    assert.equal(await (await fetch(`${server.url}/small/other`)).text(), 'small other;');
    assert.deepEqual(seen, ['slow', 'other']);
  });

  it('before what cannot be read keep their answers: the last one under way ends the connection', async () => {
    const { server, seen, entered, release } = await start();
    const socket = await open(server);
    socket.write(`${get('/slow')}${get('/small/1')}NONSENSE\r\n\r\n`);
    await entered;
    socket.write('MORE OF IT\r\n\r\n');
    await (await fetch(`${server.url}/small/other`)).text();
    release();
    const text = (await socket.setEncoding('utf8').toArray()).join('');
    assert.deepEqual(text.match(/HTTP\/1\.1 \d+/g), ['HTTP/1.1 200']);
    assert.ok(text.endsWith('slow'));
    assert.deepEqual(seen, ['slow', 'other']);
  });
});
