/** What `watch` is made of in both drivers: a bell that says "look again", and the loop that looks and never skips. */
import { type FeedEntry, FeedGone } from './store.ts';

export type Bell = {
  /** Wakes the watchers of one domain, or of all. */
  ring(domain?: string): void;
  /** Ends all watchers. */
  close(): void;
  /** `wait` resolves at the next ring, at once when one came since the last wait, when aborted, or after `maxMs`. */
  listen(domain: string): { wait(signal: AbortSignal, maxMs?: number): Promise<void>; stop(): void };
  isClosed(): boolean;
};

export const createBell = (): Bell => {
  type Listener = { readonly domain: string; isRung: boolean; wake: (() => void) | undefined };
  const listeners = new Set<Listener>();
  let isClosed = false;
  const ring = (domain?: string): void => {
    for (const listener of listeners) {
      if (domain !== undefined && listener.domain !== domain) continue;
      listener.isRung = true;
      listener.wake?.();
    }
  };
  const wait = (listener: Listener, signal: AbortSignal, maxMs: number | undefined): Promise<void> =>
    new Promise((resolve) => {
      const done = (): void => {
        listener.wake = undefined;
        listener.isRung = false;
        signal.removeEventListener('abort', done);
        clearTimeout(timer);
        resolve();
      };
      const timer = maxMs === undefined ? undefined : setTimeout(done, maxMs);
      signal.addEventListener('abort', done);
      listener.wake = done;
      if (listener.isRung || isClosed || signal.aborted) done();
    });
  return {
    ring,
    close: () => {
      isClosed = true;
      ring();
    },
    isClosed: () => isClosed,
    listen: (domain) => {
      const listener: Listener = { domain, isRung: false, wake: undefined };
      listeners.add(listener);
      return {
        wait: (signal, maxMs) => wait(listener, signal, maxMs),
        stop: () => listeners.delete(listener),
      };
    },
  };
};

/** One page of the feed and the newest sequence number that was pruned, read so that `gone` is never too old. */
export type FeedPage = { readonly entries: readonly FeedEntry[]; readonly gone: number };

export const FEED_PAGE_ENTRIES = 500;

/**
 * Feed entries after `fromSeq`. `read` answers undefined when the database is away; the loop then waits and looks again
 * from where it was. `pollMs` bounds how long a lost ring can hide an entry.
 */
export async function* watchFeed(
  bell: Bell,
  read: (domain: string, fromSeq: number) => Promise<FeedPage | undefined>,
  watched: { readonly domain: string; readonly fromSeq: number; readonly pollMs?: number },
  signal: AbortSignal,
): AsyncGenerator<FeedEntry, void, undefined> {
  const { domain, pollMs } = watched;
  let seq = watched.fromSeq;
  const listener = bell.listen(domain);
  try {
    while (!signal.aborted && !bell.isClosed()) {
      const page = await read(domain, seq);
      if (page !== undefined && seq < page.gone) {
        throw new FeedGone(`Feed entries after ${seq} are no longer kept (${page.gone} is the newest that went).`);
      }
      for (const entry of page?.entries ?? []) {
        if (signal.aborted) return;
        yield entry;
        seq = entry.seq;
      }
      if (page === undefined || page.entries.length < FEED_PAGE_ENTRIES) await listener.wait(signal, pollMs);
    }
  } finally {
    listener.stop();
  }
}
