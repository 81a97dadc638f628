/** Watches one loaded engine process: whether it still answers, and how much memory it holds. */
import type { EngineChild } from './child.ts';
import type { FromEngine } from './messages.ts';

export type Watch = {
  onPong(message: Extract<FromEngine, { kind: 'pong' }>): void;
  countServed(): void;
  /** Asks the process; 0 when it is gone before it answers. */
  rssBytes(): Promise<number>;
  stop(): void;
};

export type WatchOptions = {
  readonly heartbeatMs: number;
  /** 0 is no limit. */
  readonly memoryLimitBytes: number;
  readonly onTooLarge: () => void;
};

/** Questions that may stay unanswered: a busy machine may starve a process for a while. */
const MOST_UNANSWERED = 6;
/** A process is not replaced before it has done some work, else a limit below the model's own size would loop. */
const SERVED_BEFORE_RECYCLING = 50;
/** Nor before it has grown by this much over what it held right after loading. */
const GROWTH_BEFORE_RECYCLING = 1.5;

export const watchChild = (child: EngineChild, options: WatchOptions): Watch => {
  const asked = new Map<number, (rssBytes: number) => void>();
  let lastId = 0;
  let unanswered = 0;
  let served = 0;
  let firstRssBytes: number | undefined;

  const ask = (): Promise<number> =>
    new Promise((resolve) => {
      lastId += 1;
      asked.set(lastId, resolve);
      if (!child.send({ kind: 'ping', id: lastId })) resolve(0);
    });

  const checkMemory = (rssBytes: number): void => {
    firstRssBytes ??= rssBytes;
    const limitBytes = Math.max(options.memoryLimitBytes, firstRssBytes * GROWTH_BEFORE_RECYCLING);
    const worked = served >= SERVED_BEFORE_RECYCLING;
    if (options.memoryLimitBytes > 0 && worked && rssBytes > limitBytes) options.onTooLarge();
  };

  const beat = (): void => {
    if (unanswered >= MOST_UNANSWERED) {
      child.kill(`did not answer for ${Math.round((unanswered * options.heartbeatMs) / 1000)} s`);
      return;
    }
    unanswered += 1;
    void ask().then(checkMemory);
  };

  const timer = setInterval(beat, options.heartbeatMs);
  void ask().then(checkMemory);

  return {
    onPong: ({ id, rssBytes }) => {
      unanswered = 0;
      asked.get(id)?.(rssBytes);
      asked.delete(id);
    },
    countServed: () => {
      served += 1;
    },
    rssBytes: ask,
    stop: () => {
      clearInterval(timer);
      for (const resolve of asked.values()) resolve(0);
      asked.clear();
    },
  };
};
