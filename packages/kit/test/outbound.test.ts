/** Requests to addresses of strangers, against real servers: what is refused, what is dialled, what is bounded. */
import assert from 'node:assert/strict';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, it } from 'node:test';
import { type Address, fetchOutbound, OutboundError, type OutboundFailure, readOutboundUrl } from '../src/outbound.ts';
import { Problem } from '../src/problem.ts';
import { failOnLeaks } from '../src/testing/leaks.ts';
import { createSelfSigned } from '../src/testing/self-signed.ts';

failOnLeaks();
const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

const start = async (handler: RequestListener, tls?: { key: string; cert: string }): Promise<number> => {
  const server = tls ? createTlsServer(tls, handler) : createServer(handler);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
};

const LOOPBACK: Address = { address: '127.0.0.1', family: 4 };
const failsWith = (failure: OutboundFailure) => (thrown: unknown) =>
  thrown instanceof OutboundError && thrown.failure === failure;

describe('an address to call back', () => {
  it('is refused when it can be seen to be no public https address', () => {
    for (const text of [
      'nonsense',
      'ftp://example.org/',
      'http://example.org/',
      'https://user:pw@example.org/',
      'https://example.org:8443/',
      'https://127.0.0.1/',
      'https://0x7f.1/',
      'https://2130706433/',
      'https://[::1]/',
      'https://[::ffff:10.0.0.1]/',
      'https://localhost/',
      'https://api.localhost./',
      `https://example.org/${'a'.repeat(2048)}`,
    ]) {
      assert.throws(
        () => readOutboundUrl(text, [], 'webhook_url'),
        (thrown) => thrown instanceof Problem && thrown.status === 400 && thrown.param === 'webhook_url',
        text,
      );
    }
    assert.equal(readOutboundUrl('https://example.org/hook?x=1', [], 'webhook_url').host, 'example.org');
    assert.equal(readOutboundUrl('https://93.184.216.34/', [], 'webhook_url').host, '93.184.216.34');
  });

  it('may be private and plain when the operator names it, that host and that port only', () => {
    const allowed = ['hooks.internal:8080', '10.0.0.5', '[fd00::1]:9000'];
    for (const text of [
      'http://hooks.internal:8080/x',
      'http://10.0.0.5/',
      'https://10.0.0.5/',
      'http://[fd00::1]:9000/',
    ]) {
      assert.ok(readOutboundUrl(text, allowed, 'webhook_url'));
    }
    for (const text of [
      'http://hooks.internal/',
      'http://hooks.internal:8081/',
      'http://10.0.0.5:81/',
      'http://10.0.0.6/',
    ]) {
      assert.throws(() => readOutboundUrl(text, allowed, 'webhook_url'), text);
    }
  });
});

describe('a name', () => {
  it('is refused when any of its addresses is private, and nothing is dialled', async () => {
    let requests = 0;
    await start(() => requests++);
    for (const addresses of [
      [LOOPBACK],
      [{ address: '93.184.216.34', family: 4 }, LOOPBACK],
      [{ address: '::ffff:127.0.0.1', family: 6 }],
    ]) {
      await assert.rejects(
        fetchOutbound('https://rebind.example/', { resolve: async () => addresses }),
        failsWith('refused'),
      );
    }
    await assert.rejects(fetchOutbound('http://93.184.216.34/'), failsWith('refused'));
    assert.equal(requests, 0);
  });

  it('is resolved once, and the address that was checked is dialled under its own name', async () => {
    let host: string | undefined;
    const port = await start((request, response) => {
      host = request.headers.host;
      response.end('ok');
    });
    let asked = 0;
    const resolve = async (): Promise<Address[]> => {
      asked += 1;
      return [LOOPBACK];
    };
    const allowedHosts = [`hooks.test:${port}`];
    const answer = await fetchOutbound(`http://hooks.test:${port}/x`, { allowedHosts, resolve });
    assert.deepEqual([answer.status, answer.body.toString(), host, asked], [200, 'ok', `hooks.test:${port}`, 1]);
  });

  it('is shown to a TLS server, whose certificate must be good', async () => {
    const tls = createSelfSigned();
    const names: (string | false | null | undefined)[] = [];
    const port = await start((request, response) => {
      names.push((request.socket as { servername?: string }).servername);
      response.end('ok');
    }, tls);
    const allowedHosts = [`localhost:${port}`];
    const resolve = async () => [LOOPBACK];
    const answer = await fetchOutbound(`https://localhost:${port}/`, { allowedHosts, resolve, ca: tls.cert });
    assert.equal(answer.status, 200);
    assert.deepEqual(names, ['localhost']);
    await assert.rejects(fetchOutbound(`https://localhost:${port}/`, { allowedHosts, resolve }), failsWith('network'));
  });
});

