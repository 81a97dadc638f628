/** The reader thread of the SQLite driver: runs the queries that may take long, away from the event loop. */
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';
import { isUnavailable } from './sqlite-apply.ts';

export type ReadRequest = { readonly no: number; readonly sql: string; readonly params: readonly SQLInputValue[] };
export type ReadReply =
  | { readonly no: number; readonly rows: unknown[][] }
  | { readonly no: number; readonly message: string; readonly isUnavailable: boolean };

/** Compiled statements kept; conditions of callers make many shapes. */
const MAX_STATEMENTS = 100;

const createRunner = (db: DatabaseSync) => {
  const statements = new Map<string, StatementSync>();
  const prepare = (sql: string): StatementSync => {
    const statement = statements.get(sql) ?? db.prepare(sql);
    statement.setReturnArrays(true);
    statements.delete(sql);
    statements.set(sql, statement);
    if (statements.size > MAX_STATEMENTS) statements.delete(statements.keys().next().value!);
    return statement;
  };
  return ({ no, sql, params }: ReadRequest): ReadReply => {
    try {
      return { no, rows: prepare(sql).all(...params) as unknown as unknown[][] };
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      return { no, message, isUnavailable: isUnavailable(error) };
    }
  };
};

if (parentPort) {
  const port = parentPort;
  const db = new DatabaseSync(workerData as string, { readOnly: true, timeout: 5000 });
  const run = createRunner(db);
  port.on('message', (message: ReadRequest | 'close') => {
    if (message !== 'close') {
      port.postMessage(run(message));
      return;
    }
    db.close();
    port.close();
  });
}
