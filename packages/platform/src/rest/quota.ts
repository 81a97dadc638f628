/** What the writer asks before it lets licensed items come or go. */
import type { Change } from '@parley/kit/store/store.ts';

/** How many of each licensed item a write adds; negative for what goes. */
export type Delta = ReadonlyMap<string, number>;

/** Counters that change with a write, in the same commit. */
export type Usage = {
  /** The domain they lie in. */
  readonly domain: string;
  readonly change: Extract<Change, { op: 'put' }>;
};

export type Quota = {
  /** Runs a write of licensed items; one at a time, with counters as they are now. */
  alone<T>(job: () => Promise<T>): Promise<T>;
  /** The counters as they must be after the write. 422 when the licence does not allow so many. */
  claim(delta: Delta): Usage;
  /** The write was made. */
  settle(usage: Usage): void;
  /** Somebody else counted: reads what is there now. */
  refresh(): Promise<void>;
};