describe('an answer', () => {
  const call = async (handler: RequestListener, options: Parameters<typeof fetchOutbound>[1] = {}) => {
    const port = await start(handler);
    return fetchOutbound(`http://127.0.0.1:${port}/`, { ...options, allowedHosts: [`127.0.0.1:${port}`] });
  };

  it('brings status, headers and body of what was sent', async () => {
    const answer = await call(
      async (request, response) => {
        let body = '';
        for await (const chunk of request) body += chunk;
        response.writeHead(422, { 'x-method': request.method ?? '' }).end(body.toUpperCase());
      },
      { method: 'POST', body: 'hello', headers: { 'content-type': 'text/plain' } },
    );
    assert.deepEqual([answer.status, answer.headers['x-method'], answer.body.toString()], [422, 'POST', 'HELLO']);
  });

  it('that points elsewhere is not followed', async () => {
    let requests = 0;
    const answer = await call((_request, response) => {
      requests += 1;
      response.writeHead(302, { location: '/again' }).end();
    });
    assert.deepEqual([answer.status, requests], [302, 1]);
  });

  it('that is too long fails, or is cut when only its beginning matters', async () => {
    const endless: RequestListener = (_request, response) => {
      const more = () => {
        if (!response.destroyed && response.write('x'.repeat(1000))) setImmediate(more);
      };
      response.on('drain', more);
      more();
    };
    await assert.rejects(call(endless, { maxResponseBytes: 5000 }), failsWith('too_large'));
    const cut = await call(endless, { maxResponseBytes: 5000, whenLonger: 'cut' });
    assert.equal(cut.body.length, 5000);
  });

  it('that does not come, or does not end, fails in time', async () => {
    await assert.rejects(
      call(() => undefined, { timeoutMs: 50 }),
      failsWith('timeout'),
    );
    await assert.rejects(
      call((_request, response) => void response.write('begun'), { timeoutMs: 50 }),
      failsWith('timeout'),
    );
    await assert.rejects(
      fetchOutbound('https://slow.example/', { resolve: () => new Promise(() => undefined), timeoutMs: 50 }),
      failsWith('timeout'),
    );
  });

  it('is not waited for when the caller gives up', async () => {
    const controller = new AbortController();
    const entered = call(() => controller.abort(new Error('enough')), { signal: controller.signal });
    await assert.rejects(entered, /enough/);
  });

  it('fails when the connection breaks', async () => {
    await assert.rejects(
      call((request) => request.socket.destroy()),
      failsWith('network'),
    );
    await assert.rejects(
      call((request, response) => {
        response.writeHead(200, { 'content-length': '100' });
        response.write('half', () => request.socket.destroy());
      }),
      failsWith('network'),
    );
    const port = await start(() => undefined);
    servers.at(-1)!.close();
    await assert.rejects(
      fetchOutbound(`http://127.0.0.1:${port}/`, { allowedHosts: [`127.0.0.1:${port}`] }),
      failsWith('network'),
    );
  });
});
