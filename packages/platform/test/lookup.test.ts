/**
 * LOOKUP on the wire. Most cases send the same bytes to two servers: ours with LOOKUP, and a plain Node server with
 * LOOKUP replaced by QUERY (which Node knows). The answers, and what the handlers saw, must be the same.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import tls from 'node:tls';
import { createSelfSigned } from '@parley/kit/testing/self-signed.ts';
import { acceptMethod, checkExtraMethod } from '../src/http/extra-method.ts';

const certificate = createSelfSigned();
const handler: http.RequestListener = async (request, response) => {
  const body: Buffer[] = [];
  try {
    for await (const piece of request) body.push(piece);
  } catch {
    return;
  }
  if (request.url!.startsWith('/slow')) await sleep(150);
  if (request.url!.startsWith('/big')) {
    response.end(Buffer.alloc(2e6, 'x'));
    return;
  }
  response.setHeader('x-method', request.method!);
  response.end(`${request.method} ${request.url} [${Buffer.concat(body)}]`);
};

type Listening = http.Server & { port: number };
const all: Listening[] = [];
const start = async (
  extra: boolean,
  options: https.ServerOptions = {},
  listener = handler,
  secure = false,
): Promise<Listening> => {
  const server = (secure
    ? https.createServer({ ...certificate, ...options }, listener)
    : http.createServer(options, listener)) as unknown as Listening;
  if (extra) acceptMethod(server, 'LOOKUP');
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  server.port = (server.address() as net.AddressInfo).port;
  all.push(server);
  return server;
};
const ours = await start(true);
const plain = await start(false);
const oursTls = await start(true, {}, handler, true);
const plainTls = await start(false, {}, handler, true);
after(() => {
  for (const server of all) {
    server.close();
    server.closeAllConnections();
  }
});

type Part = string | Buffer;
type Manner = { gap?: number; wait?: number; end?: boolean; until?: number; secure?: boolean };

const count = (text: string, what: RegExp) => text.match(what)?.length ?? 0;
const answersIn = (text: string) => count(text, /HTTP\/1\.1 (?!100)/g);

/** Writes the parts `gap` ms apart; answers all that came back until `until` answers, the end, or `wait` ms. */
const talk = async (server: Listening, parts: Part[], manner: Manner = {}): Promise<string> => {
  const { gap = 5, wait = 3000, end = false, until = 0, secure = false } = manner;
  const at = { port: server.port, host: '127.0.0.1' };
  const socket = secure ? tls.connect({ ...at, rejectUnauthorized: false }) : net.connect(at);
  await once(socket, secure ? 'secureConnect' : 'connect');
  socket.on('error', () => {});
  socket.setNoDelay(true);
  let got = '';
  const { promise, resolve } = Promise.withResolvers<void>();
  socket.on('data', (data) => {
    got += data.toString('latin1');
    if (until && answersIn(got) >= until && /\]$|\r\n\r\n$/.test(got)) resolve();
  });
  socket.on('close', () => {
    got += '<closed>';
    resolve();
  });
  for (const [i, part] of parts.entries()) {
    if (i && gap) await sleep(gap);
    if (!socket.destroyed && socket.writable) socket.write(part);
  }
  if (end) socket.end();
  const stop = new AbortController();
  await Promise.race([promise, sleep(wait, 0, { signal: stop.signal }).catch(() => {})]);
  stop.abort();
  socket.destroy();
  return got.replace(/Date: .*\r\n/g, '');
};

const asPlain = (parts: Part[]): Part[] =>
  parts.map((part) =>
    typeof part === 'string'
      ? part.replaceAll('LOOKUP', 'QUERY')
      : Buffer.from(part.toString('latin1').replaceAll('LOOKUP', 'QUERY'), 'latin1'),
  );
const levelled = (text: string) => text.replaceAll('LOOKUP', 'QUERY').replace(/Content-Length: \d+/g, 'CL');

