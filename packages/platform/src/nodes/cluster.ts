/**
 * Supervisors of several servers on one database: each keeps a row with its nodes and a count that grows with every
 * heartbeat, reads those of the others, and carries commands to them. Nobody's clock is compared with anybody else's:
 * a server is dead when its count stood still while ours grew, so that a database that is away kills nobody.
 */
import { createUuid } from '@parley/kit/ids.ts';
import type { Log } from '@parley/kit/log.ts';
import { FeedGone, type Store } from '@parley/kit/store/store.ts';
import { type Commands, openCommands } from './commands.ts';
import type { NodeCommand, Refusal } from './messages.ts';
import type { NodeFacts } from './node.ts';
import { openPeers, type Peers, type ServerRow } from './peers.ts';
import type { Plan } from './plan.ts';
import { openSharedPlan, type SharedPlan } from './shared-plan.ts';
import { NODES_SPACE } from './space.ts';

export type Cluster = AsyncDisposable & {
  /** Nodes of the other servers; those of a server that gives no sign of life are inactive. */
  others(): NodeFacts[];
  /** Names of the living servers, this one included; undefined until enough heartbeats have been compared. */
  alive(): ReadonlySet<string> | undefined;
  /** The nodes of this server, from now on. Resolves when the others can read of them, or when that failed. */
  publish(nodes: readonly NodeFacts[]): Promise<void>;
  /** Has another server act on one of its nodes. */
  command(server: string, command: NodeCommand): Promise<Refusal | undefined>;
  plan(): Plan | undefined;
  /** Takes a plan for all servers when it is newer than the one there is. */
  offerPlan(plan: Plan): void;
  /** Rejects when another supervisor runs under the name of this server. */
  readonly lost: Promise<never>;
};

export type ClusterParts = {
  readonly store: Store;
  readonly log: Log;
  readonly server: string;
  readonly heartbeatMs: number;
  execute(command: NodeCommand): Promise<Refusal | undefined>;
  changed(): void;
};

/** Joins the others. Resolves when their rows and the plan were read. */
export const joinCluster = async (parts: ClusterParts): Promise<Cluster> => {
  const { store, log, server } = parts;
  const ending = new AbortController();
  const { signal } = ending;
  let seq = await store.lastSeq(NODES_SPACE);
  const peers: Peers = await openPeers(parts);
  const plan: SharedPlan = await openSharedPlan(store, log, parts.changed);
  const commands: Commands = openCommands(parts);
  const own: ServerRow = { instance: createUuid(), startedAtMs: Date.now(), beat: 0, nodes: [] };
  const beats = startBeats(parts, peers, own, () => {
    peers.compare();
    plan.offerAgain();
  });

  const read = async (kind: string, id: string): Promise<void> => {
    if (kind === 'server' && id !== server) await peers.read(id);
    if (kind === 'plan') await plan.read();
    if (kind === 'command') await commands.read(id);
  };
  const follow = async (): Promise<void> => {
    while (!signal.aborted) {
      try {
        for await (const entry of store.watch(NODES_SPACE, seq, signal)) {
          await read(entry.kind, entry.id);
          seq = entry.seq;
        }
        // The store was closed, or the end was asked for.
        return;
      } catch (thrown) {
        log.warn({ err: thrown }, 'the other servers cannot be followed; reading on');
        if (thrown instanceof FeedGone) seq = await store.lastSeq(NODES_SPACE).catch(() => seq);
        await pause(parts.heartbeatMs, signal);
      }
    }
  };
  const following = follow();
  return {
    others: peers.nodes,
    alive: peers.alive,
    publish: beats.publish,
    command: async (to, command) => (peers.isDead(to) ? 'no-answer' : await commands.send(to, command)),
    plan: plan.get,
    offerPlan: plan.offer,
    lost: beats.lost,
    [Symbol.asyncDispose]: async () => {
      ending.abort();
      commands.close();
      await beats.stop();
      await following;
      await plan.idle();
    },
  };
};

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done);
    if (signal.aborted) done();
  });

/** Writes the row of this server, with every heartbeat and whenever its nodes change; one write at a time. */
const startBeats = (
  { store, log, server, heartbeatMs }: ClusterParts,
  peers: Peers,
  row: ServerRow,
  beaten: () => void,
) => {
  const lost = Promise.withResolvers<never>();
  lost.promise.catch(() => undefined);
  const own: { -readonly [K in keyof ServerRow]: ServerRow[K] } = { ...row };
  let version = peers.ownVersion();
  let writing: Promise<void> = Promise.resolve();
  let isEnding = false;
  let isLost = false;
  let isDirty = false;
  let isFailing = false;

  const put = async (): Promise<void> => {
    isDirty = false;
    own.beat += 1;
    const change = { op: 'put', kind: 'server', id: server, data: { ...own }, expect: version } as const;
    const { versions } = await store.commit(NODES_SPACE, [change]);
    version = versions.get(`server/${server}`) ?? version;
  };
  /** Somebody else wrote the row: we did without hearing of it, or another supervisor has our name. */
  const settle = async (): Promise<void> => {
    const found = await store.get<ServerRow>(NODES_SPACE, 'server', server);
    version = found?.version ?? 0;
    if (!found || found.data.instance === own.instance) return;
    const { startedAtMs, instance } = found.data;
    const isElder = startedAtMs < own.startedAtMs || (startedAtMs === own.startedAtMs && instance < own.instance);
    if (!isElder) return;
    isEnding = true;
    isLost = true;
    lost.reject(new Error(`another supervisor runs under the name ${server}; set supervisor.server.`));
  };
  /** Writes over what a younger supervisor of our name wrote, at once: at our next beat it would have written again. */
  const putAgain = async (): Promise<void> => {
    await settle();
    if (!isEnding) await put();
  };
  const failed = (thrown: Error): void => {
    isDirty = true;
    if (thrown.name !== 'Conflict') peers.suspend();
    if (!isFailing) log.warn({ server, reason: thrown.message }, 'heartbeats cannot be written');
    isFailing = true;
  };
  const write = async (isBeat: boolean): Promise<void> => {
    if (isEnding) return;
    try {
      await put().catch((thrown: Error) => (thrown.name === 'Conflict' ? putAgain() : Promise.reject(thrown)));
    } catch (thrown) {
      failed(thrown as Error);
      return;
    }
    if (isFailing) log.warn({ server }, 'heartbeats are written again');
    isFailing = false;
    if (isBeat) beaten();
  };
  const enqueue = (isBeat: boolean): void => {
    writing = writing.then(() => write(isBeat));
  };
  const timer = setInterval(() => enqueue(true), heartbeatMs);
  enqueue(true);
  return {
    lost: lost.promise,
    publish: (nodes: readonly NodeFacts[]): Promise<void> => {
      own.nodes = nodes;
      // What waits to be written takes them along.
      if (!isDirty) enqueue(false);
      isDirty = true;
      return writing;
    },
    /** A server that ends in order leaves no row behind. */
    stop: async (): Promise<void> => {
      clearInterval(timer);
      isEnding = true;
      await writing;
      // Then the row is the other's.
      if (isLost) return;
      const drop = { op: 'drop', kind: 'server', id: server, expect: version } as const;
      await store.commit(NODES_SPACE, [drop]).catch(() => undefined);
    },
  };
};
