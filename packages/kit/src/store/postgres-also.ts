/**
 * Commits that reach into further domains, inside the database: their parts run in the subtransaction of the commit,
 * after its own, so that one refusal undoes all. The rows of all domains of the batch are locked first, as before.
 */
export const ALSO_FUNCTIONS = `
CREATE OR REPLACE FUNCTION parley.run_batch(batch uuid, requests jsonb, docs json[], feed_keep bigint) RETURNS jsonb
LANGUAGE plpgsql AS $f$
DECLARE
  request jsonb;
  part jsonb;
  result jsonb;
  detail text;
  results jsonb[] := '{}';
  names text[];
  longest record;
BEGIN
  INSERT INTO parley.batches (id) VALUES (batch);
  IF current_setting('synchronous_commit') = 'off' THEN PERFORM set_config('synchronous_commit', 'local', true); END IF;
  IF requests @? '$[*].also' THEN
    SELECT array_agg(DISTINCT x.name) INTO names FROM (
      SELECT r->>'domain' AS name FROM jsonb_array_elements(requests) r
      UNION ALL
      SELECT jsonb_path_query(requests, '$[*].also[*].domain')->>0) x;
  ELSE
    SELECT array_agg(DISTINCT r->>'domain') INTO names FROM jsonb_array_elements(requests) r;
  END IF;
  IF (SELECT count(*) FROM parley.domains WHERE domain = ANY (names)) < cardinality(names) THEN
    INSERT INTO parley.domains (domain, seq, feed_gone) SELECT x, 0, 0 FROM unnest(names) x ORDER BY x COLLATE "C"
    ON CONFLICT DO NOTHING;
  END IF;
  PERFORM 1 FROM parley.domains WHERE domain = ANY (names) ORDER BY domain FOR UPDATE;
  FOR request IN SELECT * FROM jsonb_array_elements(requests) LOOP
    BEGIN
      result := parley.run_commit(request->>'domain', request, docs);
      IF request ? 'also' THEN
        FOR part IN SELECT * FROM jsonb_array_elements(request->'also') LOOP
          PERFORM parley.run_commit(part->>'domain', part, docs);
        END LOOP;
      END IF;
      results := results || result;
    EXCEPTION
      WHEN SQLSTATE 'PY001' THEN
        GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
        results := results || detail::jsonb;
      WHEN data_exception OR program_limit_exceeded OR integrity_constraint_violation THEN
        results := results || jsonb_build_object('is', 'failed', 'message', SQLERRM);
    END;
  END LOOP;
  FOR longest IN SELECT domain, seq FROM parley.domains
    WHERE domain = ANY (names) AND seq - feed_gone > feed_keep + feed_keep / 16 + 1 LOOP
    DELETE FROM parley.feed WHERE domain = longest.domain AND seq <= longest.seq - feed_keep;
    UPDATE parley.domains SET feed_gone = longest.seq - feed_keep WHERE domain = longest.domain;
  END LOOP;
  IF random() < 0.01 THEN DELETE FROM parley.batches WHERE written_at < now() - interval '1 hour'; END IF;
  UPDATE parley.batches SET outcomes = to_jsonb(results) WHERE id = batch;
  RETURN to_jsonb(results);
END $f$;
`;
