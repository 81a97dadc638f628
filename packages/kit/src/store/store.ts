/**
 * Store: the one narrow door through which everything that must outlive a restart goes. Written for whoever writes a
 * driver (sqlite.ts, postgres.ts) and for whoever calls it.
 *
 * Terms. A *row* is a JSON document under (domain, kind, id) with a version that grows by one with each write. It
 * begins with the sequence number of the row's first change, so that a row that was dropped and made again never has a
 * version of its former life (a quiet one may, where all its writes are quiet). A *unique key* belongs to one row: no
 * two rows of one domain and kind hold the same (name, value). A *journal entry* tells people what changed; a *feed
 * entry* tells other processes which row changed. A *commit* is a list of changes: all of them or none, durable when
 * the promise resolves. A *work item* waits in a named queue until someone claims it for the length of a lease.
 *
 * Order. Within one domain, `seq` grows in the order in which commits become visible; a reader that has seen seq n
 * has missed nothing below n.
 */

export type JsonObject = { [key: string]: unknown };

export type Row<T extends object = JsonObject> = {
  readonly domain: string;
  readonly kind: string;
  readonly id: string;
  readonly version: number;
  readonly data: T;
};

/** Text as SQLite and PostgreSQL see it; arrays, objects and absent values never compare. */
export type Scalar = string | number | boolean;

/** `path` is a dotted path into the document, each part `[A-Za-z_][A-Za-z0-9_-]*`; values are always bound. */
export type Condition =
  | { readonly path: string; readonly op: '=' | '<' | '<=' | '>' | '>='; readonly value: Scalar }
  | { readonly path: string; readonly op: 'in'; readonly values: readonly Scalar[] };

export type Query = {
  readonly where?: readonly Condition[];
  /** Text by code point, numbers by value, absent values last when ascending; `id` always breaks ties. */
  readonly order?: readonly { readonly path: string; readonly direction: 'asc' | 'desc' }[];
  /** Direction of the closing order by id. */
  readonly idDirection?: 'asc' | 'desc';
  /** Keyset paging over ids in `idDirection`; only without `order`. */
  readonly afterId?: string;
  readonly offset?: number;
  readonly limit?: number;
};

export type JournalEntry = {
  readonly cmdtype: 'create' | 'update' | 'delete';
  /** RFC 3339 UTC with six fractional digits. */
  readonly dtutc: string;
  readonly modifierid: string;
  readonly modifiername: string;
  readonly objtype: string;
  readonly objid: string | null;
  readonly objkey: string | null;
  /** Comma-separated changed fields in flat form; only for update. */
  readonly fields: string | null;
  readonly obj: JsonObject;
  readonly addr: string | null;
};

export type HistoryQuery = {
  readonly since?: string;
  readonly until?: string;
  readonly cmdtype?: JournalEntry['cmdtype'];
  readonly objtype?: string;
  readonly objid?: string;
  readonly objkey?: string;
  /** Only entries that come after this one in the answer's order: the way to the next page. */
  readonly after?: { readonly dtutc: string; readonly seq: number };
  readonly offset?: number;
  readonly limit?: number;
};

export type Change =
  | {
      readonly op: 'put';
      readonly kind: string;
      readonly id: string;
      readonly data: object;
      /** Replaces every unique key the row held before. */
      readonly unique?: Readonly<Record<string, string>>;
      /** The version the row must have now; 0 means it must not exist; absent means any. */
      readonly expect?: number;
      /** True keeps the change out of the feed (a last-seen stamp, say). */
      readonly quiet?: boolean;
    }
  | {
      readonly op: 'drop';
      readonly kind: string;
      readonly id: string;
      readonly expect?: number;
      readonly quiet?: boolean;
    }
  | {
      /** Writes nothing; fails with a Conflict unless the row has this version now. */
      readonly op: 'check';
      readonly kind: string;
      readonly id: string;
      readonly expect: number;
    }
  | {
      /**
       * Writes nothing; fails with a Conflict (`stale`) when a row of one of these kinds was changed, not quietly, by a
       * commit after the one with the sequence number `since`. Stands before the changes of its own commit.
       */
      readonly op: 'still';
      readonly kinds: readonly string[];
      readonly since: number;
    }
  | { readonly op: 'journal'; readonly entry: JournalEntry }
  | {
      readonly op: 'enqueue';
      readonly queue: string;
      readonly id: string;
      /** Greater is sooner. */
      readonly priority: number;
      /** Whose share it counts against: claims go round the shares that hold the fewest leases. */
      readonly share: string;
      /** Unix milliseconds before which it is not claimed. */
      readonly readyAtMs: number;
      /**
       * An item that waits already takes the new priority, share and time, loses its lease and keeps its count of
       * claims and its age. With an owner: fails with a Conflict unless this owner holds the lease.
       */
      readonly owner?: string;
    }
  | {
      readonly op: 'dequeue';
      readonly queue: string;
      readonly id: string;
      /** Fails with a Conflict unless this owner claimed the item last; without an owner, a missing item is no fault. */
      readonly owner?: string;
    }
  | {
      /** Fails with a Conflict unless this owner claimed the item last. */
      readonly op: 'renew';
      readonly queue: string;
      readonly id: string;
      readonly owner: string;
      readonly untilMs: number;
    };

