/** Answers what Node's parser refuses before there is a request: broken heads, heads too large, heads too late. */
import { type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { ANSWER_HEADERS } from './answer-headers.ts';
import { linger } from './body.ts';
import { type ErrorParts, type HttpFault, httpProblem, pathOf, renderSafely, toBody } from './errors.ts';
import { createRequestId } from './request-id.ts';

/** What Node adds to the error and the connection. */
type ParseError = Error & { code?: string; rawPacket?: unknown };
type Running = Pick<ServerResponse, 'headersSent' | 'once' | 'req'>;
type HttpSocket = Socket & { _httpMessage?: Running | null };

/** How much of the refused bytes is looked at for the request line. */
const MAX_REQUEST_LINE_BYTES = 4096;

/** Fastify's `clientErrorHandler`. */
export const answerParseErrors = (parts: ErrorParts, maxUriBytes: number) => {
  /** Connections that end with the answer they wait for; each further piece of theirs is refused again. */
  const ending = new WeakSet<Socket>();
  return (error: ParseError, socket: Socket): void => {
    if (ending.has(socket)) return;
    const { _httpMessage: running } = socket as HttpSocket;
    const isGone = error.code === 'ECONNRESET' || socket.destroyed || !socket.writable;
    // It came behind a whole request: our 400 would be taken for that one's answer.
    if (!isGone && running?.req.complete) {
      ending.add(socket);
      running.once('finish', () => linger(socket));
      return;
    }
    // An answer that has begun must not get another one in its middle.
    if (isGone || running?.headersSent) {
      socket.destroy();
      return;
    }
    socket.write(renderAnswer(parts, error, maxUriBytes));
    linger(socket);
  };
};

const renderAnswer = (parts: ErrorParts, error: ParseError, maxUriBytes: number): string => {
  const { method, path } = readRequestLine(error.rawPacket);
  const requestId = createRequestId({ headers: {} });
  const problem = httpProblem(parts.codes, faultOf(error, maxUriBytes));
  parts.log.info({ requestId, method, status: problem.status, reason: error.code }, 'request could not be read');
  const rendered = renderSafely(parts.render, problem, { method, path, requestId }, parts.log);
  const body = toBody(rendered.body);
  const headers = {
    ...rendered.headers,
    date: new Date().toUTCString(),
    'x-request-id': requestId,
    ...ANSWER_HEADERS,
    connection: 'close',
    'content-length': String(Buffer.byteLength(body)),
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${rendered.status} ${STATUS_CODES[rendered.status] ?? 'Error'}\r\n${lines.join('')}\r\n${body}`;
};

const faultOf = ({ code, rawPacket }: ParseError, maxUriBytes: number): HttpFault => {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'timeout';
  if (code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') return 'tooLarge';
  if (code !== 'HPE_HEADER_OVERFLOW') return 'badRequest';
  return requestLineBytes(rawPacket) > maxUriBytes ? 'uriTooLong' : 'headersTooLarge';
};

/** Length of the request line, as far as the packet that broke the limit holds it; 0 when it holds none. */
const requestLineBytes = (packet: unknown): number => {
  if (!Buffer.isBuffer(packet) || !REQUEST_START.test(packet.toString('latin1', 0, MAX_REQUEST_LINE_BYTES))) return 0;
  const end = packet.indexOf('\r\n');
  return end < 0 ? packet.length : end;
};

const REQUEST_START = /^[A-Z]{1,20} \//;
const REQUEST_LINE = /^([A-Z]{1,20}) (\/[\x21-\x7e]*) HTTP\/1/;

const readRequestLine = (packet: unknown): { method: string; path: string } => {
  const match = REQUEST_LINE.exec(Buffer.isBuffer(packet) ? packet.toString('latin1', 0, MAX_REQUEST_LINE_BYTES) : '');
  return match ? { method: match[1]!, path: pathOf(match[2]!) } : { method: 'UNKNOWN', path: '/' };
};