/** `reference`: the parts for the plain server when they are not just the same with QUERY. */
const same = async (parts: Part[], manner: Manner = {}, reference = asPlain(parts)): Promise<string> => {
  const [a, b] = await Promise.all([
    talk(manner.secure ? oursTls : ours, parts, manner),
    talk(manner.secure ? plainTls : plain, reference, manner),
  ]);
  assert.equal(levelled(a), levelled(b));
  return a;
};
const GET = (url: string) => `GET ${url} HTTP/1.1\r\nHost: a\r\n\r\n`;
const SIZED = (url: string, body = '"x"') =>
  `LOOKUP ${url} HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
const CHUNKED = (url: string) =>
  `LOOKUP ${url} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n"x"\r\n0\r\n\r\n`;

test('the self-check finds nothing missing', async () => {
  assert.equal(await checkExtraMethod(), undefined);
});

test('curl alone, and GET LOOKUP GET LOOKUP on one connection', async () => {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  execFile('curl', ['--version'], (error) => resolve(!error));
  if (!(await promise)) return;
  const url = `http://127.0.0.1:${ours.port}`;
  const run = (...args: string[]) =>
    new Promise<string>((ok) => execFile('curl', ['-s', '--noproxy', '*', ...args], (_error, out) => ok(out)));
  assert.equal(await run('-X', 'LOOKUP', '-d', '"x"', `${url}/a`), 'LOOKUP /a ["x"]');
  const w = ['-s', '-w', ' %{num_connects};'];
  const lookup = ['-X', 'LOOKUP', '-d'];
  const next = ['--next', ...w];
  assert.equal(
    await run(
      ...w,
      `${url}/1`,
      ...next,
      ...lookup,
      '"x"',
      `${url}/2`,
      ...next,
      `${url}/3`,
      ...next,
      ...lookup,
      '"y"',
      `${url}/4`,
    ),
    'GET /1 [] 1;LOOKUP /2 ["x"] 0;GET /3 [] 0;LOOKUP /4 ["y"] 0;',
  );
  const long = 'z'.repeat(2000);
  assert.equal(await run(...lookup, long, '-H', 'Expect: 100-continue', `${url}/e`), `LOOKUP /e [${long}]`);
  assert.match(await run('-k', ...lookup, '"x"', `https://127.0.0.1:${oursTls.port}/t`), /LOOKUP \/t \["x"\]/);
});

for (const secure of [false, true]) {
  test(`four in turn, four pipelined (TLS ${secure})`, async () => {
    const four = [GET('/1'), SIZED('/2'), GET('/3'), CHUNKED('/4')];
    assert.equal(count(await same(four, { gap: 60, until: 4, secure }), /200 OK/g), 4);
    const answer = await same([four.join('')], { until: 4, secure });
    assert.match(answer, /GET \/1 \[\][\s\S]*LOOKUP \/2 \["x"\][\s\S]*GET \/3 \[\][\s\S]*LOOKUP \/4 \["x"\]$/);
    await same([GET('/slow1') + SIZED('/slow2') + GET('/3') + SIZED('/4')], { until: 4, secure });
    await same([GET('/slow1'), SIZED('/slow2'), GET('/3'), CHUNKED('/4')], { gap: 20, until: 4, secure });
  });

  test(`split at every byte (TLS ${secure})`, async () => {
    const cases: [string, string][] = [
      ['', SIZED('/s')],
      ['', CHUNKED('/s')],
      [GET('/slow'), SIZED('/s')],
      [SIZED('/p', 'body LO'), CHUNKED('/s')],
      ['\r\n', SIZED('/s')],
    ];
    for (const [prefix, message] of cases) {
      const text = prefix + message;
      const n = prefix && prefix !== '\r\n' ? 2 : 1;
      const cutAt = async (_: unknown, i: number) => {
        const parts = [text.slice(0, i + 1), text.slice(i + 1) + GET('/after')];
        const answer = await talk(secure ? oursTls : ours, parts, { until: n + 1, secure, wait: 8000 });
        assert.equal(count(answer, /200 OK/g), n + 1, `at ${i + 1}: ${answer}`);
        assert.match(answer, /LOOKUP \/s \["x"\][\s\S]*GET \/after \[\]$/);
      };
      await Promise.all(Array.from({ length: text.length - 1 }, cutAt));
    }
    const bytes = [...(GET('/1') + SIZED('/2') + CHUNKED('/3') + GET('/4'))];
    await same(bytes, { gap: 1, until: 4, secure }, [...asPlain([bytes.join('')]).join('')]);
  });
}

