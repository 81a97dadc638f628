/**
 * One request of a connection at a time. A client may send further ones before it has read the first answer; Node gives
 * them all at once, up to some thousand out of one piece of 64 KiB, and each answer would be made and kept in memory for
 * a client that may never read. So a request waits until the answer before it was taken.
 */
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Requests of one connection that wait; with more the connection is cut. */
export const MAX_PIPELINED = 256;

/** Puts the wait before whoever listens for requests now. */
export const takeOneByOne = (server: Server): void => {
  const [handle] = server.listeners('request') as RequestListener[];
  if (!handle) throw new Error('nobody listens for requests');
  const newest = new WeakMap<Socket, ServerResponse>();
  const waiting = new WeakMap<Socket, number>();
  server.removeAllListeners('request');
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    const before = newest.get(socket);
    newest.set(socket, response);
    // Node gives a response the connection when it is its turn.
    if (before === undefined || response.socket !== null) return handle(request, response);
    const count = (waiting.get(socket) ?? 0) + 1;
    if (count > MAX_PIPELINED) return void socket.destroy();
    waiting.set(socket, count);
    before.once('close', () => {
      waiting.set(socket, waiting.get(socket)! - 1);
      // Who is gone waits for nothing, and no answer can follow the last.
      if (socket.writable) handle(request, response);
    });
  });
};
