import assert from 'node:assert/strict';
import { once } from 'node:events';
import net, { type AddressInfo } from 'node:net';
import { after, describe, it } from 'node:test';
import { asProblem } from '@parley/kit/problem.ts';
import { fastify } from 'fastify';
import { type BodyVerb, openUpload, prepareBodies, readDocument } from './body.ts';

const app = fastify();
prepareBodies(app);
app.setErrorHandler((error, _request, reply) => {
  const { status, message } = asProblem(error);
  void reply.code(status).send({ message });
});
app.route({
  method: ['POST', 'PUT', 'PATCH', 'DELETE'],
  url: '/:verb',
  handler: async (request) => {
    const document = await readDocument(request, (request.params as { verb: BodyVerb }).verb);
    return document === undefined ? { absent: true } : { document };
  },
});
const ended: string[] = [];
app.put('/file', async (request) => {
  const { stream, name, type } = await openUpload(request, 10);
  const pieces: Buffer[] = [];
  try {
    for await (const piece of stream) pieces.push(piece);
  } catch (error) {
    ended.push(asProblem(error).message);
    throw error;
  }
  return { name, type, text: Buffer.concat(pieces).toString() };
});
await app.listen({ host: '127.0.0.1', port: 0 });
after(() => app.close());

const JSON_TYPE = 'application/json';
const FORM = 'application/x-www-form-urlencoded';
const send = async (verb: string, type: string | undefined, payload: string | Buffer, more = {}) => {
  const headers = { ...(type === undefined ? {} : { 'content-type': type }), ...more };
  const { statusCode, body } = await app.inject({
    method: verb === 'file' ? 'PUT' : 'POST',
    url: `/${verb}`,
    headers,
    payload,
  });
  return { status: statusCode, ...JSON.parse(body) };
};
const multipart = (...parts: [head: string, content: string][]) =>
  [
    ...parts.map(([head, content]) => `--B\r\nContent-Disposition: form-data; ${head}\r\n\r\n${content}`),
    '--B--\r\n',
  ].join('\r\n');
const MULTIPART = 'multipart/form-data; boundary=B';

