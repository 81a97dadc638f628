/**
 * The pool of media processes. Nothing is decoded here. Recordings wait in order of arrival; each process has several
 * at a time, so that a short one need not wait for a long one. When a process dies, each recording it had goes on once
 * more in a process of its own: decoding gives the same segments again, so those that arrived are left out.
 */
import { problem } from '../core/codes.ts';
import type { Media } from './audio.ts';
import { type MediaChild, type MediaLog, startMediaChild } from './media-child.ts';
import { createMediaTask, type MediaTask } from './media-stream.ts';

export type MediaPoolOptions = {
  /** Processes kept at most, at least 1. */
  readonly processes: number;
  readonly log: MediaLog;
  readonly nodeArgs?: readonly string[];
};

/** Recordings one process has open at once. */
const MAX_OPEN = 16;
/** Processes besides the pool's, each for one recording whose process died. */
const MAX_SUSPECT_PROCESSES = 4;
const MAX_DEATHS = 2;
/** Starts that may fail in a row before waiting recordings are given up. */
const MAX_FAILED_STARTS = 3;

type Worker = {
  readonly child: MediaChild;
  readonly tasks: Map<number, MediaTask>;
  readonly suspect: boolean;
  ready: boolean;
  /** Takes no more recordings. */
  retiring: boolean;
};

export type MediaPool = Media & {
  /** Process ids of the running media processes. */
  pids(): number[];
};

/** Starts the pool; the first process starts at once, the others when they are needed. */
export const startMedia = ({ processes, log, nodeArgs = [] }: MediaPoolOptions): MediaPool => {
  const workers = new Set<Worker>();
  const tasks = new Map<number, MediaTask>();
  let waiting: MediaTask[] = [];
  let failedStarts = 0;
  let lastId = 0;
  let disposing: Promise<void> | undefined;

  const retireIfDone = (worker: Worker): void => {
    if (worker.retiring && worker.tasks.size === 0) void worker.child.end();
  };
  const giveUp = (reason: string): void => {
    for (const task of waiting)
      task.fail(problem('inference_failed', 'No media process can be started.', { cause: reason }));
  };
  /** A recording whose process died goes to the front; one that killed two is to blame itself. */
  const onDeath = (task: MediaTask, reason: string): void => {
    task.deaths++;
    if (task.deaths < MAX_DEATHS) waiting.unshift(task);
    else
      task.fail(
        problem('invalid_audio', 'The audio cannot be decoded: it ended its media process twice.', {
          param: 'file',
          cause: reason,
        }),
      );
  };
  const onExit = (worker: Worker, started: boolean, reason: string): void => {
    workers.delete(worker);
    if (disposing !== undefined) return;
    failedStarts = started ? 0 : failedStarts + 1;
    const expected = worker.retiring && worker.tasks.size === 0;
    if (!expected)
      log.warn({ pid: worker.child.pid, started, reason, recordings: worker.tasks.size }, 'media process died');
    for (const task of worker.tasks.values()) if (!task.ended) onDeath(task, reason);
    if (failedStarts >= MAX_FAILED_STARTS) {
      giveUp(reason);
      failedStarts = 0;
    }
    pump();
  };
  const onMessage = (
    worker: Worker,
    message: Parameters<Parameters<typeof startMediaChild>[0]['onMessage']>[0],
  ): void => {
    const task = worker.tasks.get(message.id);
    if (task === undefined) return;
    if (message.type === 'segment') return task.onSegment(message.segment);
    if (message.type === 'progress') return task.onProgress(message.decodedSec);
    worker.tasks.delete(message.id);
    if (message.type === 'done') task.onDone(message.summary);
    else task.fail(problem(message.code, message.message, message.param === undefined ? {} : { param: message.param }));
    if (worker.suspect) worker.retiring = true;
    retireIfDone(worker);
    pump();
  };
  const startWorker = (suspect: boolean): void => {
    const child = startMediaChild({
      log,
      nodeArgs,
      onMessage: (message) => onMessage(worker, message),
      onReady() {
        worker.ready = true;
        failedStarts = 0;
        pump();
      },
      onExit: (started, reason) => onExit(worker, started, reason),
      onLarge() {
        worker.retiring = true;
        retireIfDone(worker);
      },
    });
    const worker: Worker = { child, tasks: new Map(), suspect, ready: false, retiring: false };
    workers.add(worker);
  };

  const free = (suspect: boolean): Worker | undefined =>
    [...workers]
      .filter((worker) => worker.suspect === suspect && worker.ready && !worker.retiring)
      .filter((worker) => worker.tasks.size < (suspect ? 1 : MAX_OPEN))
      .sort((a, b) => a.tasks.size - b.tasks.size)[0];
  const countOf = (suspect: boolean): number =>
    [...workers].filter((worker) => worker.suspect === suspect && !worker.retiring).length;
  const starting = (suspect: boolean): number =>
    [...workers].filter((worker) => worker.suspect === suspect && !worker.ready).length;

  const assign = (task: MediaTask, worker: Worker): void => {
    worker.tasks.set(task.id, task);
    worker.child.send({ type: 'open', id: task.id, path: task.path, options: task.options, skip: task.arrived() });
  };
  /** Gives waiting recordings to processes with room, and starts processes where more would help. */
  function pump(): void {
    if (disposing !== undefined) return;
    for (const suspect of [true, false]) {
      const queue = waiting.filter((task) => task.deaths > 0 === suspect);
      const most = suspect ? MAX_SUSPECT_PROCESSES : processes;
      for (const task of queue) {
        const worker = free(suspect);
        if (worker === undefined) break;
        assign(task, worker);
        waiting = waiting.filter((other) => other !== task);
      }
      const left = waiting.filter((task) => task.deaths > 0 === suspect).length;
      const busy = !suspect && [...workers].every((worker) => worker.suspect || worker.tasks.size > 0);
      const wanted = Math.max(left, busy ? 1 : 0);
      for (let i = starting(suspect); i < wanted && countOf(suspect) < most; i++) startWorker(suspect);
    }
  }
  const workerOf = (id: number): Worker | undefined => [...workers].find((worker) => worker.tasks.has(id));

  const onEnd = (id: number): void => {
    tasks.delete(id);
    waiting = waiting.filter((task) => task.id !== id);
    // The slot is free again once the process says that it has stopped.
    workerOf(id)?.child.send({ type: 'abort', id });
  };
  const dispose = async (): Promise<void> => {
    for (const task of [...tasks.values()])
      task.fail(problem('draining', 'The service is shutting down.', { retryAfterSec: 5 }));
    await Promise.all([...workers].map((worker) => worker.child.end()));
  };

  startWorker(false);
  return {
    open(path, options, signal) {
      const id = ++lastId;
      const task = createMediaTask({
        id,
        path,
        options,
        signal,
        onTaken: (seconds) => workerOf(id)?.child.send({ type: 'taken', id, seconds }),
        onEnd,
      });
      if (disposing !== undefined)
        task.fail(problem('draining', 'The service is shutting down.', { retryAfterSec: 5 }));
      if (task.ended) return task.stream;
      tasks.set(id, task);
      waiting.push(task);
      pump();
      return task.stream;
    },
    pids: () => [...workers].flatMap((worker) => worker.child.pid ?? []),
    [Symbol.asyncDispose]() {
      disposing ??= dispose();
      return disposing;
    },
  };
};
