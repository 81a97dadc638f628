/** At most n at a time, in the order they came; who waits can give up. */

/** Something held; give it back with `using` or `release`. Idempotent. */
type Permit = Disposable & { release(): void };

export type Semaphore = {
  /** Resolves when it is this caller's turn; rejects with the signal's reason when given up before. */
  acquire(signal?: AbortSignal): Promise<Permit>;
  /** Runs `work` while holding a permit. */
  run<T>(work: () => Promise<T> | T, signal?: AbortSignal): Promise<T>;
  readonly held: number;
  readonly waiting: number;
};

/** A semaphore of `count` permits. */
export const createSemaphore = (count: number): Semaphore => {
  if (!Number.isInteger(count) || count < 1) throw new Error('A semaphore needs at least one permit.');
  let held = 0;
  /** A Set keeps the order and lets one in the middle go. */
  const queue = new Set<(permit: Permit) => void>();

  const createPermit = (): Permit => {
    let isHeld = true;
    const release = (): void => {
      if (!isHeld) return;
      isHeld = false;
      passOn();
    };
    return { release, [Symbol.dispose]: release };
  };
  /** The permit goes straight to whoever waits longest, so that nobody can overtake. */
  const passOn = (): void => {
    for (const next of queue) {
      queue.delete(next);
      next(createPermit());
      return;
    }
    held -= 1;
  };

  const acquire = (signal?: AbortSignal): Promise<Permit> => {
    if (signal?.aborted) return Promise.reject(signal.reason);
    if (held < count) {
      held += 1;
      return Promise.resolve(createPermit());
    }
    return new Promise((resolve, reject) => {
      const giveUp = (): void => {
        queue.delete(take);
        reject(signal?.reason);
      };
      const take = (permit: Permit): void => {
        signal?.removeEventListener('abort', giveUp);
        resolve(permit);
      };
      queue.add(take);
      signal?.addEventListener('abort', giveUp, { once: true });
    });
  };

  return {
    acquire,
    run: async (work, signal) => {
      using _permit = await acquire(signal);
      return await work();
    },
    get held() {
      return held;
    },
    get waiting() {
      return queue.size;
    },
  };
};
