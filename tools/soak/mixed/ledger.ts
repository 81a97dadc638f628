/** What the clients know: how often each operation came to what, what was acknowledged, and what was not as it should be. */

import { loadavg } from 'node:os';

/** `refused` is 429 or 503, `cut` a connection that broke, `left` a client that went away by itself. */
export type Outcome = 'done' | 'refused' | 'cut' | 'left';

/** A row of a collection: every value that was asked for is a field `v<n>` of its `opts`. */
export type KeptRow = {
  readonly path: string;
  readonly id: string;
  /** What LOOKUP finds it by; undefined where a collection has no such key. */
  readonly key: string | undefined;
  asked: number;
  readonly acknowledged: Set<number>;
  /** `maybe…` when the answer never came. */
  state: 'maybe made' | 'made' | 'maybe removed' | 'removed';
  /** Somebody is writing to it. */
  isBusy: boolean;
};

/** An item of a class with its file. */
export type KeptItem = {
  readonly id: string;
  state: KeptRow['state'];
  /** MD5s that its file may have; `null` where it may have none. One when the last answer came. */
  md5s: readonly (string | null)[];
  isBusy: boolean;
};

export type KeptJob = {
  readonly id: string;
  /** What became of it as an event stream or a question told; undefined before. */
  status: string | undefined;
  /** Its events were followed to the last one. */
  isFollowed: boolean;
};

export type Ledger = {
  count(operation: string, outcome: Outcome): void;
  fault(text: string): void;
  /** A fault is injected from now on, or is over and mended. */
  disturb(isDisturbed: boolean): void;
  /** The supervisor started a node anew; when nobody disturbed anything that was its own decision. */
  restarted(): void;
  /** Load averages of the machine, over one minute, at restarts that nobody caused. */
  readonly ownRestarts: readonly number[];
  /** Nothing was disturbed since that moment of `performance.now()`. */
  isCalmSince(ms: number): boolean;
  readonly operations: ReadonlyMap<string, Readonly<Record<Outcome, number>>>;
  readonly faults: ReadonlyMap<string, number>;
  readonly rows: KeptRow[];
  readonly items: KeptItem[];
  readonly jobs: Map<string, KeptJob>;
  /** Addresses that were promised a mail, and the ids of their users. */
  readonly mails: Map<string, string>;
  /** Texts that were recognised: none may be in a log. By recording. */
  readonly texts: Map<string, string>;
};

/** After a disturbance connections that were begun before may still break. */
const AFTERMATH_MS = 1000;
/** A node that the supervisor starts anew by itself on a busy machine. */
const RESTART_MS = 20_000;

/** An empty one. */
export const createLedger = (): Ledger => {
  const operations = new Map<string, Record<Outcome, number>>();
  const faults = new Map<string, number>();
  const ownRestarts: number[] = [];
  let disturbedUntilMs = Number.NEGATIVE_INFINITY;
  return {
    count: (operation, outcome) => {
      const counts = operations.get(operation) ?? { done: 0, refused: 0, cut: 0, left: 0 };
      counts[outcome] += 1;
      operations.set(operation, counts);
    },
    fault: (text) => {
      faults.set(text, (faults.get(text) ?? 0) + 1);
    },
    disturb: (isDisturbed) => {
      disturbedUntilMs = isDisturbed ? Number.POSITIVE_INFINITY : performance.now() + AFTERMATH_MS;
    },
    restarted: () => {
      if (performance.now() < disturbedUntilMs) return;
      ownRestarts.push(loadavg()[0] ?? 0);
      // What broke by it may be noticed a little before its line.
      disturbedUntilMs = performance.now() + RESTART_MS;
    },
    ownRestarts,
    isCalmSince: (ms) => disturbedUntilMs < ms,
    operations,
    faults,
    rows: [],
    items: [],
    jobs: new Map(),
    mails: new Map(),
    texts: new Map(),
  };
};
