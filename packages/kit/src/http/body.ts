/**
 * What becomes of request bodies that Fastify does not read to their end: the watch over those that stall, and the
 * close that lets a client read its answer when its body was not read.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** A rest of at most this many bytes is read and dropped, so that the connection can go on. */
const MAX_DROPPED_BYTES = 64 * 1024;
/** How long a refused client may go on sending before the connection is cut. */
const LINGER_MS = 5000;

/** True when the request says that a body follows. */
export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;

/** True when dropping the unread rest of the body is not worth keeping the connection. */
export const isWorthClosing = (raw: IncomingMessage): boolean => {
  if (raw.complete || !hasBody(raw)) return false;
  const lengthBytes = raw.headers['content-length'];
  return lengthBytes === undefined || Number(lengthBytes) > MAX_DROPPED_BYTES;
};

/**
 * Makes the end of this answer a lingering close: our side is closed, what still comes is read and dropped, and the
 * connection is cut when the client has closed too or after `LINGER_MS`. Closing at once, with bytes unread, makes the
 * system send a reset that can overtake the answer (RFC 9112 §9.6).
 */
export const lingerOnClose = (raw: IncomingMessage, response: ServerResponse): void => {
  const { socket } = raw;
  if (!socket || typeof socket.destroySoon !== 'function') return;
  socket.destroySoon = () => linger(socket);
  response.once('finish', () => raw.resume());
};

/** Ends our side, drops what comes, cuts the connection in the end. */
export const linger = (socket: Socket): void => {
  socket.end();
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(timer));
};

/** How often within the allowed pause the watch looks. */
const LOOKS_PER_PAUSE = 4;

/**
 * Calls `onStall` once when no byte of the body came for `idleMs` (up to a quarter more) although we were ready to
 * read. Answers a function that ends the watch; it ends by itself with the body or the connection.
 */
export const watchBody = (raw: IncomingMessage, idleMs: number, onStall: () => void): (() => void) => {
  const { socket } = raw;
  // A request injected by a test has no connection that could stall.
  if (typeof socket?.bytesRead !== 'number') return () => undefined;
  let seenBytes = socket.bytesRead;
  let quietLooks = 0;
  const end = (): void => {
    clearInterval(timer);
    raw.off('end', end);
    socket.off('close', end);
  };
  const timer = setInterval(() => {
    if (raw.complete) return end();
    // A full buffer is our slowness, not the client's.
    const isOurTurn = raw.readableLength >= raw.readableHighWaterMark;
    quietLooks = socket.bytesRead !== seenBytes || isOurTurn ? 0 : quietLooks + 1;
    seenBytes = socket.bytesRead;
    if (quietLooks < LOOKS_PER_PAUSE) return;
    end();
    onStall();
  }, idleMs / LOOKS_PER_PAUSE);
  raw.once('end', end);
  socket.once('close', end);
  return end;
};
