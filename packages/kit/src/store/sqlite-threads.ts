/** The main thread's side of the writer and the reader: starting, asking, ending. */
import type { SQLInputValue } from 'node:sqlite';
import type { Worker } from 'node:worker_threads';
import { startThread } from '../thread.ts';
import type { Outcome, WriteRequest } from './sqlite-apply.ts';
import type { ReadReply, ReadRequest } from './sqlite-reader.ts';
import type { WriterData } from './sqlite-writer.ts';
import { StoreUnavailable } from './store.ts';

const gone = (what: string, cause?: unknown): StoreUnavailable =>
  new StoreUnavailable(`The ${what} thread of the database has ended.`, { cause });

const ended = (worker: Worker): Promise<void> =>
  new Promise((resolve) => {
    worker.once('exit', () => resolve());
  });

export type Writer = {
  run(batch: readonly WriteRequest[]): Promise<readonly Outcome[]>;
  close(): Promise<void>;
};

type Ready = { ready: true } | { ready: false; message: string; isUnavailable: boolean };

/** Starts the writer; rejects with an Error naming the file when it cannot be opened. */
export const startWriter = async (file: string, feedKeep: number): Promise<Writer> => {
  const worker = startThread(new URL('./sqlite-writer.ts', import.meta.url), {
    workerData: { file, feedKeep } satisfies WriterData,
  });
  const exit = ended(worker);
  let fault: StoreUnavailable | undefined;
  let answer: { resolve(message: unknown): void; reject(error: Error): void } | undefined;
  const fail = (cause?: unknown): void => {
    fault ??= gone('writing', cause);
    answer?.reject(fault);
    answer = undefined;
  };
  worker.on('message', (message: unknown) => {
    const waiting = answer;
    answer = undefined;
    waiting?.resolve(message);
  });
  worker.on('error', fail);
  worker.on('exit', () => fail());
  const nextMessage = (): Promise<unknown> =>
    new Promise((resolve, reject) => {
      answer = { resolve, reject };
      if (fault) fail();
    });
  const ready = (await nextMessage()) as Ready;
  if (!ready.ready) {
    await exit;
    const message = `The database file ${file} cannot be opened: ${ready.message}`;
    throw ready.isUnavailable ? new StoreUnavailable(message) : new Error(message);
  }
  return {
    run: (batch) => {
      const reply = nextMessage();
      worker.postMessage(batch);
      return reply as Promise<readonly Outcome[]>;
    },
    close: async () => {
      worker.postMessage('close');
      await exit;
    },
  };
};

export type Reader = {
  read(sql: string, params: readonly SQLInputValue[]): Promise<unknown[][]>;
  close(): Promise<void>;
};

/** The reader; its thread starts with the first question and again when it died. */
export const startReader = (file: string): Reader => {
  type Waiting = { resolve(rows: unknown[][]): void; reject(error: Error): void };
  const waiting = new Map<number, Waiting>();
  let current: { worker: Worker; exit: Promise<void> } | undefined;
  let isClosed = false;
  let lastNo = 0;
  const onReply = (reply: ReadReply): void => {
    const asked = waiting.get(reply.no);
    waiting.delete(reply.no);
    if ('rows' in reply) asked?.resolve(reply.rows);
    else asked?.reject(reply.isUnavailable ? new StoreUnavailable(reply.message) : new Error(reply.message));
  };
  const onEnd = (cause?: unknown): void => {
    current = undefined;
    for (const asked of waiting.values()) asked.reject(gone('reading', cause));
    waiting.clear();
  };
  const start = (): { worker: Worker; exit: Promise<void> } => {
    const worker = startThread(new URL('./sqlite-reader.ts', import.meta.url), { workerData: file });
    worker.on('message', onReply);
    worker.once('error', onEnd);
    worker.once('exit', () => onEnd());
    return { worker, exit: ended(worker) };
  };
  return {
    read: (sql, params) =>
      new Promise((resolve, reject) => {
        if (isClosed) {
          reject(new StoreUnavailable('The store is closed.'));
          return;
        }
        current ??= start();
        lastNo += 1;
        waiting.set(lastNo, { resolve, reject });
        current.worker.postMessage({ no: lastNo, sql, params } satisfies ReadRequest);
      }),
    close: async () => {
      isClosed = true;
      if (!current) return;
      const { worker, exit } = current;
      worker.postMessage('close');
      await exit;
    },
  };
};
