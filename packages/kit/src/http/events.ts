/**
 * Server-sent events (WHATWG HTML §9.2): numbered, with a heartbeat, ended when the server closes, given up when the
 * reader is too slow. What is sent, and from which number on, is the caller's.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { drainingOf } from './server.ts';

export type ServerEvent = {
  /** Comes back as `Last-Event-ID` when the client reconnects. */
  readonly id?: string | number;
  readonly event?: string;
  /** Text goes as it is, anything else as JSON. */
  readonly data: unknown;
  /** How long the client shall wait before it reconnects, ms. */
  readonly retryMs?: number;
};

export type EventStream = {
  /** False once the stream is over, or when this event made it so. */
  send(event: ServerEvent): boolean;
  /** Ends the stream after what was sent; idempotent. */
  end(): void;
  /** Aborted when the stream is over, whoever ended it. */
  readonly signal: AbortSignal;
  /** Resolves when the stream is over. Return it from a handler. */
  readonly closed: Promise<void>;
};

export type EventOptions = {
  /** Pause after which a comment shows that we are there; 15 s when not given. */
  readonly heartbeatMs?: number;
  /** What a slow reader may leave unread before the stream is dropped; 1 MiB when not given. */
  readonly maxBufferedBytes?: number;
  /** True for a stream that is work under way: it may go on to its own end while the server drains, within its grace. */
  readonly isWork?: boolean;
};

const HEARTBEAT_MS = 15_000;
const MAX_BUFFERED_BYTES = 2 ** 20;
const HEARTBEAT = ': keep-alive\n\n';

/** Answers 200 and begins the stream. To HEAD it answers the headers and is over at once. */
export const startEvents = (request: FastifyRequest, reply: FastifyReply, options: EventOptions = {}): EventStream => {
  const { raw } = reply;
  const controller = new AbortController();
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  const draining = drainingOf(request.server).signal;
  const maxBufferedBytes = options.maxBufferedBytes ?? MAX_BUFFERED_BYTES;

  const over = (): void => {
    clearInterval(heartbeat);
    draining.removeEventListener('abort', end);
    controller.abort();
    resolve();
  };
  const end = (): void => {
    if (raw.writableEnded) return;
    // The head promised to keep the connection, which a server that closes would wait for.
    if (draining.aborted) raw.once('finish', () => request.raw.socket.destroySoon());
    raw.end();
    over();
  };
  const write = (text: string): boolean => {
    if (controller.signal.aborted || raw.destroyed) return false;
    if (raw.writableLength + Buffer.byteLength(text) > maxBufferedBytes) {
      // Ending it would wait for the slow reader; it can reconnect and ask for what it missed.
      raw.destroy();
      over();
      return false;
    }
    raw.write(text);
    return true;
  };

  reply.hijack();
  raw.writeHead(200, { ...(reply.getHeaders() as Record<string, string>), ...headersFor(draining) });
  const heartbeat = setInterval(() => write(HEARTBEAT), options.heartbeatMs ?? HEARTBEAT_MS);
  if (!options.isWork) draining.addEventListener('abort', end, { once: true });
  raw.once('close', over);
  raw.once('error', over);
  const isUnwanted = draining.aborted && !options.isWork;
  if (request.method === 'HEAD' || isUnwanted || raw.destroyed) end();
  else raw.flushHeaders();
  return { send: (event) => write(renderEvent(event)), end, signal: controller.signal, closed };
};

const headersFor = (draining: AbortSignal): Record<string, string> => ({
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  // nginx would otherwise hold events back.
  'x-accel-buffering': 'no',
  ...(draining.aborted ? { connection: 'close' } : {}),
});

/** One event as it goes over the wire. Line ends in `id` and `event` would begin a new field and are taken out. */
export const renderEvent = ({ id, event, data, retryMs }: ServerEvent): string => {
  const lines: string[] = [];
  if (retryMs !== undefined) lines.push(`retry: ${Math.round(retryMs)}`);
  if (id !== undefined) lines.push(`id: ${toOneLine(String(id))}`);
  if (event !== undefined) lines.push(`event: ${toOneLine(event)}`);
  const text = typeof data === 'string' ? data : JSON.stringify(data ?? null);
  for (const line of text.split(/\r\n|\r|\n/)) lines.push(`data: ${line}`);
  return `${lines.join('\n')}\n\n`;
};

const toOneLine = (text: string): string => text.replaceAll(/[\r\n\0]/g, '');

/** The last event the client has seen, from the header or, for clients that cannot set one, `?last_event_id=`. */
export const lastEventIdOf = (request: FastifyRequest): string | undefined => {
  const header = request.headers['last-event-id'];
  const query = (request.query as Record<string, unknown> | undefined)?.last_event_id;
  for (const given of [header, query]) if (typeof given === 'string' && given !== '') return given;
  return undefined;
};
