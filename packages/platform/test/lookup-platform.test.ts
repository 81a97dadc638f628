/** LOOKUP, its POST fallback and `!head` among other requests on one connection to the real platform. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { after, before, describe, it } from 'node:test';
import { ADMIN_PASSWORD, type Client, startTestPlatform, type TestPlatform } from './start-test-platform.ts';

describe('LOOKUP on the platform', () => {
  let platform: TestPlatform;
  let admin: Client;
  let id: string;
  before(async () => {
    platform = await startTestPlatform();
    admin = await platform.signIn('admin', ADMIN_PASSWORD);
    id = (await admin.call('GET', 'iam/users/current')).body.id;
  });
  after(() => platform[Symbol.asyncDispose]());

  const request = (method: string, path: string, body = ''): string =>
    `${method} /rest/v1/${path} HTTP/1.1\r\nHost: a\r\nAuthorization: ${admin.headers.authorization}\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  const last = 'GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n';

  /** Status and body of each answer to what is written, part by part, on one connection. */
  const talk = async (...parts: string[]): Promise<[status: number, body: string][]> => {
    const { hostname, port } = new URL(platform.url);
    const socket = net.connect(Number(port), hostname);
    socket.setNoDelay(true);
    let got = '';
    socket.on('data', (data) => {
      got += data.toString();
    });
    for (const part of parts) {
      socket.write(part);
      if (parts.length > 1) await new Promise((resolve) => setTimeout(resolve, 2));
    }
    await once(socket, 'close');
    return got.split(/(?=HTTP\/1\.1 \d)/).map((answer) => {
      const [head = '', body = ''] = answer.split('\r\n\r\n');
      return [Number(head.slice(9, 12)), body];
    });
  };
  const healthy: [number, string] = [200, '{"status":"ok"}'];

  it('is answered in its turn among pipelined requests', async () => {
    const answers = await talk(
      [
        request('GET', `iam/users/${id}?mask=login`),
        request('LOOKUP', 'iam/users', '"ADMIN"'),
        request('POST', 'iam/users!lookup', '"nobody"'),
        request('POST', `iam/users/${id}!head`),
        request('LOOKUP', 'iam/users', '"admin"'),
        request('HEAD', 'iam/users'),
        request('POST', 'user/ext!patch', '{"a":1}'),
        last,
      ].join(''),
    );
    assert.deepEqual(answers, [
      [200, '{"login":"admin"}'],
      [200, `["${id}"]`],
      [404, '{"error_code":1404,"error_message":"Lookup failed"}'],
      [200, ''],
      [200, `["${id}"]`],
      [200, ''],
      [200, '{"a":1}'],
      healthy,
    ]);
  });

  it('may be cut at every byte of its request line', async () => {
    const text = request('LOOKUP', 'iam/users', '"admin"');
    const before = request('GET', 'user/ext');
    const cuts = Array.from({ length: text.indexOf('\r\n') + 2 }, (_, at) => at + 1);
    await Promise.all(
      cuts.map(async (at) => {
        const answers = await talk(before + text.slice(0, at), text.slice(at) + last);
        assert.deepEqual(answers.slice(1), [[200, `["${id}"]`], healthy], `cut at ${at}`);
      }),
    );
  });
});
