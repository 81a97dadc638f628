/** Takes due items from a queue that nodes share, runs a few at a time, and looks again when one becomes due. */
import { randomUUID } from 'node:crypto';
import type { Clock } from '@parley/kit/clock.ts';
import type { Log } from '@parley/kit/log.ts';
import type { Store } from '@parley/kit/store/store.ts';
import { SYSTEM_SPACE } from '../domains/types.ts';

export type DispatchParts = {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly queue: string;
  /** Longer than any run takes. */
  readonly leaseMs: number;
  /** Settles one item as the holder of its lease. What it rejects with is logged; the item comes again with its lease. */
  run(id: string, owner: string, signal: AbortSignal): Promise<void>;
};

export type Dispatch = AsyncDisposable & {
  /** Looks at the queue at this time (Unix ms), or at once when it is past. */
  ringAt(atMs: number): void;
  /** Aborts a while after the end has begun. */
  readonly ending: AbortSignal;
};

const AT_ONCE = 8;
/** Longest time without a look: items of other nodes become due, and leases of dead ones end. */
const LOOK_MS = 5000;
/** What runs at the end has this long to come to one. */
const GRACE_MS = 2000;

export const startDispatch = (parts: DispatchParts): Dispatch => {
  const { store, clock, log, queue, leaseMs } = parts;
  const owner = randomUUID();
  const running = new Set<Promise<void>>();
  const timers = new Set<NodeJS.Timeout>();
  const stop = new AbortController();
  const ending = new AbortController();
  let bell = Promise.withResolvers<void>();

  const ring = (): void => {
    bell.resolve();
    bell = Promise.withResolvers<void>();
  };
  const later = (ms: number, task: () => void): NodeJS.Timeout => {
    const timer = setTimeout(() => {
      timers.delete(timer);
      task();
    }, ms);
    timers.add(timer);
    return timer;
  };
  const take = async (): Promise<void> => {
    const limit = AT_ONCE - running.size;
    if (limit <= 0) return;
    for (const { id } of await store.claim(SYSTEM_SPACE, queue, { owner, leaseMs, limit, nowMs: clock.now() })) {
      const work: Promise<void> = parts
        .run(id, owner, ending.signal)
        .catch((thrown: unknown) => log.error({ err: thrown, queue, item: id }, 'item not settled'))
        .finally(() => {
          running.delete(work);
          ring();
        });
      running.add(work);
    }
  };
  const loop = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      const rung = bell.promise;
      await take().catch((thrown: unknown) => log.warn({ err: thrown, queue }, 'queue cannot be read'));
      if (stop.signal.aborted) return;
      const timer = later(LOOK_MS, ring);
      await rung;
      clearTimeout(timer);
      timers.delete(timer);
    }
  };
  const looping = loop();

  return {
    ending: ending.signal,
    ringAt: (atMs) => {
      const waitMs = atMs - clock.now();
      if (waitMs <= 0) ring();
      else if (waitMs < LOOK_MS) later(waitMs, ring);
    },
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      ring();
      const timer = setTimeout(() => ending.abort(new Error('The platform stops.')), GRACE_MS);
      await looping;
      await Promise.all(running);
      clearTimeout(timer);
      ending.abort(new Error('The platform stops.'));
      for (const each of timers) clearTimeout(each);
    },
  };
};