describe('a resource in a body', () => {
  it('comes in four content types where files may come, in two elsewhere', async () => {
    const encoded = `x=1&data=${encodeURIComponent('{"a":"b+c"}')}`;
    const part = multipart(['name="other"', '1'], ['name="data"', '{"a":"b+c"}']);
    for (const verb of ['create', 'replace', 'custom', 'patch', 'delete']) {
      const files = !['patch', 'delete'].includes(verb);
      for (const [type, payload, taken] of [
        [JSON_TYPE, '{"a":"b+c"}', true],
        [undefined, '{"a":"b+c"}', true],
        ['Application/JSON; charset="UTF-8"', '\ufeff{"a":"b+c"}', true],
        [FORM, encoded, true],
        [FORM, '{"a":"b+c"}', true],
        ['application/octet-stream', '{"a":"b+c"}', files],
        [MULTIPART, part, files],
        [MULTIPART, multipart(['name="f"; filename="x.json"', '{"a":"b+c"}']), files],
        ['text/plain', '{"a":"b+c"}', false],
        ['application/json; charset=latin1', '{}', false],
      ] as const) {
        const answer = await send(verb, type, payload);
        if (taken) assert.deepEqual(answer.document, { a: 'b+c' }, `${verb} ${type}`);
        else assert.equal(answer.status, 415, `${verb} ${type}`);
      }
    }
  });

  it('counts as absent when it is empty', async () => {
    for (const payload of ['', ' \n']) assert.equal((await send('create', JSON_TYPE, payload)).absent, true);
    assert.equal((await send('delete', undefined, '')).absent, true);
    assert.equal((await send('create', FORM, 'data=')).absent, true);
  });

  it('may be any JSON value', async () => {
    assert.equal((await send('custom', JSON_TYPE, '"key"')).document, 'key');
    assert.equal((await send('custom', FORM, 'data=5')).document, 5);
  });

  it('is refused with 415 as octets or a part that hold no JSON', async () => {
    assert.equal((await send('create', 'application/octet-stream', '\x00\x01')).status, 415);
    assert.equal((await send('create', MULTIPART, multipart(['name="data"', 'x']))).status, 415);
  });

  it('is refused with 400 when it is malformed', async () => {
    const deep = (n: number) => '['.repeat(n) + ']'.repeat(n);
    const keys = (n: number) => JSON.stringify(Object.fromEntries(Array.from({ length: n }, (_, i) => [`k${i}`, 0])));
    for (const [type, payload] of [
      [JSON_TYPE, '{"a":'],
      [JSON_TYPE, "{'a':1}"],
      [JSON_TYPE, Buffer.from([0x22, 0xff, 0x22])],
      [JSON_TYPE, deep(33)],
      [JSON_TYPE, deep(200_000)],
      [JSON_TYPE, keys(10_001)],
      [JSON_TYPE, '{"__proto__":{"x":1}}'],
      [JSON_TYPE, '{"a":[{"constructor":1}]}'],
      [JSON_TYPE, '{"a":"\\u0000"}'],
      [JSON_TYPE, '{"a":"\\ud800"}'],
      [JSON_TYPE, '{"a":[-1e999]}'],
      [FORM, 'a=b'],
      [FORM, 'data=%7B'],
      [MULTIPART, multipart(['name="a"', '1'], ['name="b"', '2'])],
      [MULTIPART, 'nothing of the sort'],
      ['multipart/form-data', multipart(['name="data"', '1'])],
    ] as const) {
      assert.equal((await send('create', type, payload)).status, 400, `${type} ${String(payload).slice(0, 40)}`);
    }
    assert.equal((await send('create', JSON_TYPE, deep(32))).status, 200);
    assert.equal((await send('create', JSON_TYPE, keys(10_000))).status, 200);
  });

  it('is refused with 400 when its form breaks off within a file', async () => {
    const head = 'Content-Disposition: form-data; name="data"; filename="x.json"';
    for (const form of [
      `--B\r\n${head}\r\nContent-Type: application/json\r\n\r\n{"a":1}`,
      `${multipart(['name="a"; filename="y"', '1']).replace('--B--', '--B')}${head}\r\n\r\n{"a"`,
    ]) {
      assert.equal((await send('create', MULTIPART, form)).status, 400);
      assert.equal((await send('file', MULTIPART, form)).status, 400);
    }
  });

  it('takes the last of two equal keys', async () => {
    assert.deepEqual((await send('create', JSON_TYPE, '{"a":1,"a":2}')).document, { a: 2 });
  });

  it('is refused with 413 over 1 MiB, announced or not', async () => {
    const payload = `"${'x'.repeat(2_097_152)}"`;
    assert.equal((await send('create', JSON_TYPE, payload)).status, 413);
    const { port } = app.server.address() as AddressInfo;
    const body = new ReadableStream({
      start: (controller) => {
        controller.enqueue(Buffer.from(payload));
        controller.close();
      },
    });
    const init = { method: 'POST', body, duplex: 'half', headers: { 'content-type': JSON_TYPE } };
    const answer = await fetch(`http://127.0.0.1:${port}/create`, init as unknown as RequestInit);
    assert.equal(answer.status, 413);
  });

  it('is refused with 415 when it is compressed', async () => {
    assert.equal((await send('create', JSON_TYPE, '{}', { 'content-encoding': 'gzip' })).status, 415);
  });
});

describe('a file in a body', () => {
  it('is streamed from octets or from the first file part', async () => {
    const octets = await send('file', 'application/octet-stream', 'abc');
    assert.deepEqual([octets.text, octets.type], ['abc', 'application/octet-stream']);
    const head = 'name="f"; filename="a b.txt"\r\nContent-Type: text/plain';
    const part = await send('file', MULTIPART, multipart(['name="x"', '1'], [head, 'abc']));
    assert.deepEqual([part.text, part.name, part.type], ['abc', 'a b.txt', 'text/plain']);
  });

  it('is refused when it is too large, absent, or a form', async () => {
    assert.equal((await send('file', 'application/octet-stream', 'x'.repeat(11))).status, 413);
    assert.equal((await send('file', MULTIPART, multipart(['name="f"; filename="a"', 'x'.repeat(11)]))).status, 413);
    assert.equal((await send('file', MULTIPART, multipart(['name="f"', 'x']))).status, 400);
    assert.equal((await send('file', 'application/octet-stream', '')).status, 400);
    assert.equal((await send('file', FORM, 'data=1')).status, 415);
  });

  it('ends its reader when the client goes away half-way', async () => {
    const { port } = app.server.address() as AddressInfo;
    const head = `PUT /file HTTP/1.1\r\nHost: a\r\nContent-Length: 400\r\nContent-Type:`;
    const form = `--B\r\nContent-Disposition: form-data; name="f"; filename="a"\r\n\r\nab`;
    for (const text of [`${head} application/octet-stream\r\n\r\nab`, `${head} ${MULTIPART}\r\n\r\n${form}`]) {
      const before = ended.length;
      const socket = net.connect(port, '127.0.0.1');
      const arrived = once(app.server, 'request');
      socket.write(text);
      await arrived;
      await new Promise((resolve) => setTimeout(resolve, 20));
      socket.destroy();
      while (ended.length === before) await new Promise((resolve) => setTimeout(resolve, 5));
      assert.equal(ended.at(-1), 'body: ended early');
    }
  });
});
