/** Takes work items from a queue as long as there is room, runs each, and looks again when rung or after a while. */
import type { Log } from '@parley/kit/log.ts';
import type { Claim, Store } from '@parley/kit/store/store.ts';
import { createBell } from './bell.ts';
import { DOMAIN } from './records.ts';

export type ClaimLoopParts = {
  readonly store: Store;
  readonly log: Log;
  readonly now: () => number;
  /** Names this process as the holder of leases. */
  readonly owner: string;
  readonly queue: string;
  readonly atOnce: number;
  readonly leaseMs: number;
  /** Longest time without a look: another process's lease may have run out, or an item become due. */
  readonly lookMs: number;
  /** Ids of items that others must work on. */
  readonly except?: () => readonly string[];
  /** Settles one item. What it rejects with is logged; the item comes again when its lease is over. */
  run(claim: Claim, stopping: AbortSignal): Promise<void>;
};

export type ClaimLoop = AsyncDisposable & {
  /** Looks at the queue now. */
  ring(): void;
};

/** Starts taking items. Disposing aborts the signal of those that run with `reason` and waits for them. */
export const startClaimLoop = (parts: ClaimLoopParts, reason: unknown): ClaimLoop => {
  const stop = new AbortController();
  const running = new Set<Promise<void>>();
  const { ring, next } = createBell();

  const take = async (): Promise<void> => {
    const limit = parts.atOnce - running.size;
    if (limit <= 0) return;
    const { owner, leaseMs, except = () => [] } = parts;
    const request = { owner, leaseMs, limit, nowMs: parts.now(), except: except() };
    for (const claim of await parts.store.claim(DOMAIN, parts.queue, request)) {
      const work = parts
        .run(claim, stop.signal)
        .catch((thrown: unknown) =>
          parts.log.error({ err: thrown, queue: parts.queue, id: claim.id }, 'item not settled'),
        )
        .finally(() => {
          running.delete(work);
          ring();
        });
      running.add(work);
    }
  };

  const loop = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      const rung = next();
      await take().catch((thrown: unknown) =>
        parts.log.warn({ err: thrown, queue: parts.queue }, 'queue cannot be read'),
      );
      if (!stop.signal.aborted) await restUntil(rung, parts.lookMs);
    }
  };
  const looping = loop();

  return {
    ring,
    [Symbol.asyncDispose]: async () => {
      stop.abort(reason);
      ring();
      await looping;
      await Promise.all(running);
    },
  };
};

const restUntil = async (rung: Promise<void>, ms: number): Promise<void> => {
  let timer: NodeJS.Timeout | undefined;
  const slept = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([rung, slept]);
  clearTimeout(timer);
};
