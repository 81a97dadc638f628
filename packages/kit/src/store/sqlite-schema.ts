/**
 * The numbered schema steps of the SQLite driver; PRAGMA user_version holds the number of the last one applied. A step
 * that was released is never changed: what comes later is a new step.
 */
import type { DatabaseSync } from 'node:sqlite';

const STEP_1 = `
  CREATE TABLE domains (domain TEXT PRIMARY KEY, seq INTEGER NOT NULL, feed_gone INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE rows (
    domain TEXT NOT NULL, kind TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, keys TEXT NOT NULL, data TEXT NOT NULL,
    PRIMARY KEY (domain, kind, id));
  CREATE TABLE uniques (
    domain TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, id TEXT NOT NULL,
    PRIMARY KEY (domain, kind, name, value)) WITHOUT ROWID;
  CREATE TABLE feed (
    domain TEXT NOT NULL, seq INTEGER NOT NULL, kind TEXT NOT NULL, id TEXT NOT NULL, op TEXT NOT NULL,
    PRIMARY KEY (domain, seq)) WITHOUT ROWID;
  CREATE TABLE journal (
    domain TEXT NOT NULL, seq INTEGER NOT NULL, dtutc TEXT NOT NULL, cmdtype TEXT NOT NULL, modifierid TEXT NOT NULL,
    modifiername TEXT NOT NULL, objtype TEXT NOT NULL, objid TEXT, objkey TEXT, fields TEXT, obj TEXT NOT NULL,
    addr TEXT);
  CREATE UNIQUE INDEX journal_by_time ON journal (domain, dtutc, seq);
  CREATE INDEX journal_by_id ON journal (domain, objtype, objid, dtutc, seq);
  CREATE INDEX journal_by_key ON journal (domain, objtype, objkey, dtutc, seq) WHERE objkey IS NOT NULL;
  CREATE TABLE retention (is_open INTEGER NOT NULL);
  INSERT INTO retention VALUES (0);
  CREATE TRIGGER journal_keeps BEFORE UPDATE ON journal BEGIN
    SELECT raise(ABORT, 'the journal is append-only'); END;
  CREATE TRIGGER journal_stays BEFORE DELETE ON journal WHEN (SELECT is_open FROM retention) = 0 BEGIN
    SELECT raise(ABORT, 'the journal is append-only'); END;
  CREATE TABLE work (
    no INTEGER PRIMARY KEY AUTOINCREMENT, domain TEXT NOT NULL, queue TEXT NOT NULL, id TEXT NOT NULL,
    priority INTEGER NOT NULL, share TEXT NOT NULL, ready_at INTEGER NOT NULL,
    owner TEXT, until_at INTEGER NOT NULL DEFAULT 0, attempt INTEGER NOT NULL DEFAULT 0,
    UNIQUE (domain, queue, id));
  CREATE INDEX work_by_share ON work (domain, queue, share, priority DESC, no);
  CREATE INDEX work_leased ON work (domain, queue) WHERE owner IS NOT NULL;
`;

const STEPS: readonly string[] = [STEP_1];

/** Number of the newest schema. */
export const SQLITE_SCHEMA = STEPS.length;

const readVersion = (db: DatabaseSync): number =>
  Number((db.prepare('PRAGMA user_version').get() as { user_version: number }).user_version);

/** Brings the file to the newest schema. Throws when a newer program wrote it. */
export const applySchema = (db: DatabaseSync): void => {
  const found = readVersion(db);
  if (found > STEPS.length) {
    throw new Error(`was written by a newer version (schema ${found}, this program knows ${STEPS.length})`);
  }
  for (let step = found; step < STEPS.length; step++) {
    db.exec('BEGIN IMMEDIATE');
    try {
      db.exec(STEPS[step]!);
      db.exec(`PRAGMA user_version = ${step + 1}`);
      db.exec('COMMIT');
    } catch (error) {
      if (db.isTransaction) db.exec('ROLLBACK');
      throw error;
    }
  }
};
