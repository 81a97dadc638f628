/**
 * Writing a batch to PostgreSQL, once. A connection lost while a batch is under way leaves its outcome unknown; it is
 * then found out (postgres-functions.ts, `batches`) instead of guessed.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type DomainOps, lastWrites } from './ops.ts';
import {
  asStoreError,
  type Connections,
  isOutcomeUnknown,
  isRetryable,
  type PostgresTimes,
} from './postgres-connection.ts';
import { type Conflict, StoreUnavailable } from './store.ts';

export type CommitRequest = DomainOps & { readonly also?: readonly DomainOps[] };

export type CommitOutcome =
  | { readonly is: 'committed'; readonly seq: number; readonly versions: readonly number[] }
  | { readonly is: 'conflict'; readonly parts: [Conflict['reason'], string, string, string | null] }
  | { readonly is: 'failed'; readonly message: string };

/** Tries of one batch that met a deadlock or a serialization fault. */
const MAX_TRIES = 5;
const RESOLVE_PAUSE_MS = 100;

const RUN = 'SELECT parley.run_batch($1, $2, $3, $4)';
/** Waits for a batch that is still running; afterwards the id is there, whoever put it. */
const VOID = 'INSERT INTO parley.batches (id) VALUES ($1) ON CONFLICT (id) DO NOTHING';
const OUTCOMES = 'SELECT outcomes FROM parley.batches WHERE id = $1';

/** One request as run_batch takes it; documents go into `docs` (counted from 1) and leave their number behind. */
const toRequest = ({ domain, ops, also = [] }: CommitRequest, docs: string[]): object => ({
  ...(also.length > 0 ? { also: also.map((part) => toRequest(part, docs)) } : {}),
  domain,
  ops: ops.map((op) => {
    if (op.op === 'put') {
      const { kind, id, expect, quiet } = op;
      return { op: 'put', kind, id, expect, quiet, keys: Object.fromEntries(op.unique), doc: docs.push(op.json) };
    }
    if (op.op === 'journal') {
      const { obj, ...entry } = op.entry;
      return { op: 'journal', entry, doc: docs.push(obj) };
    }
    return op;
  }),
  touched: [...lastWrites(ops).values()].map((op) => ({
    kind: op.kind,
    id: op.id,
    keys: op.op === 'put' ? Object.fromEntries(op.unique) : {},
  })),
});

/** Runs batches. Each call resolves with the outcomes in order, or rejects with StoreUnavailable for all. */
export const createBatchWriter = (connections: Connections, times: PostgresTimes, feedKeep: number) => {
  const run = async (id: string, requests: string, docs: readonly string[]): Promise<CommitOutcome[]> => {
    for (let tries = 1; ; tries++) {
      try {
        const statement = { name: 'run_batch', text: RUN, values: [id, requests, docs, feedKeep] };
        const rows = await connections.query<[CommitOutcome[]]>({ ...statement, rowMode: 'array' });
        return rows[0]![0];
      } catch (error) {
        if (!isRetryable(error) || tries === MAX_TRIES) throw error;
      }
    }
  };

  /** What became of the batch; undefined when it never was and never will be. */
  const resolve = async (id: string): Promise<CommitOutcome[] | undefined> => {
    const until = performance.now() + times.resolveMs;
    for (;;) {
      try {
        await connections.query({ text: VOID, values: [id], rowMode: 'array' });
        const rows = await connections.query<[CommitOutcome[] | null]>({
          text: OUTCOMES,
          values: [id],
          rowMode: 'array',
        });
        return rows[0]?.[0] ?? undefined;
      } catch (error) {
        if (performance.now() > until) {
          throw new StoreUnavailable('The database was lost during a commit; whether it was written is not known.', {
            cause: error,
          });
        }
        await delay(RESOLVE_PAUSE_MS);
      }
    }
  };

  const write = async (text: string, docs: readonly string[], isLast: boolean): Promise<CommitOutcome[]> => {
    const id = randomUUID();
    try {
      return await run(id, text, docs);
    } catch (error) {
      if (error instanceof StoreUnavailable || !isOutcomeUnknown(error)) throw asStoreError(error);
      const outcomes = await resolve(id);
      if (outcomes) return outcomes;
      // It was not written and never will be, so it may be tried once more.
      if (isLast) throw asStoreError(error);
      return await write(text, docs, true);
    }
  };

  return async (requests: readonly CommitRequest[]): Promise<CommitOutcome[]> => {
    const docs: string[] = [];
    const text = JSON.stringify(requests.map((request) => toRequest(request, docs)));
    return await write(text, docs, false);
  };
};
