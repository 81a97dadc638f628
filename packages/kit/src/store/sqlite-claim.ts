/** Claims on SQLite: the one writer thread is the lock, so a claim reads the queue and takes items in one step. */
import type { DatabaseSync } from 'node:sqlite';
import type { Claim, ClaimRequest } from './store.ts';

/**
 * `rank` is the number of leases an item's share would hold once all items of that share before it were taken too, so
 * that ordering by it goes round the shares.
 */
const PICK = `
  WITH running AS (
    SELECT share, count(*) AS n FROM work WHERE domain = :domain AND queue = :queue AND until_at > :now GROUP BY share)
  SELECT no, id, attempt, priority,
    coalesce(n, 0) + row_number() OVER (PARTITION BY work.share ORDER BY priority DESC, no) AS rank
  FROM work LEFT JOIN running ON running.share = work.share
  WHERE domain = :domain AND queue = :queue AND until_at <= :now AND ready_at <= :now
  ORDER BY priority DESC, rank, no LIMIT :limit`;

export const createClaims = (db: DatabaseSync) => {
  const pick = db.prepare(PICK);
  const lease = db.prepare('UPDATE work SET owner = ?, until_at = ?, attempt = ? WHERE no = ?');
  return (domain: string, queue: string, { owner, leaseMs, limit, nowMs }: ClaimRequest): Claim[] => {
    const untilMs = nowMs + leaseMs;
    const found = pick.all({ domain, queue, now: nowMs, limit }) as { no: number; id: string; attempt: number }[];
    return found.map(({ no, id, attempt }) => {
      lease.run(owner, untilMs, attempt + 1, no);
      return { id, attempt: attempt + 1, untilMs };
    });
  };
};
