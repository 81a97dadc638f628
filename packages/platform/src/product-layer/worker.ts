/** Works off the orders of the own site, in the order they came: one at a time on all servers of the site together. */
import { randomUUID } from 'node:crypto';
import type { Log } from '@parley/kit/log.ts';
import { Conflict } from '@parley/kit/store/store.ts';
import { SYSTEM_SPACE } from '../domains/types.ts';
import { queueOf } from './rows.ts';
import { type HeldOrder, LEASE_MS, type RunnerParts, renewal } from './run.ts';
import { runOrder } from './runner.ts';

export type WorkerParts = RunnerParts & {
  site(): string;
  /** Ids of orders while they are carried out here. */
  readonly running: Set<string>;
  /** Called after every look: what is installed may have changed. */
  looked(): Promise<void>;
};

export type Worker = AsyncDisposable & { ring(): void };

/** Longest time without a look: orders of nodes that died, and what other nodes installed. */
const LOOK_MS = 3000;
const RENEW_MS = LEASE_MS / 4;
/** When an order that came too early is looked at again. */
const LATER_MS = 500;

/** Starts working; a running order is given back when it ends. */
export const startWorker = (parts: WorkerParts): Worker => {
  const owner = randomUUID();
  const ending = new AbortController();
  let bell = Promise.withResolvers<void>();
  const ring = (): void => bell.resolve();
  const loop = async (): Promise<void> => {
    while (!ending.signal.aborted) {
      bell = Promise.withResolvers<void>();
      const isMore = await look(parts, owner, ending.signal).catch((thrown: unknown) => told(parts.log, thrown));
      if (isMore || ending.signal.aborted) continue;
      const timer = setTimeout(ring, LOOK_MS);
      await bell.promise;
      clearTimeout(timer);
    }
  };
  const looping = loop();
  return {
    ring,
    [Symbol.asyncDispose]: async () => {
      ending.abort(new Error('The platform stops.'));
      ring();
      await looping;
    },
  };
};

const told = (log: Log, thrown: unknown): false => {
  log.warn({ err: thrown }, 'orders of layers are looked at again');
  return false;
};

/** Takes an order and works it off; true when there may be more. */
const look = async (parts: WorkerParts, owner: string, signal: AbortSignal): Promise<boolean> => {
  const { store, clock } = parts;
  const site = parts.site();
  if (site === '') return false;
  await parts.looked();
  const request = { owner, leaseMs: LEASE_MS, limit: 1, nowMs: clock.now() };
  const [claim] = await store.claim(SYSTEM_SPACE, queueOf(site), request);
  if (!claim) return false;
  const order = await parts.rows.order(claim.id);
  if (order?.status !== 'registered') {
    await store.commit(SYSTEM_SPACE, [{ op: 'dequeue', queue: queueOf(site), id: claim.id, owner }]);
    return true;
  }
  const held: HeldOrder = { id: claim.id, order, owner };
  if (await isEarly(parts, held)) {
    await giveBack(parts, held, clock.now() + LATER_MS);
    return false;
  }
  await holdAndRun(parts, held, signal);
  await parts.looked();
  return true;
};

/** Another order of the site came before and is not through: somebody else carries it out, or shall first. */
const isEarly = async ({ rows }: WorkerParts, { order }: HeldOrder): Promise<boolean> =>
  (await rows.ordersAt(order.site)).some(({ data }) => data.status === 'registered' && data.order < order.order);

const giveBack = async ({ store }: WorkerParts, { id, owner, order }: HeldOrder, readyAtMs: number): Promise<void> => {
  const queue = queueOf(order.site);
  await store.commit(SYSTEM_SPACE, [{ op: 'enqueue', queue, id, priority: 0, share: order.site, readyAtMs, owner }]);
};

const holdAndRun = async (parts: WorkerParts, held: HeldOrder, signal: AbortSignal): Promise<void> => {
  const lost = new AbortController();
  const renew = async (): Promise<void> => {
    try {
      await parts.store.commit(SYSTEM_SPACE, [renewal(parts, held)]);
    } catch (thrown) {
      if (thrown instanceof Conflict) lost.abort(thrown);
    }
  };
  const timer = setInterval(() => void renew(), RENEW_MS);
  parts.running.add(held.id);
  try {
    await runOrder(parts, held, AbortSignal.any([signal, lost.signal]));
  } catch (thrown) {
    // Whoever looks next takes it, at once; where that cannot be written, when the lease is over.
    if (signal.aborted) await giveBack(parts, held, parts.clock.now()).catch(() => undefined);
    else throw thrown;
  } finally {
    clearInterval(timer);
    parts.running.delete(held.id);
  }
};
