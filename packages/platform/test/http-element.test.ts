/** Elements 120 to 122 of scripts against real servers: what they send, what they refuse, and how a failure is told. */
import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { OutboundError } from '@parley/kit/outbound.ts';
import { createScriptHttp } from '../src/scripts/http.ts';
import { setUpMail } from './mail-set-up.ts';
import { chain, createScripts, type Scripts } from './run-script.ts';
import { ADMIN_PASSWORD, type Client, startTestPlatform, type TestPlatform } from './start-test-platform.ts';
import { startSilentServer, startTestSmtp } from './start-test-smtp.ts';

/** A request as the server saw it. */
type Seen = {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
};

const listen = async (server: Server): Promise<number> => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
};

const stop = async (server: Server): Promise<void> => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
};

/** A server that notes what it is asked and answers as the test says. */
const startPeer = async (answer: RequestListener) => {
  const seen: Seen[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    seen.push({ method: request.method!, url: request.url!, headers: request.headers, body });
    answer(request, response);
  });
  const port = await listen(server);
  return { port, seen, url: `http://127.0.0.1:${port}`, [Symbol.asyncDispose]: () => stop(server) };
};

type Peer = Awaited<ReturnType<typeof startPeer>>;

const route: RequestListener = ({ url = '' }, response) => {
  const [, kind, rest = ''] = /^\/(\w+)\/?(.*)$/.exec(url) ?? [];
  const redirect = (status: number, location: string) => response.writeHead(status, { location }).end();
  if (kind === 'json') {
    response.writeHead(201, { 'content-type': 'application/json; charset=utf-8', 'x-one': '1' });
    return response.end('{"a":[1,2]}');
  }
  if (kind === 'broken') return response.writeHead(200, { 'content-type': 'application/json' }).end('{"a":');
  if (kind === 'fail') return response.writeHead(500).end('no');
  if (kind === 'loop') return redirect(302, '/loop');
  if (kind === 'hops') return Number(rest) > 0 ? redirect(302, `/hops/${Number(rest) - 1}`) : response.end('arrived');
  if (kind === 'away') return redirect(Number(rest.slice(0, 3)), decodeURIComponent(rest.slice(4)));
  if (kind === 'large') return response.end(Buffer.alloc(1_048_577));
  if (kind === 'drip') {
    const timer = setInterval(() => response.write('x'), 20);
    response.on('close', () => clearInterval(timer));
    return response;
  }
  return response.end('plain');
};

const VARIABLES = [
  { name: 'who', type: 1, location: 2 },
  { name: 'went', type: 1, location: 3 },
];
const RESULT = { oType: 102, result: { status: 'status', body: 'body', headers: 'headers' } };
const SAVE = { status: 'status', body: 'body', headers: 'headers' };

