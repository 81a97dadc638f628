/**
 * The numbered schema steps of the PostgreSQL driver, all in the schema `parley`. Applied under an advisory lock, so
 * that any number of processes may start at once. A step that was released is never changed: what comes later is a
 * new step. Text that is ordered or compared has the collation "C": by code point, as SQLite does it.
 */
import type { ClientBase } from 'pg';
import { ALSO_FUNCTIONS } from './postgres-also.ts';
import { COMMIT_FUNCTIONS } from './postgres-functions.ts';
import { GUARD_FUNCTIONS } from './postgres-guards.ts';
import { VERSION_FUNCTIONS } from './postgres-versions.ts';

const STEP_1 = `
  CREATE TABLE parley.domains (
    domain text COLLATE "C" PRIMARY KEY, seq bigint NOT NULL, feed_gone bigint NOT NULL);
  CREATE TABLE parley.rows (
    domain text COLLATE "C" NOT NULL, kind text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL,
    version bigint NOT NULL, keys jsonb NOT NULL, data json NOT NULL, PRIMARY KEY (domain, kind, id));
  CREATE TABLE parley.uniques (
    domain text COLLATE "C" NOT NULL, kind text COLLATE "C" NOT NULL, name text COLLATE "C" NOT NULL,
    value text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL, PRIMARY KEY (domain, kind, name, value));
  CREATE TABLE parley.feed (
    domain text COLLATE "C" NOT NULL, seq bigint NOT NULL, kind text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL, op text NOT NULL, PRIMARY KEY (domain, seq));
  CREATE TABLE parley.journal (
    domain text COLLATE "C" NOT NULL, seq bigint NOT NULL, dtutc text COLLATE "C" NOT NULL, cmdtype text NOT NULL,
    modifierid text NOT NULL, modifiername text NOT NULL, objtype text COLLATE "C" NOT NULL, objid text COLLATE "C",
    objkey text COLLATE "C", fields text, obj json NOT NULL, addr text);
  CREATE UNIQUE INDEX journal_by_time ON parley.journal (domain, dtutc, seq);
  CREATE INDEX journal_by_id ON parley.journal (domain, objtype, objid, dtutc, seq);
  CREATE INDEX journal_by_key ON parley.journal (domain, objtype, left(objkey, 128), dtutc, seq)
    WHERE objkey IS NOT NULL;
  CREATE FUNCTION parley.journal_keeps() RETURNS trigger LANGUAGE plpgsql AS $f$
  BEGIN
    IF TG_OP = 'DELETE' AND current_setting('parley.retention', true) = 'open' THEN RETURN OLD; END IF;
    RAISE EXCEPTION 'the journal is append-only';
  END $f$;
  CREATE TRIGGER journal_keeps BEFORE UPDATE OR DELETE ON parley.journal
    FOR EACH ROW EXECUTE FUNCTION parley.journal_keeps();
  CREATE TRIGGER journal_stays BEFORE TRUNCATE ON parley.journal
    FOR EACH STATEMENT EXECUTE FUNCTION parley.journal_keeps();
  CREATE TABLE parley.work (
    no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, domain text COLLATE "C" NOT NULL,
    queue text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL, priority bigint NOT NULL,
    share text COLLATE "C" NOT NULL, ready_at bigint NOT NULL, owner text, until_at bigint NOT NULL DEFAULT 0,
    attempt integer NOT NULL DEFAULT 0, UNIQUE (domain, queue, id));
  CREATE INDEX work_by_share ON parley.work (domain, queue, share, priority DESC, no);
  CREATE INDEX work_leased ON parley.work (domain, queue) WHERE owner IS NOT NULL;
  CREATE TABLE parley.batches (
    id uuid PRIMARY KEY, outcomes jsonb, written_at timestamptz NOT NULL DEFAULT now());
  CREATE INDEX batches_by_time ON parley.batches (written_at);
  ${COMMIT_FUNCTIONS}
`;

const STEPS: readonly string[] = [STEP_1, GUARD_FUNCTIONS, ALSO_FUNCTIONS, VERSION_FUNCTIONS];

/** Any number will do, as long as all versions of this program use the same. */
export const SCHEMA_LOCK = 7_274_391;

/** Number of the newest schema. */
export const POSTGRES_SCHEMA = STEPS.length;

/** Brings the database to the newest schema, or to step `upTo`. Throws when a newer program wrote it. */
export const applySchema = async (client: ClientBase, upTo = STEPS.length): Promise<void> => {
  await client.query('BEGIN');
  try {
    await client.query('SELECT pg_advisory_xact_lock($1)', [SCHEMA_LOCK]);
    await client.query('CREATE SCHEMA IF NOT EXISTS parley');
    await client.query('CREATE TABLE IF NOT EXISTS parley.schema_steps (step integer PRIMARY KEY)');
    const { rows } = await client.query<{ step: number | null }>('SELECT max(step) AS step FROM parley.schema_steps');
    const found = rows[0]?.step ?? 0;
    if (found > STEPS.length) {
      throw new Error(`was written by a newer version (schema ${found}, this program knows ${STEPS.length})`);
    }
    for (let step = found; step < upTo; step++) {
      await client.query(STEPS[step]!);
      await client.query('INSERT INTO parley.schema_steps VALUES ($1)', [step + 1]);
    }
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined);
    throw error;
  }
};
