/** A request as bytes over a connection of its own, so that heads may be what no client library lets pass. */
import { connect } from 'node:net';

export type WireAnswer = {
  /** 0: the connection was closed without an answer. */
  readonly status: number;
  readonly head: string;
  readonly body: Buffer;
};

export type Then = 'wait' | 'end' | 'cut';

const ANSWER_MS = 12_000;
const MAX_ANSWER_BYTES = 2 ** 24;
const SWITCHED = Buffer.from('HTTP/1.1 101');
const HEAD_END = '\r\n\r\n';

/** The content of a chunked body (RFC 9112 §7.1) as far as it came; a body of known length as it is. */
const contentOf = (head: string, body: Buffer): Buffer => {
  if (!/^transfer-encoding: *chunked/im.test(head)) return body;
  const pieces: Buffer[] = [];
  for (let at = 0; at < body.length; ) {
    const line = body.indexOf('\r\n', at);
    const size = Number.parseInt(body.subarray(at, line).toString('latin1'), 16);
    if (line < 0 || !(size > 0)) break;
    pieces.push(body.subarray(line + 2, line + 2 + size));
    at = line + 2 + size + 2;
  }
  return Buffer.concat(pieces);
};

const answerOf = (bytes: Buffer): WireAnswer => {
  let rest = bytes;
  for (;;) {
    const end = rest.indexOf(HEAD_END);
    const head = rest.subarray(0, end < 0 ? rest.length : end).toString('latin1');
    const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1] ?? 0);
    const after = end < 0 ? Buffer.alloc(0) : rest.subarray(end + HEAD_END.length);
    // 100 Continue stands before the answer.
    if (status >= 200 || status === 0 || end < 0) return { status, head, body: contentOf(head, after) };
    rest = after;
  }
};

/**
 * Sends the bytes and waits until the other side closes, as `Connection: close` makes it do. `then`: the client waits, says that nothing more will come, or
 * goes away. Throws when no end comes in time, or far too much.
 */
export const sendBytes = (port: number, bytes: Buffer, then: Then): Promise<WireAnswer> =>
  new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    let length = 0;
    const socket = connect({ port, host: '127.0.0.1' });
    const timer = setTimeout(() => {
      socket.destroy();
      reject(new Error(`no end of the answer to ${JSON.stringify(bytes.toString('latin1').slice(0, 600))}`));
    }, ANSWER_MS);
    socket.on('data', (piece) => {
      pieces.push(piece);
      length += piece.length;
      if (length > MAX_ANSWER_BYTES) {
        socket.destroy();
        reject(new Error('an answer without end'));
      }
      // A WebSocket that nobody asked for in earnest.
      if (then === 'wait' && piece.subarray(0, SWITCHED.length).equals(SWITCHED)) socket.destroy();
    });
    // A refusal may come, and the connection go, before everything was sent.
    socket.on('error', () => undefined);
    socket.once('close', () => {
      clearTimeout(timer);
      resolve(answerOf(Buffer.concat(pieces)));
    });
    socket.write(bytes, () => {
      if (then === 'cut') socket.destroy();
      else if (then === 'end') socket.end();
    });
  });