describe('a script that asks another service', () => {
  let peer: Peer;
  let other: Peer;
  let hidden: Peer;
  let platform: TestPlatform;
  let scripts: Scripts;
  before(async () => {
    peer = await startPeer(route);
    other = await startPeer(route);
    hidden = await startPeer(route);
    platform = await startTestPlatform(undefined, {
      'platform.scripts.http_hosts': `127.0.0.1:${peer.port},127.0.0.1:${other.port}`,
    });
    scripts = createScripts(await platform.signIn('admin', ADMIN_PASSWORD));
  });
  after(async () => {
    await platform?.[Symbol.asyncDispose]();
    for (const each of [peer, other, hidden]) await each?.[Symbol.asyncDispose]();
  });

  const ask = (http: object, ...more: readonly Record<string, unknown>[]) =>
    scripts.go(chain({ oType: 120, save: SAVE, ...http }, RESULT, ...more), {
      variables: VARIABLES,
      input: { who: 'Ann & Lee' },
    });
  /** The run ended here, for this reason. */
  const failsBy = async (http: object, reason: string, message: RegExp): Promise<void> => {
    const { ended, error } = await ask(http);
    assert.deepEqual([ended, error.oId, error.element, error.step, error.reason], ['error', 2, 'http', 2, reason]);
    assert.match(error.message, message);
  };

  it('gets status, headers and body, JSON as its value', async () => {
    const { values } = await ask({ url: `${peer.url}/json` });
    assert.deepEqual([values.status, values.body], [201, { a: [1, 2] }]);
    assert.equal(values.headers['x-one'], '1');
    assert.deepEqual((await ask({ url: `${peer.url}/broken` })).values.body, '{"a":');
    const failed = await ask({ url: `${peer.url}/fail` });
    assert.deepEqual([failed.ended, failed.values.status, failed.values.body], ['return', 500, 'no']);
  });

  it('sends what the templates give', async () => {
    await ask({
      method: 'POST',
      url: `${peer.url}/x?who={{encodeURIComponent(who)}}`,
      headers: { 'X-Who': '{{who}}', 'x-none': null },
      body: { who: '{{who}}', n: '{{1 + 1}}' },
    });
    const { method, url, headers, body } = peer.seen.at(-1)!;
    assert.deepEqual([method, url, body], ['POST', '/x?who=Ann%20%26%20Lee', '{"who":"Ann & Lee","n":2}']);
    assert.deepEqual(
      [headers['x-who'], headers['content-type'], headers['x-none']],
      ['Ann & Lee', 'application/json', undefined],
    );
    await ask({ method: 'PUT', url: `${peer.url}/x`, headers: { 'content-type': 'text/csv' }, body: 'a;b' });
    assert.deepEqual([peer.seen.at(-1)!.body, peer.seen.at(-1)!.headers['content-type']], ['a;b', 'text/csv']);
  });

  it('does not reach private addresses, however they are written or named', async () => {
    const { port } = hidden;
    const refused = [
      hidden.url,
      `http://localhost:${port}/`,
      `https://127.0.0.1:${port}/`,
      'https://127.0.0.1/',
      'https://2130706433/',
      'https://[::1]/',
      'https://[::ffff:127.0.0.1]/',
      'https://169.254.169.254/latest/meta-data',
      'https://localhost/',
      `http://127.0.0.1.:${port}/`,
      'file:///etc/passwd',
      'nonsense',
    ];
    for (const url of refused) await failsBy({ url }, 'outbound', /^refused: /);
    assert.equal(hidden.seen.length, 0);
  });

  it('does not follow a redirect to one', async () => {
    const target = encodeURIComponent(`${hidden.url}/secret`);
    for (const status of [301, 302, 303, 307, 308]) {
      await failsBy({ url: `${peer.url}/away/${status}/${target}` }, 'outbound', /^refused: /);
    }
    assert.equal(hidden.seen.length, 0);
  });

  it('follows three redirects and no more', async () => {
    const { values } = await ask({ url: `${peer.url}/hops/3` });
    assert.deepEqual([values.status, values.body], [200, 'arrived']);
    await failsBy({ url: `${peer.url}/hops/4` }, 'outbound', /redirects/);
    await failsBy({ url: `${peer.url}/loop` }, 'outbound', /redirects/);
  });

  it('tells another host no credentials, and repeats a body only where it is asked to', async () => {
    const headers = { authorization: 'Bearer secret', cookie: 'a=b', 'x-kept': 'yes' };
    const target = encodeURIComponent(`${other.url}/x`);
    const post = { method: 'POST', headers, body: 'data' };
    await ask({ ...post, url: `${peer.url}/away/302/${target}` });
    const moved = other.seen.at(-1)!;
    assert.deepEqual([moved.method, moved.body, moved.headers['x-kept']], ['GET', '', 'yes']);
    assert.deepEqual([moved.headers.authorization, moved.headers.cookie], [undefined, undefined]);
    await ask({ ...post, url: `${peer.url}/away/307/${target}` });
    const repeated = other.seen.at(-1)!;
    assert.deepEqual([repeated.method, repeated.body, repeated.headers.authorization], ['POST', 'data', undefined]);
    await ask({ ...post, url: `${peer.url}/away/307/%2Fx` });
    assert.equal(peer.seen.at(-1)!.headers.authorization, 'Bearer secret');
  });

  it('is bounded in time by a peer that is slow or never ends, and in size', async () => {
    await failsBy({ url: `${peer.url}/drip`, timeout_ms: 200 }, 'outbound', /^timeout: /);
    await failsBy({ url: `${peer.url}/large` }, 'outbound', /^too_large: /);
    await using silent = await startSilentServer();
    const http = createScriptHttp({ allowedHosts: [`127.0.0.1:${silent.port}`] });
    const request = { method: 'GET', url: `http://127.0.0.1:${silent.port}/`, headers: {}, timeoutMs: 200 };
    await assert.rejects(
      http.request({ ...request, signal: AbortSignal.any([]) }),
      (thrown) => thrown instanceof OutboundError && thrown.failure === 'timeout',
    );
  });

  it('goes another way on a failure where it has one, and leaves a line in the log', async () => {
    const ended = await ask(
      { url: `${peer.url}/drip`, timeout_ms: 100, transfer_error: 4 },
      { oType: 110, assign: [{ name: 'went', expr: '"elsewhere"' }] },
    );
    assert.deepEqual([ended.ended, ended.values.went], ['return', 'elsewhere']);
    assert.ok(JSON.stringify(ended.log).includes('timeout: '));
  });

  it('cannot speak for somebody else on the wire', async () => {
    for (const headers of [
      { host: 'evil.example' },
      { 'Transfer-Encoding': 'chunked' },
      { 'x-a': 'b\r\nx-injected: yes' },
      { 'x a': 'b' },
      { 'x-a': '€' },
    ]) {
      await failsBy({ url: `${peer.url}/x`, headers }, 'outbound', /header/);
    }
    await failsBy({ url: `${peer.url}/x`, headers: '{{[1]}}' }, 'element', /object/);
    await failsBy({ url: `http://user:pass@127.0.0.1:${peer.port}/` }, 'outbound', /user name/);
    await failsBy({ url: `${peer.url}/${'a'.repeat(2048)}` }, 'element', /url/);
  });

  it('is judged by the address its name leads to, after a redirect too', async () => {
    const addresses: Record<string, string> = { 'public.example': '93.184.216.34', 'inside.example': '10.0.0.1' };
    const asked: string[] = [];
    const resolve = async (host: string) => {
      asked.push(host);
      return [{ address: addresses[host]!, family: 4 }];
    };
    const http = createScriptHttp({ allowedHosts: [`127.0.0.1:${peer.port}`], resolve });
    const target = encodeURIComponent('https://inside.example/');
    for (const url of ['https://inside.example/', `${peer.url}/away/302/${target}`]) {
      const request = { method: 'GET', url, headers: {}, timeoutMs: 1000, signal: AbortSignal.any([]) };
      await assert.rejects(
        http.request(request),
        (thrown) => thrown instanceof OutboundError && thrown.failure === 'refused',
      );
    }
    assert.deepEqual(asked, ['inside.example', 'inside.example']);
  });
});

