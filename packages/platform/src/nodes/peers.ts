/** The other servers, as their rows tell of them, and whether they live. */
import type { Log } from '@parley/kit/log.ts';
import type { Store } from '@parley/kit/store/store.ts';
import type { NodeFacts } from './node.ts';
import { NODES_SPACE } from './space.ts';

export type ServerRow = {
  /** Of the supervisor's process. */
  readonly instance: string;
  readonly startedAtMs: number;
  readonly beat: number;
  readonly nodes: readonly NodeFacts[];
};

export type Peers = {
  /** Version of the row that an earlier supervisor of this server left; 0 when there is none. */
  ownVersion(): number;
  nodes(): NodeFacts[];
  alive(): ReadonlySet<string> | undefined;
  isDead(server: string): boolean;
  /** Reads a row that changed. */
  read(server: string): Promise<void>;
  /** One of our own heartbeats was written: whoever was silent since the last ones is counted. */
  compare(): void;
  /** Our own heartbeats do not come through: nobody is judged until they do again. */
  suspend(): void;
};

type Peer = { row: ServerRow; version: number; silent: number };

/** Our heartbeats without one of theirs: one is usual, two are shown, three are death. */
const SHOWN = 2;
const DEAD = 3;
/** How many of our heartbeats others get after the database was away. */
const REPRIEVE = -3;
/** Silent for so many heartbeats, ten minutes at the usual pace, a server is forgotten. */
const FORGOTTEN = 300;
const GONE_REASON = 'its server gives no sign of life';
const MAX_SERVERS = 1000;

type Parts = { readonly store: Store; readonly log: Log; readonly server: string; changed(): void };

/** Reads the rows there are. */
export const openPeers = async ({ store, log, server, changed }: Parts): Promise<Peers> => {
  const peers = new Map<string, Peer>();
  let compared = 0;
  const rows = await store.query<ServerRow>(NODES_SPACE, 'server', { limit: MAX_SERVERS });
  for (const { id, data, version } of rows) if (id !== server) peers.set(id, { row: data, version, silent: 0 });

  const forget = async (name: string, { version }: Peer): Promise<void> => {
    peers.delete(name);
    log.warn({ server: name }, 'server was silent for long and is forgotten');
    // It may have come back at this moment; then its row stays.
    const drop = { op: 'drop', kind: 'server', id: name, expect: version } as const;
    await store.commit(NODES_SPACE, [drop]).catch(() => undefined);
  };
  return {
    ownVersion: () => rows.find(({ id }) => id === server)?.version ?? 0,
    nodes: () =>
      [...peers.values()].flatMap(({ row, silent }) =>
        silent < SHOWN
          ? row.nodes
          : row.nodes.map((node) => ({ ...node, isActive: false, url: null, pid: null, reason: GONE_REASON })),
      ),
    alive: () => {
      if (compared < DEAD) return undefined;
      return new Set([server, ...[...peers].filter(([, { silent }]) => silent < DEAD).map(([name]) => name)]);
    },
    isDead: (name) => (peers.get(name)?.silent ?? DEAD) >= SHOWN,
    read: async (name) => {
      const found = await store.get<ServerRow>(NODES_SPACE, 'server', name);
      const known = peers.get(name);
      if (!found) peers.delete(name);
      else if (found.version !== known?.version) {
        peers.set(name, { row: found.data, version: found.version, silent: Math.min(0, known?.silent ?? 0) });
      }
      const isNews = !found || !known || known.silent >= SHOWN;
      if (isNews || JSON.stringify(known.row.nodes) !== JSON.stringify(found.data.nodes)) changed();
    },
    compare: () => {
      compared += 1;
      let isNews = compared === DEAD;
      for (const [name, peer] of peers) {
        peer.silent += 1;
        if (peer.silent === SHOWN || peer.silent === DEAD) {
          isNews = true;
          log.warn({ server: name, heartbeats: peer.silent }, 'server gives no sign of life');
        }
        if (peer.silent > FORGOTTEN) void forget(name, peer);
      }
      if (isNews) changed();
    },
    suspend: () => {
      for (const peer of peers.values()) if (peer.silent < SHOWN) peer.silent = REPRIEVE;
    },
  };
};
