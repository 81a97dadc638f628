/**
 * The writing half of the SQLite driver, inside the writer thread: a batch of requests becomes one transaction, and
 * each request a savepoint in it, so that one refusal harms no neighbour and all share one disk sync.
 */
import type { DatabaseSync } from 'node:sqlite';
import {
  type DomainOps,
  type DropOp,
  type GuardOp,
  type JournalText,
  lastWrites,
  type Op,
  type PutOp,
  type WorkOp,
} from './ops.ts';
import { createClaims } from './sqlite-claim.ts';
import { type Claim, type ClaimRequest, Conflict } from './store.ts';

export type WriteRequest =
  | {
      readonly do: 'commit';
      readonly domain: string;
      readonly ops: readonly Op[];
      readonly also?: readonly DomainOps[];
    }
  | { readonly do: 'claim'; readonly domain: string; readonly queue: string; readonly request: ClaimRequest }
  | { readonly do: 'prune'; readonly domain: string; readonly before: string; readonly limit: number }
  | { readonly do: 'exec'; readonly sql: string };

export type Outcome =
  | { readonly is: 'committed'; readonly seq: number; readonly versions: readonly (readonly [string, number])[] }
  | { readonly is: 'claimed'; readonly claims: readonly Claim[] }
  | { readonly is: 'done'; readonly count: number }
  | { readonly is: 'conflict'; readonly parts: ConstructorParameters<typeof Conflict> }
  | { readonly is: 'unavailable'; readonly message: string }
  | { readonly is: 'failed'; readonly message: string };

/** Primary result codes that mean "this database cannot be written now": BUSY, LOCKED, READONLY, IOERR, FULL, CANTOPEN … */
const UNAVAILABLE_CODES = new Set([5, 6, 8, 10, 11, 13, 14, 26]);

export const isUnavailable = (error: unknown): error is Error =>
  error instanceof Error && 'errcode' in error && UNAVAILABLE_CODES.has(Number(error.errcode) & 0xff);

type Seqs = { read(domain: string): number; set(domain: string, seq: number): void; flush(): void; forget(): void };

/** Sequence numbers of the batch being written: read once, counted in memory, written once before COMMIT. */
const createSeqs = (db: DatabaseSync, feedKeep: number): Seqs => {
  const select = db.prepare('SELECT seq, feed_gone FROM domains WHERE domain = ?');
  const upsert = db.prepare(
    `INSERT INTO domains (domain, seq, feed_gone) VALUES (?, ?, ?)
     ON CONFLICT (domain) DO UPDATE SET seq = excluded.seq, feed_gone = excluded.feed_gone`,
  );
  const prune = db.prepare('DELETE FROM feed WHERE domain = ? AND seq <= ?');
  const known = new Map<string, { seq: number; gone: number; isChanged: boolean }>();
  const load = (domain: string) => {
    let entry = known.get(domain);
    if (entry === undefined) {
      const row = select.get(domain) as { seq: number; feed_gone: number } | undefined;
      entry = { seq: row?.seq ?? 0, gone: row?.feed_gone ?? 0, isChanged: false };
      known.set(domain, entry);
    }
    return entry;
  };
  return {
    read: (domain) => load(domain).seq,
    set: (domain, seq) => {
      const entry = load(domain);
      entry.isChanged ||= entry.seq !== seq;
      entry.seq = seq;
    },
    flush: () => {
      for (const [domain, entry] of known) {
        if (!entry.isChanged) continue;
        // Pruned in steps, so that most commits do not pay for it.
        if (entry.seq - entry.gone > feedKeep + Math.ceil(feedKeep / 16)) {
          entry.gone = entry.seq - feedKeep;
          prune.run(domain, entry.gone);
        }
        upsert.run(domain, entry.seq, entry.gone);
        entry.isChanged = false;
      }
    },
    forget: () => known.clear(),
  };
};

const createRows = (db: DatabaseSync) => {
  const version = db.prepare('SELECT version FROM rows WHERE domain = ? AND kind = ? AND id = ?');
  const put = db.prepare(
    `INSERT INTO rows (domain, kind, id, version, keys, data) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT (domain, kind, id) DO UPDATE 
       SET version = excluded.version, keys = excluded.keys, data = excluded.data`,
  );
  const drop = db.prepare('DELETE FROM rows WHERE domain = ? AND kind = ? AND id = ?');
  const feed = db.prepare('INSERT INTO feed (domain, seq, kind, id, op) VALUES (?, ?, ?, ?, ?)');
  /** Writes the row and returns its new version; 0 when a drop found nothing to drop. `seq`: the last number given. */
  return (domain: string, op: PutOp | DropOp, seq: number, nextSeq: () => number): number => {
    const found = (version.get(domain, op.kind, op.id) as { version: number } | undefined)?.version ?? 0;
    if (op.expect !== undefined && op.expect !== found) throw new Conflict('version', op.kind, op.id);
    if (op.op === 'drop' && found === 0) return 0;
    // Never a version of a row that was dropped before.
    const written = found === 0 ? seq + 1 : found + 1;
    if (op.op === 'put') put.run(domain, op.kind, op.id, written, toKeysText(op), op.json);
    else drop.run(domain, op.kind, op.id);
    if (!op.quiet) feed.run(domain, nextSeq(), op.kind, op.id, op.op);
    return written;
  };
};

