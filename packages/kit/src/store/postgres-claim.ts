/**
 * Claims on PostgreSQL, one statement: $1 domain, $2 queue, $3 now, $4 limit, $5 owner, $6 end of the lease, $7 ids to
 * leave alone. Shares and `rank` as in sqlite-claim.ts. Items that another claim holds at this moment are passed over,
 * so more are looked at than are wanted. The conditions stand twice, because an item that was claimed since the
 * statement began is looked at again, and only by the outer ones.
 */

/** Claims of one share that may run at the same moment without one coming back with less than there is. */
const MAX_AT_ONCE = 64;

export const CLAIM = `
  WITH RECURSIVE shares (share) AS (
    (SELECT share FROM parley.work WHERE domain = $1 AND queue = $2 ORDER BY share LIMIT 1)
    UNION ALL
    SELECT (SELECT w.share FROM parley.work w WHERE w.domain = $1 AND w.queue = $2 AND w.share > shares.share
      ORDER BY w.share LIMIT 1)
    FROM shares WHERE share IS NOT NULL),
  running AS (
    SELECT share, count(*) AS n FROM parley.work
    WHERE domain = $1 AND queue = $2 AND owner IS NOT NULL AND until_at > $3 GROUP BY share),
  ranked AS (
    SELECT c.no, coalesce(n, 0) + row_number() OVER (PARTITION BY share ORDER BY c.priority DESC, c.no) AS rank
    FROM shares CROSS JOIN LATERAL (
      SELECT no, priority FROM parley.work w
      WHERE w.domain = $1 AND w.queue = $2 AND w.share = shares.share AND w.until_at <= $3 AND w.ready_at <= $3
        AND w.id <> ALL ($7::text[])
      ORDER BY w.priority DESC, w.no LIMIT $4::bigint + ${MAX_AT_ONCE}) c
    LEFT JOIN running USING (share)),
  picked AS (
    SELECT w.no, w.priority, r.rank FROM parley.work w JOIN ranked r ON r.no = w.no
    WHERE w.until_at <= $3 AND w.ready_at <= $3
    ORDER BY w.priority DESC, r.rank, w.no LIMIT $4 FOR UPDATE OF w SKIP LOCKED),
  leased AS (
    UPDATE parley.work w SET owner = $5, until_at = $6, attempt = w.attempt + 1
    FROM picked p WHERE w.no = p.no RETURNING w.no, w.id, w.attempt, p.priority, p.rank)
  SELECT id, attempt FROM leased ORDER BY priority DESC, rank, no`;