test('other names are refused as by Node', async () => {
  const names = [
    'LOOKUPX',
    'lookup',
    'LOOKU',
    'LOOKUPLOOKUP',
    'XLOOKUP',
    'UNLOOKUP',
    'OOKUP',
    'LOOKUP\t',
    'LOOKUP\0',
    ' LOOKUP',
  ];
  for (const name of ['J'.repeat(1024), ...names]) {
    const text = `${name} / HTTP/1.1\r\nHost: a\r\n\r\n`;
    const ok = SIZED('/ok', 'endsL');
    assert.match(await same([text], {}, [text]), /400 Bad Request/, name);
    assert.match(await same([ok + text], {}, [ok.replace('LOOKUP', 'QUERY') + text]), /400 Bad Request/, name);
    for (let i = 1; i < Math.min(text.length, 9); i++) {
      const halves = [text.slice(0, i), text.slice(i)];
      assert.match(await same(halves, {}, halves), /400 Bad Request/, `${name} at ${i}`);
    }
  }
  assert.match(await talk(ours, ['LOO'], { end: true }), /400 Bad Request/);
  assert.match(await talk(ours, [`${SIZED('/x')}LOOKUP`], { end: true }), /400 Bad Request/);
  const query = 'QUERY / HTTP/1.1\r\nHost: a\r\n\r\n';
  assert.match(await talk(ours, [query], { until: 1 }), /QUERY \/ \[\]/); // a true QUERY stays one
});

test('heads that Node refuses: framing conflicts and limits', async () => {
  const head = (rest: string) => `LOOKUP / HTTP/1.1\r\nHost: a\r\n${rest}`;
  const heads = [
    head('Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'),
    head('Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n'),
    head('Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd'),
    head('Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n'),
    head('Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n'),
    head('Content-Length: +3\r\n\r\nabc'),
    head('Content-Length: 3, 3\r\n\r\nabc'),
    head('Content-Length : 3\r\n\r\nabc'),
    head('X: a\n\r\n'),
    head('Transfer-Encoding: chunked\r\n\r\nzz\r\n'),
    head('Transfer-Encoding: chunked\r\n\r\n3\nabc\r\n0\r\n\r\n'),
    head(' folded: 1\r\n\r\n'),
    head(`X: ${'y'.repeat(20000)}\r\n\r\n`),
    'LOOKUP / HTTP/1.1\r\n\r\n',
    'LOOKUP / HTTP/9.9\r\n\r\n',
    'LOOKUP  HTTP/1.1\r\n\r\n',
    'LOOKUP / HTTP/1.0\r\n\r\n',
    head('Connection: close\r\n\r\n') + GET('/never'),
    head('Expect: what\r\n\r\n'),
  ];
  await Promise.all(heads.flatMap((text) => ['', GET('/1')].map((before) => same([before + text], { wait: 250 }))));
});

