/** Claims on SQLite: the one writer thread is the lock, so a claim reads the queue and takes items in one step. */
import type { DatabaseSync } from 'node:sqlite';
import type { Claim, ClaimRequest } from './store.ts';

/**
 * Reads only the first items of each share, however long the queue is. `rank` is the number of leases an item's share
 * would hold once all items of that share before it were taken too, so that ordering by it goes round the shares.
 */
const PICK = `
  WITH RECURSIVE shares (share) AS (
    SELECT min(share) FROM work WHERE domain = :domain AND queue = :queue
    UNION ALL
    SELECT (SELECT min(share) FROM work WHERE domain = :domain AND queue = :queue AND share > shares.share)
    FROM shares WHERE share IS NOT NULL),
  running AS (
    SELECT share, count(*) AS n FROM work
    WHERE domain = :domain AND queue = :queue AND owner IS NOT NULL AND until_at > :now GROUP BY share)
  SELECT w.no, w.id, w.attempt,
    coalesce(n, 0) + row_number() OVER (PARTITION BY w.share ORDER BY w.priority DESC, w.no) AS rank
  FROM shares JOIN work w ON w.no IN (
    SELECT no FROM work WHERE domain = :domain AND queue = :queue AND share = shares.share
      AND until_at <= :now AND ready_at <= :now AND id NOT IN (SELECT value FROM json_each(:except)) ORDER BY priority DESC, no LIMIT :limit)
  LEFT JOIN running ON running.share = w.share
  ORDER BY w.priority DESC, rank, w.no LIMIT :limit`;

export const createClaims = (db: DatabaseSync) => {
  const pick = db.prepare(PICK);
  const lease = db.prepare('UPDATE work SET owner = ?, until_at = ?, attempt = ? WHERE no = ?');
  return (domain: string, queue: string, { owner, leaseMs, limit, nowMs, except = [] }: ClaimRequest): Claim[] => {
    const untilMs = nowMs + leaseMs;
    const found = pick.all({ domain, queue, now: nowMs, limit, except: JSON.stringify(except) }) as {
      no: number;
      id: string;
      attempt: number;
    }[];
    return found.map(({ no, id, attempt }) => {
      lease.run(owner, untilMs, attempt + 1, no);
      return { id, attempt: attempt + 1, untilMs };
    });
  };
};
