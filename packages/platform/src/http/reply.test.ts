import assert from 'node:assert/strict';
import { once } from 'node:events';
import net, { type AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { after, describe, it } from 'node:test';
import { asProblem } from '@parley/kit/problem.ts';
import { fastify } from 'fastify';
import { prepareBodies, readDocument } from './body.ts';
import { prepareMethods, ROUTED_LOOKUP, rewriteUrl, targetOf } from './method.ts';
import { prepareReplies, sendFile } from './reply.ts';

const app = fastify({ rewriteUrl });
prepareMethods(app);
prepareBodies(app);
prepareReplies(app);
app.setErrorHandler((error, _request, reply) => void reply.code(asProblem(error).status).send({}));
app.setNotFoundHandler((request, reply) => void reply.code(404).send({ method: targetOf(request.raw).method }));
app.get('/rest/v1/a', (_request, reply) => void reply.header('etag', 'W/"t1"').send({ a: 1 }));
app.get('/rest/v1/file', (request, reply) => {
  const asAttachment = (request.query as { attachment?: string }).attachment === '1';
  const file = { stream: Readable.from(['abc']), sizeBytes: 3, name: 'ü "x".html', type: 'text/html' };
  return sendFile(reply, file, asAttachment);
});
app.route({
  method: ROUTED_LOOKUP,
  url: '/rest/v1/a',
  handler: async (request) => [await readDocument(request, 'custom')],
});
await app.listen({ host: '127.0.0.1', port: 0 });
after(() => app.close());
const { port } = app.server.address() as AddressInfo;

/** Sends all at once on one connection; what comes back until the server closes it. */
const pipeline = async (...requests: string[]): Promise<string> => {
  const socket = net.connect(port, '127.0.0.1');
  let got = '';
  socket.on('data', (data) => {
    got += data.toString();
  });
  socket.write(requests.join(''));
  await once(socket, 'close');
  return got;
};
const post = (path: string, body = '') =>
  `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
const LAST = 'GET /rest/v1/a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n';

describe('answers', () => {
  it('to !head have the headers of the GET and no body, so that the next answer is read right', async () => {
    const got = await pipeline(
      post('/rest/v1/a!head', '{"x":1}'),
      post('/rest/v1/file!head'),
      post('/rest/v1/none!head'),
      LAST,
    );
    const [first = '', file = '', none = '', last = ''] = got.split(/(?=HTTP\/1\.1 )/);
    assert.match(
      first,
      /^HTTP\/1\.1 200 OK\r\n[\s\S]*etag: W\/"t1"\r\n[\s\S]*content-type: application\/json[\s\S]*content-length: 0\r\n[\s\S]*\r\n\r\n$/i,
    );
    assert.match(file, /^HTTP\/1\.1 200 OK\r\n[\s\S]*content-length: 0\r\n[\s\S]*\r\n\r\n$/i);
    assert.match(none, /^HTTP\/1\.1 404 [\s\S]*content-length: 0\r\n[\s\S]*\r\n\r\n$/i);
    assert.match(last, /\{"a":1\}$/);
  });

  it('come to LOOKUP and to its POST fallback, and to no SEARCH or QUERY', async () => {
    const lookup = post('/rest/v1/a', '"k"').replace('POST', 'LOOKUP');
    const got = await pipeline(
      lookup,
      post('/rest/v1/a!lookup', '"k"'),
      lookup.replace('LOOKUP', 'SEARCH'),
      lookup.replace('LOOKUP', 'QUERY'),
      LAST,
    );
    const bodies = got.split(/HTTP\/1\.1 /).map((answer) => answer.split('\r\n\r\n')[1]);
    assert.deepEqual(bodies.slice(1), ['["k"]', '["k"]', '{"method":"SEARCH"}', '{"method":"QUERY"}', '{"a":1}']);
  });
});

describe('files', () => {
  it('are shown in a sandbox, or saved under their name', async () => {
    const shown = await app.inject('/rest/v1/file');
    assert.equal(shown.headers['content-type'], 'text/html');
    assert.match(String(shown.headers['content-security-policy']), /^sandbox; default-src 'none'/);
    const saved = await app.inject('/rest/v1/file?attachment=1');
    assert.equal(saved.headers['content-type'], 'application/octet-stream');
    assert.equal(
      saved.headers['content-disposition'],
      `attachment; filename="_ _x_.html"; filename*=UTF-8''%C3%BC%20%22x%22.html`,
    );
    assert.equal(saved.body, 'abc');
  });
});