test('the word elsewhere is left alone', async () => {
  const word = 'LOOKUP / HTTP/1.1\r\nHost: a\r\n\r\n';
  const post = (body: string, extra = '') =>
    `POST /b HTTP/1.1\r\nHost: a\r\n${extra}Content-Length: ${body.length}\r\n\r\n${body}`;
  const chunked = `POST /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n${word.length.toString(16)}\r\n${word}\r\n0\r\nT: LOOKUP x\r\n\r\n`;
  const cases: [string, number][] = [
    [post(`${word}${word}LOOKUP LOOKU`) + SIZED('/2'), 2],
    [chunked + SIZED('/2'), 2],
    [`GET /LOOKUP HTTP/1.1\r\nHost: a\r\nX: LOOKUP y LOOKUP z\r\nLOOKUP: 1\r\n\r\n${SIZED('/2', 'LOOKUP ')}`, 2],
  ];
  for (const [text, n] of cases) {
    const cuts = Array.from({ length: 40 }, (_, k) => 1 + ((k * 37) % (text.length - 1)));
    for (const parts of [[text], ...cuts.map((i) => [text.slice(0, i), text.slice(i)]), [...text]]) {
      const answer = await talk(ours, parts, { until: n, gap: parts.length > 2 ? 0 : 5 });
      assert.equal(count(answer, /200 OK/g), n, answer);
      assert.equal(count(answer, /x-method: LOOKUP/g), 1);
      assert.doesNotMatch(answer, /QUERY/);
    }
  }
  // Node loses what follows, in the same packet, a request whose upgrade it declines; and so do we.
  const upgrade = 'Connection: upgrade\r\nUpgrade: x\r\n';
  for (const head of [post('LOOKUP ab', upgrade), post('', upgrade), `GET /u HTTP/1.1\r\nHost: a\r\n${upgrade}\r\n`]) {
    const rest = 'GET /3 HTTP/1.1\r\nHost: a\r\nX: LOOKUP /y HTTP/1.1\r\n\r\n';
    const reference = (text: string) => text.replace('LOOKUP /4', 'QUERY /4');
    const four = SIZED('/4');
    for (const parts of [
      [head + rest + four],
      [head, rest + four],
      [head, four],
      [head + rest.slice(0, 40), rest.slice(40) + four],
      [four + head, four],
    ]) {
      await same(parts, { wait: 250, gap: 60 }, parts.map(reference));
    }
  }
});

test('random pipelines, randomly cut, against plain Node', async () => {
  let seed = 7; // mulberry32
  const random = (n: number) => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % n;
  };
  const other = (method: string) => `${method} /o HTTP/1.1\r\nHost: a\r\n\r\n`;
  const pool = [
    ...[GET('/g'), SIZED('/c'), CHUNKED('/t'), SIZED('/d', ''), SIZED('/e', 'L'.repeat(50)), SIZED('/slow')],
    ...[other('HEAD'), `\r\n${SIZED('/n')}`, other('LOCK'), other('LINK')],
  ];
  // One extra request that closes, so that both runs end by themselves.
  const last = 'GET /last HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n';
  const one = async () => {
    const messages = Array.from({ length: 1 + random(8) }, () => pool[random(pool.length)]!);
    const text = messages.join('');
    const parts: string[] = [];
    const most = [6, 40, 200][random(3)]!;
    for (let i = 0; i < text.length; i += parts.at(-1)!.length) parts.push(text.slice(i, i + 1 + random(most)));
    const [a, b] = await Promise.all([
      talk(ours, [...parts, last], { gap: 1, wait: 6000 }),
      talk(plain, [text.replaceAll('LOOKUP', 'QUERY') + last], { wait: 6000 }),
    ]);
    assert.equal(levelled(a), levelled(b));
    assert.match(a, /<closed>$/);
    assert.equal(count(a, /200 OK/g), messages.length + 1);
  };
  for (let round = 0; round < 10; round++) await Promise.all(Array.from({ length: 20 }, one));
});

test('back-pressure: large answers to many pipelined requests, a slow reader; a slow body consumer', async () => {
  const socket = net.connect(ours.port, '127.0.0.1');
  let got = 0;
  let tail = '';
  const { promise, resolve } = Promise.withResolvers<void>();
  socket.write((GET('/big1') + SIZED('/big2', 'LOOKUP ')).repeat(20) + SIZED('/end', 'Z'));
  await sleep(300);
  socket.on('data', (data) => {
    got += data.length;
    tail = (tail + data.toString('latin1')).slice(-300);
    if (tail.endsWith('[Z]')) resolve();
  });
  await promise;
  assert.ok(got > 80e6);
  assert.match(tail, /LOOKUP \/end \[Z\]$/);
  socket.destroy();
  const slow = await start(true, {}, async (request, response) => {
    let n = 0;
    for await (const piece of request) {
      n += piece.length;
      if (n % 7 === 0) await sleep(1);
    }
    response.end(`${request.method} ${n}]`);
  });
  const body = 'LOOKUP L'.repeat(100_000);
  const answer = await talk(slow, [SIZED('/u', body) + SIZED('/v', 'LOOKUP ')], { until: 2, wait: 30_000 });
  assert.match(answer, /LOOKUP 800000\][\s\S]*LOOKUP 7\]$/);
});

