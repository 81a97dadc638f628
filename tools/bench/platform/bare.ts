/**
 * The ceiling: `node:http` answering the very bytes that Parley answers, from memory, with no store, no routes and no rights.
 * `argv[2]`: a JSON file `{ token, headers, answers: { "METHOD /path": body } }`.
 */
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

export type BareAnswers = {
  readonly token: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Bodies by path and query. */
  readonly answers: Readonly<Record<string, string>>;
};

const { token, headers, answers }: BareAnswers = JSON.parse(readFileSync(process.argv[2]!, 'utf8'));
const known = new Map(Object.entries(answers).map(([path, body]) => [path, Buffer.from(body)]));
const expected = `Bearer ${token}`;

const readBody = async (request: IncomingMessage): Promise<unknown> => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString());
};

const server = createServer((request, response) => {
  const body = known.get(request.url ?? '');
  const answer = (): void => {
    if (body === undefined || request.headers.authorization !== expected) {
      response.writeHead(body === undefined ? 404 : 401).end();
      return;
    }
    response.writeHead(200, { ...headers, 'content-length': body.length });
    response.end(body);
  };
  if (request.method === 'PATCH') void readBody(request).then(answer);
  else answer();
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => {
  process.send?.({ type: 'ready', url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
});
process.on('message', () => process.exit());
process.on('disconnect', () => process.exit());
