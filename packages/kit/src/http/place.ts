/** How a server comes by its connections: from a port of its own, a socket that somebody bound for it, or a front. */
import type { AddressInfo, Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { ServiceFault } from '../service-fault.ts';
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

/** What the operator can do about it, by the system's code. */
const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE:
    'is in use: another program, or another Parley, listens there. The settings host and port choose another.',
  EACCES: 'is not allowed to this user: ports below 1024 need a right of their own. The setting port chooses another.',
  EADDRNOTAVAIL: 'is no address of this machine. The setting host chooses another.',
};

/** Opens the port, or takes the socket. Throws a ServiceFault that names address and setting when it cannot be had. */
export const openPort = async (app: FastifyInstance, { host: given, port, socket }: ListenAt): Promise<Opened> => {
  // For this name Fastify would open a second server that knows nothing of ours.
  const host = given === 'localhost' ? '127.0.0.1' : given;
  const place = socket && 'fd' in socket ? { fd: socket.fd } : { host, port };
  try {
    await app.listen({ ...place, listenTextResolver: (address) => `listening at ${address}` });
  } catch (thrown) {
    const reason = REASONS[(thrown as NodeJS.ErrnoException).code ?? ''];
    throw reason ? new ServiceFault(`${host}:${port} ${reason}`, { cause: thrown }) : thrown;
  }
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