/** Throws the Conflict of a guard that does not hold. */
const createGuards = (db: DatabaseSync) => {
  const version = db.prepare('SELECT version FROM rows WHERE domain = ? AND kind = ? AND id = ?');
  const newest = db.prepare(
    `SELECT seq, kind, id FROM feed WHERE domain = ? AND seq > ? AND kind IN (SELECT value FROM json_each(?))
     ORDER BY seq DESC LIMIT 1`,
  );
  const gone = db.prepare('SELECT feed_gone FROM domains WHERE domain = ?');
  return (domain: string, op: GuardOp): void => {
    if (op.op === 'check') {
      const found = (version.get(domain, op.kind, op.id) as { version: number } | undefined)?.version ?? 0;
      if (op.expect !== found) throw new Conflict('version', op.kind, op.id);
      return;
    }
    // What is no longer kept of the feed counts as changed.
    const feedGone = (gone.get(domain) as { feed_gone: number } | undefined)?.feed_gone ?? 0;
    if (op.since < feedGone) throw new Conflict('stale', op.kinds[0] ?? '', '', String(feedGone));
    const changed = newest.get(domain, op.since, JSON.stringify(op.kinds)) as
      | { seq: number; kind: string; id: string }
      | undefined;
    if (changed) throw new Conflict('stale', changed.kind, changed.id, String(changed.seq));
  };
};

const toKeysText = (op: PutOp | DropOp): string => (op.op === 'put' ? JSON.stringify(op.unique) : '[]');

/**
 * Each row keeps its own unique keys as well, so that the usual write, which changes none, touches no other table.
 * Keys may move between the rows of one commit in any order: all that go are freed before the rows are written, and
 * all that come are taken afterwards.
 */
const createUniques = (db: DatabaseSync) => {
  const held = db.prepare('SELECT keys FROM rows WHERE domain = ? AND kind = ? AND id = ?');
  const free = db.prepare('DELETE FROM uniques WHERE domain = ? AND kind = ? AND name = ? AND value = ?');
  const holder = db.prepare('SELECT id FROM uniques WHERE domain = ? AND kind = ? AND name = ? AND value = ?');
  const take = db.prepare('INSERT INTO uniques (domain, kind, name, value, id) VALUES (?, ?, ?, ?, ?)');
  return {
    /** Answers the puts whose keys have to be taken. */
    free: (domain: string, ops: readonly Op[]): PutOp[] => {
      const coming: PutOp[] = [];
      for (const op of lastWrites(ops).values()) {
        const keys = (held.get(domain, op.kind, op.id) as { keys: string } | undefined)?.keys ?? '[]';
        if (keys === toKeysText(op)) continue;
        for (const [name, value] of JSON.parse(keys) as PutOp['unique']) free.run(domain, op.kind, name, value);
        if (op.op === 'put') coming.push(op);
      }
      return coming;
    },
    take: (domain: string, coming: readonly PutOp[]): void => {
      for (const op of coming) {
        for (const [name, value] of op.unique) {
          if (holder.get(domain, op.kind, name, value)) throw new Conflict('unique', op.kind, op.id, name);
          take.run(domain, op.kind, name, value, op.id);
        }
      }
    },
  };
};

const createWork = (db: DatabaseSync) => {
  const item = db.prepare('SELECT no, owner FROM work WHERE domain = ? AND queue = ? AND id = ?');
  const insert = db.prepare(
    'INSERT INTO work (domain, queue, id, priority, share, ready_at) VALUES (?, ?, ?, ?, ?, ?)',
  );
  const again = db.prepare(
    'UPDATE work SET priority = ?, share = ?, ready_at = ?, owner = NULL, until_at = 0 WHERE no = ?',
  );
  const remove = db.prepare('DELETE FROM work WHERE no = ?');
  const renew = db.prepare('UPDATE work SET until_at = ? WHERE no = ?');
  return (domain: string, op: WorkOp): void => {
    const found = item.get(domain, op.queue, op.id) as { no: number; owner: string | null } | undefined;
    if (op.owner !== undefined && found?.owner !== op.owner) throw new Conflict('lease', op.queue, op.id);
    if (op.op === 'enqueue') {
      if (found) again.run(op.priority, op.share, op.readyAtMs, found.no);
      else insert.run(domain, op.queue, op.id, op.priority, op.share, op.readyAtMs);
    } else if (found) {
      if (op.op === 'dequeue') remove.run(found.no);
      else renew.run(op.untilMs, found.no);
    }
  };
};

