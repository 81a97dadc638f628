/**
 * Versions of rows, inside the database: a new row begins with the sequence number its change gets, so that a row that
 * was dropped and made again never has a version of its former life, and whoever expects that one is refused.
 */
export const VERSION_FUNCTIONS = `
CREATE OR REPLACE FUNCTION parley.write_row(d text, op jsonb, doc json, next_seq bigint) RETURNS bigint
LANGUAGE plpgsql AS $f$
DECLARE
  k text := op->>'kind';
  i text := op->>'id';
  found bigint;
  written bigint;
BEGIN
  SELECT version INTO found FROM parley.rows WHERE domain = d AND kind = k AND id = i;
  found := coalesce(found, 0);
  written := CASE found WHEN 0 THEN next_seq ELSE found + 1 END;
  IF (op->>'expect')::bigint <> found THEN PERFORM parley.conflict('version', k, i, NULL); END IF;
  IF op->>'op' = 'drop' AND found = 0 THEN RETURN 0; END IF;
  IF op->>'op' = 'drop' THEN
    DELETE FROM parley.rows WHERE domain = d AND kind = k AND id = i;
  ELSIF found = 0 THEN
    INSERT INTO parley.rows (domain, kind, id, version, keys, data) VALUES (d, k, i, written, op->'keys', doc);
  ELSE
    UPDATE parley.rows SET version = written, keys = op->'keys', data = doc
    WHERE domain = d AND kind = k AND id = i;
  END IF;
  IF NOT (op->>'quiet')::boolean THEN
    INSERT INTO parley.feed (domain, seq, kind, id, op) VALUES (d, next_seq, k, i, op->>'op');
  END IF;
  RETURN written;
END $f$;
`;
