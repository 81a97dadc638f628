/** How a server comes by its connections: from a port of its own, a socket that somebody bound for it, or a front. */
import type { AddressInfo, Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Front } from './front.ts';

/** Where to listen: on a port of its own, or on a socket that somebody else bound, or behind a front. */
export type ListenAt = {
  readonly host: string;
  readonly port: number;
  readonly socket?: { readonly fd: number } | { readonly front: Front } | undefined;
};

export type Opened = {
  readonly port: number;
  /** Takes no further connections; resolves when those there are have ended. Absent where Fastify does it. */
  readonly leave?: () => Promise<void>;
};

export const openPort = async (app: FastifyInstance, { host: given, port, socket }: ListenAt): Promise<Opened> => {
  // For this name Fastify would open a second server that knows nothing of ours.
  const host = given === 'localhost' ? '127.0.0.1' : given;
  const place = socket && 'fd' in socket ? { fd: socket.fd } : { host, port };
  await app.listen({ ...place, listenTextResolver: (address) => `listening at ${address}` });
  return { port: (app.server.address() as AddressInfo).port };
};

export const goBehind = async (app: FastifyInstance, front: Front, sockets: ReadonlySet<Socket>): Promise<Opened> => {
  await app.ready();
  const detach = front.attach(app.server);
  return {
    port: front.port,
    leave: async () => {
      detach();
      app.server.closeIdleConnections();
      await Promise.all([...sockets].map((each) => new Promise((resolve) => each.once('close', resolve))));
    },
  };
};