describe('a script that sends a mail', () => {
  it('has it queued for each address, by the account of its domain', async () => {
    await using smtp = await startTestSmtp();
    await using platform = await startTestPlatform();
    const admin = await platform.signIn('admin', ADMIN_PASSWORD);
    const scripts = createScripts(admin);
    const variables = [{ name: 'name', type: 1, location: 2 }];
    const send = (mail: object, input: object = { name: 'Ann' }) =>
      scripts.go(chain({ oType: 121, subject: 'Hi {{name}}', text: 'Code for {{name}}', ...mail }), {
        variables,
        input,
      });
    const failsBy = async (mail: object, message: RegExp, reason = 'element'): Promise<void> => {
      const { error } = await send(mail);
      assert.deepEqual([error.oId, error.element, error.reason], [2, 'mail', reason]);
      assert.match(error.message, message);
    };
    await failsBy({ to: 'a@example.org' }, /no mail server/);
    await setUpMail(admin, smtp);
    const { ended } = await send({ to: 'a@example.org, b@example.org', html: '<b>{{name}}</b>' });
    assert.equal(ended, 'return');
    await smtp.mail(2);
    assert.deepEqual(smtp.received.flatMap(({ to }) => to).sort(), ['a@example.org', 'b@example.org']);
    const [{ mail }] = smtp.received as [(typeof smtp.received)[number]];
    assert.deepEqual([mail.subject, mail.text?.trim(), mail.html?.trim()], ['Hi Ann', 'Code for Ann', '<b>Ann</b>']);
    await failsBy({ to: '{{""}}' }, /1 to 10/);
    await failsBy({ to: Array.from({ length: 11 }, (_, i) => `${i}@example.org`) }, /1 to 10/);
    await failsBy({ to: 'a@example.org\r\nRCPT TO:<b@example.org>' }, /no mail address/);
    await failsBy({ to: 'Ann <a@example.org>' }, /no mail address/);
    await failsBy({ to: 'a@example.org', account: 'unknown' }, /no mail server/);
    await failsBy({ to: 'a@example.org', text: 'x'.repeat(65_537) }, /text is longer/, 'size');
  });
});

