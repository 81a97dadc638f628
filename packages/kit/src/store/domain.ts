/** Records: a Store narrowed to one domain, so that whoever holds it cannot reach across tenants. */
import type {
  Change,
  Claim,
  ClaimRequest,
  Committed,
  Condition,
  FeedEntry,
  HistoryQuery,
  JournalEntry,
  JsonObject,
  Query,
  Row,
  Store,
} from './store.ts';

/** The members of Store without their domain; each means what it means there. */
export type Records = {
  readonly domain: string;
  readonly driver: Store['driver'];
  get<T extends object = JsonObject>(kind: string, id: string): Promise<Row<T> | undefined>;
  find(kind: string, key: string, value: string): Promise<string | undefined>;
  query<T extends object = JsonObject>(kind: string, query: Query): Promise<Row<T>[]>;
  count(kind: string, where?: readonly Condition[]): Promise<number>;
  history(query: HistoryQuery): Promise<(JournalEntry & { seq: number })[]>;
  commit(changes: readonly Change[]): Promise<Committed>;
  claim(queue: string, request: ClaimRequest): Promise<Claim[]>;
  watch(fromSeq: number, signal: AbortSignal): AsyncIterable<FeedEntry>;
  lastSeq(): Promise<number>;
  pruneJournal(before: string, limit: number): Promise<number>;
};

/** The store's rows of one domain. */
export const recordsOf = (store: Store, domain: string): Records => ({
  domain,
  driver: store.driver,
  get: (kind, id) => store.get(domain, kind, id),
  find: (kind, key, value) => store.find(domain, kind, key, value),
  query: (kind, query) => store.query(domain, kind, query),
  count: (kind, where) => store.count(domain, kind, where),
  history: (query) => store.history(domain, query),
  commit: (changes) => store.commit(domain, changes),
  claim: (queue, request) => store.claim(domain, queue, request),
  watch: (fromSeq, signal) => store.watch(domain, fromSeq, signal),
  lastSeq: () => store.lastSeq(domain),
  pruneJournal: (before, limit) => store.pruneJournal(domain, before, limit),
});
