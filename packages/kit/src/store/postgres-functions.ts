/**
 * The writing half of the PostgreSQL driver, inside the database: a batch of commits is one call, one transaction and
 * one journey over the network, however many rows it writes. Each commit runs in a subtransaction, so that one refusal
 * harms no neighbour. Documents come beside the operations, as a list that operations point into, because text that
 * stands in jsonb would lose the order of its members.
 *
 * Order: the row of each domain in `domains` is locked first, in order of names, until the transaction ends. A sequence
 * number is therefore given only after all lower ones are visible.
 *
 * `batches` remembers what a batch came to. It is written first, so that a process that lost its connection can put the
 * same id there itself: either that waits for the batch and finds its outcomes, or the batch can never commit.
 */
export const COMMIT_FUNCTIONS = `
CREATE FUNCTION parley.conflict(reason text, kind text, id text, name text) RETURNS void LANGUAGE plpgsql AS $f$
BEGIN
  RAISE EXCEPTION 'conflict' USING ERRCODE = 'PY001',
    DETAIL = jsonb_build_object('is', 'conflict', 'parts', jsonb_build_array(reason, kind, id, name))::text;
END $f$;

CREATE FUNCTION parley.write_row(d text, op jsonb, doc json, next_seq bigint) RETURNS bigint LANGUAGE plpgsql AS $f$
DECLARE
  k text := op->>'kind';
  i text := op->>'id';
  found bigint;
BEGIN
  SELECT version INTO found FROM parley.rows WHERE domain = d AND kind = k AND id = i;
  found := coalesce(found, 0);
  IF (op->>'expect')::bigint <> found THEN PERFORM parley.conflict('version', k, i, NULL); END IF;
  IF op->>'op' = 'drop' AND found = 0 THEN RETURN 0; END IF;
  IF op->>'op' = 'drop' THEN
    DELETE FROM parley.rows WHERE domain = d AND kind = k AND id = i;
  ELSIF found = 0 THEN
    INSERT INTO parley.rows (domain, kind, id, version, keys, data) VALUES (d, k, i, 1, op->'keys', doc);
  ELSE
    UPDATE parley.rows SET version = found + 1, keys = op->'keys', data = doc
    WHERE domain = d AND kind = k AND id = i;
  END IF;
  IF NOT (op->>'quiet')::boolean THEN
    INSERT INTO parley.feed (domain, seq, kind, id, op) VALUES (d, next_seq, k, i, op->>'op');
  END IF;
  RETURN found + 1;
END $f$;

CREATE FUNCTION parley.write_journal(d text, e jsonb, doc json, next_seq bigint) RETURNS void LANGUAGE plpgsql AS $f$
BEGIN
  INSERT INTO parley.journal (domain, seq, dtutc, cmdtype, modifierid, modifiername, objtype, objid, objkey, fields,
    obj, addr)
  VALUES (d, next_seq, e->>'dtutc', e->>'cmdtype', e->>'modifierid', e->>'modifiername', e->>'objtype', e->>'objid',
    e->>'objkey', e->>'fields', doc, e->>'addr');
END $f$;

CREATE FUNCTION parley.write_work(d text, op jsonb) RETURNS void LANGUAGE plpgsql AS $f$
DECLARE
  q text := op->>'queue';
  i text := op->>'id';
  item record;
BEGIN
  SELECT no, owner INTO item FROM parley.work WHERE domain = d AND queue = q AND id = i FOR UPDATE;
  IF op ? 'owner' AND item.owner IS DISTINCT FROM op->>'owner' THEN PERFORM parley.conflict('lease', q, i, NULL); END IF;
  IF op->>'op' = 'enqueue' THEN
    INSERT INTO parley.work (domain, queue, id, priority, share, ready_at)
    VALUES (d, q, i, (op->>'priority')::bigint, op->>'share', (op->>'readyAtMs')::bigint)
    ON CONFLICT (domain, queue, id) DO UPDATE SET priority = excluded.priority, share = excluded.share,
      ready_at = excluded.ready_at, owner = NULL, until_at = 0;
  ELSIF op->>'op' = 'dequeue' THEN
    DELETE FROM parley.work WHERE no = item.no;
  ELSE
    UPDATE parley.work SET until_at = (op->>'untilMs')::bigint WHERE no = item.no;
  END IF;
END $f$;

-- Each row keeps its own unique keys as well, so that the usual write, which changes none, touches no other table.
-- All that go are freed before the rows are written, and all that come are taken afterwards: they may move between
-- the rows of one commit in any order.
CREATE FUNCTION parley.free_keys(d text, touched jsonb) RETURNS jsonb LANGUAGE plpgsql AS $f$
DECLARE
  t jsonb;
  held jsonb;
  name_ text;
  value_ text;
  coming jsonb[] := '{}';
BEGIN
  FOR t IN SELECT * FROM jsonb_array_elements(touched) LOOP
    SELECT keys INTO held FROM parley.rows WHERE domain = d AND kind = t->>'kind' AND id = t->>'id';
    held := coalesce(held, '{}');
    IF held = t->'keys' THEN CONTINUE; END IF;
    -- One by one: a join would be planned when the table is empty, and go on reading all of it afterwards.
    FOR name_, value_ IN SELECT * FROM jsonb_each_text(held) LOOP
      DELETE FROM parley.uniques WHERE domain = d AND kind = t->>'kind' AND name = name_ AND value = value_;
    END LOOP;
    coming := coming || t;
  END LOOP;
  RETURN to_jsonb(coming);
END $f$;

CREATE FUNCTION parley.take_keys(d text, coming jsonb) RETURNS void LANGUAGE plpgsql AS $f$
DECLARE
  t jsonb;
  name_ text;
  value_ text;
BEGIN
  FOR t IN SELECT * FROM jsonb_array_elements(coming) LOOP
    FOR name_, value_ IN SELECT * FROM jsonb_each_text(t->'keys') LOOP
      INSERT INTO parley.uniques (domain, kind, name, value, id) VALUES (d, t->>'kind', name_, value_, t->>'id')
      ON CONFLICT (domain, kind, name, value) DO NOTHING;
      IF NOT FOUND THEN PERFORM parley.conflict('unique', t->>'kind', t->>'id', name_); END IF;
    END LOOP;
  END LOOP;
END $f$;

CREATE FUNCTION parley.run_commit(d text, request jsonb, docs json[]) RETURNS jsonb LANGUAGE plpgsql AS $f$
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

CREATE FUNCTION parley.run_batch(batch uuid, requests jsonb, docs json[], feed_keep bigint) RETURNS jsonb
LANGUAGE plpgsql AS $f$
DECLARE
  request jsonb;
  detail text;
  results jsonb[] := '{}';
  names text[];
  longest record;
BEGIN
  INSERT INTO parley.batches (id) VALUES (batch);
  IF current_setting('synchronous_commit') = 'off' THEN PERFORM set_config('synchronous_commit', 'local', true); END IF;
  SELECT array_agg(DISTINCT r->>'domain') INTO names FROM jsonb_array_elements(requests) r;
  IF (SELECT count(*) FROM parley.domains WHERE domain = ANY (names)) < cardinality(names) THEN
    INSERT INTO parley.domains (domain, seq, feed_gone) SELECT x, 0, 0 FROM unnest(names) x ORDER BY x COLLATE "C"
    ON CONFLICT DO NOTHING;
  END IF;
  PERFORM 1 FROM parley.domains WHERE domain = ANY (names) ORDER BY domain FOR UPDATE;
  FOR request IN SELECT * FROM jsonb_array_elements(requests) LOOP
    BEGIN
      results := results || parley.run_commit(request->>'domain', request, docs);
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

CREATE FUNCTION parley.prune_journal(d text, before text, most bigint) RETURNS bigint LANGUAGE plpgsql AS $f$
DECLARE
  n bigint;
BEGIN
  PERFORM set_config('parley.retention', 'open', true);
  DELETE FROM parley.journal WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM parley.journal WHERE domain = d AND dtutc < before ORDER BY dtutc, seq LIMIT most));
  GET DIAGNOSTICS n = ROW_COUNT;
  PERFORM set_config('parley.retention', '', true);
  RETURN n;
END $f$;
`;
