/**
 * Sockets that the supervisor binds and holds but never accepts on: nodes inherit them, listen on them and accept. So
 * several nodes share a port, and connections wait while the last of them is started again.
 */
import { lookup } from 'node:dns/promises';
import net from 'node:net';
import { type Front, openFront } from '@parley/kit/http/front.ts';
import type { NodeSpec } from './child.ts';

type Place = {
  /** Kind of the nodes that share it. */
  readonly owner: string;
  readonly host: string;
  readonly port: number;
};
type Handle = { readonly fd: number; close(): void; getsockname(into: { port?: number }): number };
type Held = { readonly socket: NonNullable<NodeSpec['socket']>; close(): Promise<void> };

/**
 * What Node's own cluster module binds with; it does not listen, unlike everything documented. Where it is gone, nodes
 * open the port themselves.
 */
type CreateHandle = (address: string, port: number, family: 4 | 6) => Handle | number;

const bind = async ({ host, port }: Place): Promise<Held | undefined> => {
  const { _createServerHandle: create } = net as unknown as { _createServerHandle?: CreateHandle };
  if (!create) return undefined;
  const { address, family } = await lookup(host === 'localhost' ? '127.0.0.1' : host);
  const handle = create(address, port, family === 6 ? 6 : 4);
  // A fault: the node will meet the same one and say what it is.
  if (typeof handle === 'number') return undefined;
  // A port that is taken is told only to who listens, and until then the socket has no address.
  const bound: { port?: number } = {};
  const isBound = handle.fd >= 0 && handle.getsockname(bound) === 0 && (bound.port ?? 0) > 0;
  if (!isBound) {
    handle.close();
    return undefined;
  }
  return { socket: { fd: handle.fd }, close: async () => handle.close() };
};

const front = async (place: Place): Promise<Held | undefined> => {
  let opened: Front;
  try {
    opened = await openFront(place);
  } catch {
    return undefined;
  }
  return { socket: { front: opened }, close: async () => await opened[Symbol.asyncDispose]() };
};

export type Sockets = AsyncDisposable & {
  /** The socket of a place, the same each time; undefined when it cannot be had. Port 0 is one place for each owner. */
  hold(place: Place): Promise<NodeSpec['socket']>;
};

/** `isShared`: nodes have processes of their own; otherwise a front in this process stands in. */
export const createSockets = (isShared: boolean): Sockets => {
  const held = new Map<string, Promise<Held | undefined>>();
  return {
    hold: async (place) => {
      const key = `${place.owner} ${place.host} ${place.port}`;
      const known = held.get(key) ?? (isShared ? bind(place) : front(place)).catch(() => undefined);
      held.set(key, known);
      const found = await known;
      if (!found) held.delete(key);
      return found?.socket;
    },
    [Symbol.asyncDispose]: async () => {
      for (const each of held.values()) await (await each)?.close();
      held.clear();
    },
  };
};