describe('a script that sends an SMS', () => {
  let peer: Peer;
  let platform: TestPlatform;
  let admin: Client;
  let scripts: Scripts;
  before(async () => {
    peer = await startPeer(route);
    platform = await startTestPlatform(undefined, { 'platform.scripts.http_hosts': `127.0.0.1:${peer.port}` });
    admin = await platform.signIn('admin', ADMIN_PASSWORD);
    scripts = createScripts(admin);
  });
  after(async () => {
    await platform?.[Symbol.asyncDispose]();
    await peer?.[Symbol.asyncDispose]();
  });
  const send = (to: string, text: string) => scripts.go(chain({ oType: 122, to, text }));
  const set = async (value: object): Promise<void> => {
    const answer = await admin.call('PATCH', 'domain/settings/sms_http', { body: { value } });
    assert.equal(answer.status, 200, answer.text);
  };
  const TEXT = 'Code "1&2"\n3';

  it('says what is missing', async () => {
    const { error } = await send('+491701234567', TEXT);
    assert.deepEqual([error.oId, error.element, error.reason], [2, 'sms', 'element']);
    assert.match(error.message, /sms_http/);
    for (const [to, text] of [
      ['nobody', 'x'],
      ['+4917', '{{""}}'],
      ['+4917', 'x'.repeat(1001)],
    ] as const) {
      assert.equal((await send(to, text)).error.reason, 'element');
    }
  });

  it('asks the service as the setting says, each place in its own encoding', async () => {
    await set({ url: `${peer.url}/send?to={to}&text={text}` });
    assert.equal((await send('+49 170 123-45.67', TEXT)).ended, 'return');
    const got = peer.seen.at(-1)!;
    assert.deepEqual([got.method, got.url], ['GET', '/send?to=%2B491701234567&text=Code%20%221%262%22%0A3']);

    await set({
      url: `${peer.url}/send`,
      method: null,
      headers: { 'X-Key': 'k' },
      body: { to: '{to}', parts: ['{text}'] },
    });
    await send('+491701234567', TEXT);
    const posted = peer.seen.at(-1)!;
    assert.deepEqual(JSON.parse(posted.body), { to: '+491701234567', parts: [TEXT] });
    assert.deepEqual(
      [posted.method, posted.headers['x-key'], posted.headers['content-type']],
      ['POST', 'k', 'application/json'],
    );

    await set({ headers: null, body: 'to={to}&text={text}' });
    await send('+491701234567', TEXT);
    assert.deepEqual(
      [...new URLSearchParams(peer.seen.at(-1)!.body)],
      [
        ['to', '+491701234567'],
        ['text', TEXT],
      ],
    );
    await set({ headers: { 'content-type': 'application/json' }, body: '{"text":"{text}"}' });
    await send('+491701234567', TEXT);
    assert.deepEqual(JSON.parse(peer.seen.at(-1)!.body), { text: TEXT });
  });

  it('tells of a refusal', async () => {
    await set({ url: `${peer.url}/fail` });
    const { error } = await send('+491701234567', 'x');
    assert.deepEqual([error.oId, error.element, error.reason], [2, 'sms', 'outbound']);
    assert.match(error.message, /500/);
  });
});