/** Changes of one domain. */
export type DomainChanges = { readonly domain: string; readonly changes: readonly Change[] };

/**
 * What a commit left behind: the domain's sequence number after it, and the new version of each put, by `kind/id`.
 * Every journal entry and every change that is not quiet takes one number; work items take none.
 */
export type Committed = { readonly seq: number; readonly versions: ReadonlyMap<string, number> };

/** A commit was refused and changed nothing. */
export class Conflict extends Error {
  override name = 'Conflict';
  /**
   * `version`: the row is not at the version expected. `unique`: a key is taken. `lease`: another owner holds it.
   * `stale`: the row, which is the newest of its like, changed after the sequence number named.
   */
  readonly reason: 'version' | 'unique' | 'lease' | 'stale';
  readonly kind: string;
  readonly id: string;
  /** Name of the unique key that is taken; for `stale` the sequence number of the change, in digits. */
  readonly key: string | undefined;

  constructor(reason: Conflict['reason'], kind: string, id: string, key?: string) {
    super(`${reason} conflict on ${kind}/${id}${key === undefined ? '' : ` (${key})`}`);
    this.reason = reason;
    this.kind = kind;
    this.id = id;
    this.key = key;
  }
}

/** The database cannot be reached, is full, or the store is closed; nothing was changed as far as is known. */
export class StoreUnavailable extends Error {
  override name = 'StoreUnavailable';
}

/** A watcher asked for feed entries that are no longer kept: it has to read everything again and watch from `lastSeq`. */
export class FeedGone extends Error {
  override name = 'FeedGone';
}

export type FeedEntry = {
  readonly seq: number;
  readonly kind: string;
  readonly id: string;
  readonly op: 'put' | 'drop';
};

export type Claim = {
  readonly id: string;
  /** Counts claims of this item from 1. */
  readonly attempt: number;
  readonly untilMs: number;
};

export type ClaimRequest = {
  /** Who will hold the lease: one process. */
  readonly owner: string;
  readonly leaseMs: number;
  readonly limit: number;
  readonly nowMs: number;
  /** Ids of items this process cannot work on; they are left to others. */
  readonly except?: readonly string[];
};

export type Store = AsyncDisposable & {
  readonly driver: 'sqlite' | 'postgres';
  get<T extends object = JsonObject>(domain: string, kind: string, id: string): Promise<Row<T> | undefined>;
  /** The id of the row that holds this unique key. */
  find(domain: string, kind: string, key: string, value: string): Promise<string | undefined>;
  query<T extends object = JsonObject>(domain: string, kind: string, query: Query): Promise<Row<T>[]>;
  count(domain: string, kind: string, where?: readonly Condition[]): Promise<number>;
  /** Journal entries, newest first. */
  history(domain: string, query: HistoryQuery): Promise<(JournalEntry & { seq: number })[]>;
  /**
   * Commits that wait while a disk sync runs share the next one. `also`: changes of further domains, each named once,
   * that are part of the same commit: all or none. Rejects with Conflict or StoreUnavailable.
   */
  commit(domain: string, changes: readonly Change[], also?: readonly DomainChanges[]): Promise<Committed>;
  /**
   * Takes up to `limit` items whose lease is absent or over: greatest priority first, then the share with the fewest
   * running leases, then the oldest. Safe against any number of processes.
   */
  claim(domain: string, queue: string, request: ClaimRequest): Promise<Claim[]>;
  /**
   * Feed entries after `fromSeq`, in order, for ever; ends when the signal aborts or the store is disposed. Lives
   * through a lost database without a gap. Throws FeedGone when `fromSeq` lies before what is kept.
   */
  watch(domain: string, fromSeq: number, signal: AbortSignal): AsyncIterable<FeedEntry>;
  /** The domain's newest sequence number; 0 when nothing was ever written. */
  lastSeq(domain: string): Promise<number>;
  /** Drops up to `limit` of the oldest journal entries before the time `before` (as in `dtutc`); returns how many. */
  pruneJournal(domain: string, before: string, limit: number): Promise<number>;
  /** Makes conditions on this path of this kind quick, in all domains. Idempotent; may take long on many rows. */
  ensureIndex(kind: string, path: string): Promise<void>;
};
