/**
 * The writer thread of the SQLite driver: owns the lock and the only connection that writes. Each message is one batch
 * and is answered by one message with the outcomes in the same order.
 */
import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';
import { createBatchRunner, isUnavailable, type WriteRequest } from './sqlite-apply.ts';
import { applySchema } from './sqlite-schema.ts';

export type WriterData = { readonly file: string; readonly feedKeep: number };

/** Pages of 4 KiB after which the log is copied into the file; each time costs two more disk syncs. */
const CHECKPOINT_PAGES = 4000;
const MAX_LOG_BYTES = 64 * 1024 * 1024;

const SQLITE_BUSY = 5;

/**
 * One process per file. The lock is an exclusive transaction on an empty database beside it: the operating system
 * frees it when the process dies, however it dies.
 */
const takeLock = (file: string): DatabaseSync => {
  const lock = new DatabaseSync(`${file}-lock`, { timeout: 0 });
  try {
    lock.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
    return lock;
  } catch (error) {
    lock.close();
    if (error instanceof Error && 'errcode' in error && Number(error.errcode) === SQLITE_BUSY) {
      throw new Error('is in use by another process');
    }
    throw error;
  }
};

const openFile = (file: string): DatabaseSync => {
  const isNew = !existsSync(file);
  const db = new DatabaseSync(file, { timeout: 5000 });
  try {
    if (isNew) db.exec('PRAGMA page_size = 4096');
    db.exec('PRAGMA journal_mode = WAL');
    db.exec('PRAGMA synchronous = FULL');
    db.exec(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
    db.exec(`PRAGMA journal_size_limit = ${MAX_LOG_BYTES}`);
    applySchema(db);
    // Without statistics SQLite prefers the primary key to a better index; this reads a few hundred rows at most.
    db.exec('PRAGMA analysis_limit = 400; PRAGMA optimize = 0x10002');
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
};

const serve = ({ file, feedKeep }: WriterData, port: NonNullable<typeof parentPort>): void => {
  const lock = takeLock(file);
  const db = openFile(file);
  const run = createBatchRunner(db, feedKeep);
  port.on('message', (message: readonly WriteRequest[] | 'close') => {
    if (message !== 'close') {
      port.postMessage(run(message));
      return;
    }
    db.close();
    lock.close();
    port.close();
  });
  port.postMessage({ ready: true });
};

if (parentPort) {
  try {
    serve(workerData as WriterData, parentPort);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    parentPort.postMessage({ ready: false, message, isUnavailable: isUnavailable(error) });
    parentPort.close();
  }
}