test('upgrade and CONNECT with bytes behind the head in the same packet', async () => {
  const server = await start(true);
  for (const event of ['upgrade', 'connect']) {
    server.on(event, (_request, socket: net.Socket, head: Buffer) => {
      if (head.length) socket.unshift(head);
      socket.write('HTTP/1.1 101 S\r\n\r\n');
      socket.on('data', (data) => socket.write(data));
    });
  }
  const upgrade = 'GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n';
  for (const text of [upgrade, 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n']) {
    for (const before of ['', SIZED('/1')]) {
      const parts = [before, `${text}one LOOKUP two LOOKUP LO`, 'OKUP three'].filter(Boolean);
      const answer = await talk(server, parts, { wait: 200, gap: 60 });
      assert.match(answer, /101 S\r\n\r\none LOOKUP two LOOKUP LOOKUP three$/);
      assert.equal(count(answer, /LOOKUP \/1 /g), before ? 1 : 0);
    }
  }
});

test('time-outs as Node: head, body, keep-alive, half a method', async () => {
  const options = {
    headersTimeout: 300,
    requestTimeout: 600,
    connectionsCheckingInterval: 50,
    keepAliveTimeout: 400,
    keepAliveTimeoutBuffer: 0,
  };
  const [a, b] = await Promise.all([start(true, options), start(false, options)]);
  const half = (text: string) =>
    asPlain([text])[0]!
      .toString()
      .replace(/LOOK?$|L$/, 'QUER');
  const body = 'LOOKUP / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nab';
  const texts = ['LOOKUP / HTTP/1.1\r\nHo', 'LOOKUP ', 'LOO', 'L', `${GET('/1')}LOOKUP / HTTP/1.1\r\nHo`, body];
  for (const text of [...texts, SIZED('/1'), GET('/1') + SIZED('/2'), `${GET('/1')}LOOK`]) {
    const [x, y] = await Promise.all([talk(a, [text]), talk(b, [half(text)])]);
    // There: idle, closed by the keep-alive timer with no 408.
    if (!text.endsWith('LOOK')) assert.equal(levelled(x), levelled(y), text);
    assert.match(x, /<closed>$/);
  }
  // Dripping bytes does not extend the head's time.
  const dripped = await talk(a, [...'LOOKUP / HTTP/1.1\r\nHost: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'], {
    gap: 30,
    wait: 50,
  });
  assert.match(dripped, /408 Request Timeout/);
});

test('client aborts; close() ends by itself; nothing left', async () => {
  const server = await start(true, { keepAliveTimeout: 300, keepAliveTimeoutBuffer: 0 });
  const open = () => new Promise<number>((ok) => server.getConnections((_error, n) => ok(n)));
  const cut = 'LOOKUP / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nab';
  const slow = `${GET('/slow') + SIZED('/slow')}LOO`;
  for (const text of ['L', 'LOOK', 'LOOKUP /', cut, SIZED('/slow'), slow, GET('/big') + SIZED('/big')]) {
    for (const how of ['destroy', 'resetAndDestroy'] as const) {
      const socket = net.connect(server.port, '127.0.0.1');
      socket.on('error', () => {});
      await once(socket, 'connect');
      socket.write(text);
      await sleep(20);
      socket[how]();
    }
  }
  while ((await open()) > 0) await sleep(20);
  assert.match(await talk(server, [SIZED('/alive')], { until: 1 }), /LOOKUP \/alive/);
  const busy = talk(server, [GET('/1') + SIZED('/slow')], {});
  const idle = talk(server, [SIZED('/2')], {});
  await sleep(60);
  server.close();
  await once(server, 'close');
  assert.match(await busy, /LOOKUP \/slow \["x"\]<closed>$/);
  assert.match(await idle, /LOOKUP \/2 \["x"\]<closed>$/);
});
