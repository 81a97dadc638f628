/**
 * A port that outlives the server behind it: connections wait here while one server ends and the next one starts. For
 * services that are started anew within one process; those with a process of their own share a socket instead.
 */

import type { Server } from 'node:http';
import { type AddressInfo, createServer, type Server as NetServer, type Socket } from 'node:net';

export type Front = AsyncDisposable & {
  readonly port: number;
  /** Connections go to this server from now on, those that wait first. Returns the way to make them wait again. */
  attach(server: Server): () => void;
};

/** Connections that wait at once; further ones are refused. */
const MAX_WAITING = 1024;

/** Opens the port; 0 takes a free one. */
export const openFront = async (at: { readonly host: string; readonly port: number }): Promise<Front> => {
  const waiting = new Set<Socket>();
  let current: Server | undefined;
  const take = (socket: Socket): void => {
    if (current) {
      current.emit('connection', socket);
      return;
    }
    if (waiting.size >= MAX_WAITING) {
      socket.destroy();
      return;
    }
    waiting.add(socket);
    socket.once('error', () => undefined);
    socket.once('close', () => waiting.delete(socket));
  };
  // As http.Server does it: a client that has said all may still wait for its answer.
  const server: NetServer = createServer({ allowHalfOpen: true, noDelay: true, pauseOnConnect: false }, take);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: at.host, port: at.port }, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    attach: (next) => {
      current = next;
      for (const socket of waiting) {
        waiting.delete(socket);
        next.emit('connection', socket);
      }
      return () => {
        if (current === next) current = undefined;
      };
    },
    [Symbol.asyncDispose]: async () => {
      for (const socket of waiting) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};