const createCommit = (db: DatabaseSync, seqs: Seqs) => {
  const writeRow = createRows(db);
  const uniques = createUniques(db);
  const writeWork = createWork(db);
  const guard = createGuards(db);
  const runOther = (domain: string, op: GuardOp | WorkOp): void =>
    op.op === 'check' || op.op === 'still' ? guard(domain, op) : writeWork(domain, op);
  const journal = db.prepare(
    `INSERT INTO journal (domain, seq, dtutc, cmdtype, modifierid, modifiername, objtype, objid, objkey, fields, obj, addr)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const writeJournal = (domain: string, seq: number, e: JournalText): void => {
    const { cmdtype, modifierid, modifiername, objtype, objid, objkey, fields, obj, addr } = e;
    journal.run(domain, seq, e.dtutc, cmdtype, modifierid, modifiername, objtype, objid, objkey, fields, obj, addr);
  };
  const write = (domain: string, ops: readonly Op[]): { seq: number; versions: Map<string, number> } => {
    let seq = seqs.read(domain);
    const nextSeq = (): number => ++seq;
    const versions = new Map<string, number>();
    const coming = uniques.free(domain, ops);
    for (const op of ops) {
      if (op.op === 'put') versions.set(`${op.kind}/${op.id}`, writeRow(domain, op, seq, nextSeq));
      else if (op.op === 'drop') writeRow(domain, op, seq, nextSeq);
      else if (op.op === 'journal') writeJournal(domain, nextSeq(), op.entry);
      else runOther(domain, op);
    }
    uniques.take(domain, coming);
    return { seq, versions };
  };
  return (domain: string, ops: readonly Op[], also: readonly DomainOps[] = []): Outcome => {
    const { seq, versions } = write(domain, ops);
    const others = also.map((part) => ({ name: part.domain, seq: write(part.domain, part.ops).seq }));
    // Only when no part was refused.
    for (const other of others) seqs.set(other.name, other.seq);
    seqs.set(domain, seq);
    return { is: 'committed', seq, versions: [...versions] };
  };
};

const createPrune = (db: DatabaseSync) => {
  const remove = db.prepare(
    `DELETE FROM journal WHERE rowid IN
     (SELECT rowid FROM journal WHERE domain = ? AND dtutc < ? ORDER BY dtutc, seq LIMIT ?)`,
  );
  return (domain: string, before: string, limit: number): Outcome => {
    db.exec('UPDATE retention SET is_open = 1');
    const { changes } = remove.run(domain, before, limit);
    db.exec('UPDATE retention SET is_open = 0');
    return { is: 'done', count: Number(changes) };
  };
};

/** Runs batches: each is one transaction, durable when the function returns. `feedKeep`: feed entries kept per domain. */
export const createBatchRunner = (db: DatabaseSync, feedKeep: number) => {
  const seqs = createSeqs(db, feedKeep);
  const commit = createCommit(db, seqs);
  const claim = createClaims(db);
  const prune = createPrune(db);
  const runOne = (request: WriteRequest): Outcome => {
    if (request.do === 'commit') return commit(request.domain, request.ops, request.also);
    if (request.do === 'claim') {
      return { is: 'claimed', claims: claim(request.domain, request.queue, request.request) };
    }
    if (request.do === 'prune') return prune(request.domain, request.before, request.limit);
    db.exec(request.sql);
    return { is: 'done', count: 0 };
  };
  const runGuarded = (request: WriteRequest): Outcome => {
    db.exec('SAVEPOINT one');
    try {
      const outcome = runOne(request);
      db.exec('RELEASE one');
      return outcome;
    } catch (error) {
      if (isUnavailable(error) || !db.isTransaction) throw error;
      db.exec('ROLLBACK TO one; RELEASE one');
      if (error instanceof Conflict) {
        return { is: 'conflict', parts: [error.reason, error.kind, error.id, error.key] };
      }
      return { is: 'failed', message: error instanceof Error ? error.message : String(error) };
    }
  };
  return (requests: readonly WriteRequest[]): Outcome[] => {
    try {
      db.exec('BEGIN IMMEDIATE');
      const outcomes = requests.map(runGuarded);
      seqs.flush();
      db.exec('COMMIT');
      return outcomes;
    } catch (error) {
      seqs.forget();
      if (db.isTransaction) db.exec('ROLLBACK');
      const message = error instanceof Error ? error.message : String(error);
      return requests.map(() => ({ is: 'unavailable', message }));
    }
  };
};
