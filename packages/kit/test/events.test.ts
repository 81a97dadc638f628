/** Event streams over real connections: headers, numbering, heartbeat, slow readers, the end. */
import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { type Endpoint, mount } from '../src/http/endpoint.ts';
import { type EventOptions, type EventStream, lastEventIdOf, renderEvent, startEvents } from '../src/http/events.ts';
import { createServer, type Listening, listen } from '../src/http/server.ts';
import { createSilentLog } from '../src/log.ts';
import { failOnLeaks } from '../src/testing/leaks.ts';
import { openRaw, type RawClient } from './raw-client.ts';

failOnLeaks();
let server: Listening;
let started: PromiseWithResolvers<{ stream: EventStream; lastId: string | undefined }>;
const clients: RawClient[] = [];

const start = async (options: EventOptions = {}): Promise<void> => {
  started = Promise.withResolvers();
  const app = createServer({
    log: createSilentLog(),
    name: 'test',
    render: ({ status, code }) => ({ status, headers: { 'content-type': 'application/json' }, body: { code } }),
    cors: { origins: ['*'], exposedHeaders: [] },
  });
  const endpoint: Endpoint<'open', string> = {
    method: 'GET',
    path: '/events',
    access: 'open',
    tag: 'test',
    summary: 'events',
    handle: ({ request, reply }) => {
      const stream = startEvents(request, reply, options);
      started.resolve({ stream, lastId: lastEventIdOf(request) });
      return stream.closed;
    },
  };
  mount(app, [endpoint], { open: () => '' });
  server = await listen(app, { host: '127.0.0.1', port: 0 });
};

const connect = async (target = '/events', method = 'GET', more = ''): Promise<RawClient> => {
  const client = await openRaw(server.port);
  clients.push(client);
  client.write(`${method} ${target} HTTP/1.1\r\nHost: x\r\n${more}\r\n`);
  return client;
};

afterEach(async () => {
  for (const client of clients.splice(0)) client.socket.destroy();
  await server.close();
});

describe('an event stream', () => {
  it('has its headers, its events in order and an end', async () => {
    await start();
    const answer = await fetch(`${server.url}/events`, { headers: { origin: 'https://a.example' } });
    const { stream } = await started.promise;
    assert.equal(answer.headers.get('content-type'), 'text/event-stream; charset=utf-8');
    assert.match(answer.headers.get('cache-control')!, /no-cache/);
    assert.equal(answer.headers.get('x-accel-buffering'), 'no');
    assert.match(answer.headers.get('x-request-id')!, /^req_/);
    assert.equal(answer.headers.get('access-control-allow-origin'), '*');
    assert.equal(stream.send({ id: 1, event: 'queued', data: { a: 1 }, retryMs: 3000 }), true);
    stream.send({ id: 2, data: 'two\nlines' });
    stream.end();
    stream.end();
    assert.equal(stream.send({ data: 'late' }), false);
    assert.equal(
      await answer.text(),
      'retry: 3000\nid: 1\nevent: queued\ndata: {"a":1}\n\nid: 2\ndata: two\ndata: lines\n\n',
    );
    await stream.closed;
    assert.equal(stream.signal.aborted, true);
  });

  it('leaves the connection usable', async () => {
    await start();
    const client = await connect();
    const { stream } = await started.promise;
    stream.send({ data: 'first' });
    stream.end();
    await client.until((seen) => seen.endsWith('0\r\n\r\n'));
    started = Promise.withResolvers();
    client.write('GET /events?last_event_id=7 HTTP/1.1\r\nHost: x\r\n\r\n');
    const second = await started.promise;
    assert.equal(second.lastId, '7');
    second.stream.send({ data: 'second' });
    await client.until((seen) => seen.includes('second'));
  });

  it('answers HEAD with its headers and ends', async () => {
    await start();
    const answer = await fetch(`${server.url}/events`, { method: 'HEAD' });
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get('content-type'), 'text/event-stream; charset=utf-8');
    const { stream } = await started.promise;
    await stream.closed;
    const client = await connect('/events', 'HEAD');
    client.write('HEAD /events HTTP/1.1\r\nHost: x\r\n\r\n');
    const text = await client.until((seen) => seen.match(/\r\n\r\n/g)?.length === 2);
    assert.equal(text.match(/HTTP\/1\.1 200/g)?.length, 2);
  });

  it('shows that it lives', async () => {
    await start({ heartbeatMs: 10 });
    const client = await connect();
    await client.until((seen) => (seen.match(/: keep-alive\n\n/g)?.length ?? 0) >= 2);
  });

  it('says so when the client goes away', async () => {
    await start();
    const client = await connect();
    const { stream } = await started.promise;
    client.socket.destroy();
    await stream.closed;
    assert.equal(stream.signal.aborted, true);
    assert.equal(stream.send({ data: 'x' }), false);
  });

  it('drops a reader that does not read', async () => {
    await start({ maxBufferedBytes: 100_000 });
    const client = await connect();
    client.socket.pause();
    const { stream } = await started.promise;
    let sent = 0;
    // What the system's own buffers take is not ours to bound.
    while (stream.send({ id: ++sent, data: 'x'.repeat(50_000) })) {
      assert.ok(sent < 10_000);
      await new Promise(setImmediate);
    }
    await stream.closed;
    assert.ok(sent > 1);
  });

  it('goes on to its own end when it is work, and the server waits for it', async () => {
    await start({ isWork: true });
    const client = await connect();
    const { stream } = await started.promise;
    const closing = server.close();
    assert.equal(stream.send({ data: 'the last' }), true);
    stream.end();
    await closing;
    assert.match((await client.closed()).text, /data: the last\n\n\r\n0\r\n\r\n$/);
  });

  it('ends when the server closes', async () => {
    await start();
    const client = await connect();
    const { stream } = await started.promise;
    stream.send({ data: 'x' });
    await server.close();
    await stream.closed;
    assert.match((await client.closed()).text, /data: x\n\n\r\n0\r\n\r\n$/);
  });
});

describe('an event', () => {
  it('cannot be split by what it carries', () => {
    assert.equal(
      renderEvent({ id: '1\n2', event: 'a\r\nb', data: 'x\r\ny\rz' }),
      'id: 12\nevent: ab\ndata: x\ndata: y\ndata: z\n\n',
    );
    assert.equal(renderEvent({ data: undefined }), 'data: null\n\n');
  });

  it('is resumed after by header before query', async () => {
    await start();
    await connect('/events?last_event_id=3', 'GET', 'Last-Event-ID: 5\r\n');
    assert.equal((await started.promise).lastId, '5');
  });
});
