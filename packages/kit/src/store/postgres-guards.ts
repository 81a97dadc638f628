/**
 * Guards of a commit, inside the database: what must still be as the writer saw it, though the commit changes none of
 * it. They hold because the domain's row is locked for the whole batch, so that nobody writes in between.
 */
export const GUARD_FUNCTIONS = `
CREATE FUNCTION parley.check_row(d text, op jsonb) RETURNS void LANGUAGE plpgsql AS $f$
DECLARE
  found bigint;
BEGIN
  SELECT version INTO found FROM parley.rows WHERE domain = d AND kind = op->>'kind' AND id = op->>'id';
  IF (op->>'expect')::bigint <> coalesce(found, 0) THEN
    PERFORM parley.conflict('version', op->>'kind', op->>'id', NULL);
  END IF;
END $f$;

-- What is no longer kept of the feed counts as changed: whoever asks is too far behind to know.
CREATE FUNCTION parley.check_still(d text, guard jsonb) RETURNS void LANGUAGE plpgsql AS $f$
DECLARE
  since bigint := (guard->>'since')::bigint;
  gone bigint;
  changed record;
BEGIN
  SELECT feed_gone INTO gone FROM parley.domains WHERE domain = d;
  IF since < gone THEN PERFORM parley.conflict('stale', guard->'kinds'->>0, '', gone::text); END IF;
  SELECT f.seq, f.kind, f.id INTO changed FROM parley.feed f
  WHERE f.domain = d AND f.seq > since AND f.kind IN (SELECT jsonb_array_elements_text(guard->'kinds'))
  ORDER BY f.seq DESC LIMIT 1;
  IF FOUND THEN PERFORM parley.conflict('stale', changed.kind, changed.id, changed.seq::text); END IF;
END $f$;

CREATE OR REPLACE FUNCTION parley.run_commit(d text, request jsonb, docs json[]) RETURNS jsonb LANGUAGE plpgsql AS $f$
DECLARE
  op jsonb;
  first_seq bigint;
  last_seq bigint;
  version bigint;
  versions bigint[] := '{}';
  coming jsonb;
BEGIN
  SELECT seq INTO first_seq FROM parley.domains WHERE domain = d;
  last_seq := first_seq;
  coming := parley.free_keys(d, request->'touched');
  FOR op IN SELECT * FROM jsonb_array_elements(request->'ops') LOOP
    IF op->>'op' IN ('put', 'drop') THEN
      version := parley.write_row(d, op, docs[(op->>'doc')::integer], last_seq + 1);
      IF op->>'op' = 'put' THEN versions := versions || version; END IF;
      IF version > 0 AND NOT (op->>'quiet')::boolean THEN last_seq := last_seq + 1; END IF;
    ELSIF op->>'op' = 'journal' THEN
      last_seq := last_seq + 1;
      PERFORM parley.write_journal(d, op->'entry', docs[(op->>'doc')::integer], last_seq);
    ELSIF op->>'op' = 'check' THEN
      PERFORM parley.check_row(d, op);
    ELSIF op->>'op' = 'still' THEN
      PERFORM parley.check_still(d, op);
    ELSE
      PERFORM parley.write_work(d, op);
    END IF;
  END LOOP;
  PERFORM parley.take_keys(d, coming);
  IF last_seq <> first_seq THEN
    UPDATE parley.domains SET seq = last_seq WHERE domain = d;
    PERFORM pg_notify('parley_feed', d);
  END IF;
  RETURN jsonb_build_object('is', 'committed', 'seq', last_seq, 'versions', to_jsonb(versions));
END $f$;
`;
