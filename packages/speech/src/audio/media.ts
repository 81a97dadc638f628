/**
 * The pool of media processes. Nothing is decoded here. Recordings wait in order of arrival; each process has several
 * at a time, so that a short one need not wait for a long one. When a process dies, each recording it had goes on once
 * more in a process of its own: decoding gives the same segments again, so those that arrived are left out.
 */
import { mkdir, rm, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { problem } from '../core/codes.ts';
import type { AudioSegment, LaidStream, Media, MediaOptions, MediaStream } from './audio.ts';
import type { MediaLog } from './media-child.ts';
import { createMediaTask, type MediaTask } from './media-stream.ts';
import { createWorkers, type Worker, type WorkerKind } from './media-workers.ts';

export type MediaPoolOptions = {
  /** Processes kept at most, at least 1. */
  readonly processes: number;
  readonly log: MediaLog;
  /** Where samples are laid for other processes; they travel in messages without it. */
  readonly folder?: string;
  /** Arguments for the processes' Node itself. */
  readonly nodeArgs?: readonly string[];
};

export type MediaPool = Media & {
  /** Process ids of the running media processes. */
  pids(): number[];
};

/** Processes besides the pool's, each for one recording whose process died. */
const MAX_SUSPECTS = 4;
const MAX_DEATHS = 2;
const STOPPING_RETRY_SEC = 5;

const kindOf = (task: MediaTask): WorkerKind => (task.deaths > 0 ? 'suspect' : 'pool');

const stopping = () => problem('draining', 'The service is shutting down.', { retryAfterSec: STOPPING_RETRY_SEC });

/** Recordings that have no process yet, in order of arrival; those whose process died come first. */
const createQueue = () => {
  let waiting: MediaTask[] = [];
  return {
    add: (task: MediaTask): void => void waiting.push(task),
    /** A recording whose process died; one that killed two is itself to blame. */
    again(task: MediaTask, reason: string): void {
      task.deaths++;
      if (task.deaths < MAX_DEATHS) waiting.unshift(task);
      else {
        const message = 'The audio cannot be decoded: it ended its media process twice.';
        task.fail(problem('invalid_audio', message, { param: 'file', cause: reason }));
      }
    },
    drop(id: number): void {
      waiting = waiting.filter((task) => task.id !== id);
    },
    of: (kind: WorkerKind): MediaTask[] => waiting.filter((task) => kindOf(task) === kind),
    all: (): MediaTask[] => [...waiting],
  };
};

const assign = (task: MediaTask, worker: Worker): void => {
  worker.tasks.set(task.id, task);
  const { id, path, options, folder } = task;
  worker.child.send({ type: 'open', id, path, options, folder, skip: task.arrived() });
};

const PRIVATE_FOLDER = 0o700;
const RM_RETRIES = 3;

const layNothing = ({ stream }: MediaTask): LaidStream => ({
  ...stream,
  discard: () => undefined,
  [Symbol.asyncDispose]: async () => undefined,
});

/** Gives the recording a folder for its samples and then a process; without a folder samples go in the messages. */
const lay = (task: MediaTask, folder: string, enqueue: (task: MediaTask) => void): LaidStream => {
  const made = mkdir(folder, { recursive: true, mode: PRIVATE_FOLDER }).then(
    () => {
      task.folder = folder;
    },
    () => undefined,
  );
  void made.then(() => enqueue(task));
  return {
    ...task.stream,
    discard: ({ samples }) => {
      // What cannot be removed now goes with the folder.
      if ('path' in samples) unlink(samples.path).catch(() => undefined);
    },
    [Symbol.asyncDispose]: async () => {
      await made;
      // The media process may be writing its last file; what is left after all goes at the next start.
      await rm(folder, { recursive: true, force: true, maxRetries: RM_RETRIES }).catch(() => undefined);
    },
  };
};

/**
 * Decoders leave a great deal of short-lived garbage with memory outside V8's view behind it. A small young generation
 * collects it early: an hour of ogg peaks at 75 MB instead of 210, at the same speed (measured).
 */
const NODE_ARGS = ['--max-semi-space-size=1'];

/** Starts the pool: the first process at once, the others when they are needed. */
export const startMedia = ({ processes, log, folder, nodeArgs = NODE_ARGS }: MediaPoolOptions): MediaPool => {
  const tasks = new Map<number, MediaTask>();
  const queue = createQueue();
  let lastId = 0;
  let disposing: Promise<void> | undefined;

  const workers = createWorkers({
    log,
    nodeArgs,
    most: { pool: Math.max(1, processes), suspect: MAX_SUSPECTS },
    onRoom: () => (disposing === undefined ? pump() : undefined),
    onOrphans(orphans, reason) {
      for (const task of orphans) queue.again(task, reason);
    },
    onNoStart(reason) {
      const fault = problem('inference_failed', 'No media process can be started.', { cause: reason });
      for (const task of queue.all()) task.fail(fault);
    },
  });
  /** Gives waiting recordings to processes with room, and starts processes where more would help. */
  function pump(): void {
    for (const kind of ['suspect', 'pool'] as const) {
      for (const task of queue.of(kind)) {
        const worker = workers.free(kind);
        if (worker === undefined) break;
        queue.drop(task.id);
        assign(task, worker);
      }
      workers.startFor(kind, Math.max(queue.of(kind).length, kind === 'pool' && workers.busy() ? 1 : 0));
    }
  }
  const onEnd = (id: number): void => {
    tasks.delete(id);
    queue.drop(id);
    // The place is free again once the process says that it has stopped.
    workers.of(id)?.child.send({ type: 'abort', id });
  };
  const admit = (path: string, options: MediaOptions, signal: AbortSignal): MediaTask => {
    const id = ++lastId;
    const onTaken = (seconds: number) => workers.of(id)?.child.send({ type: 'taken', id, seconds });
    const task = createMediaTask({ id, path, options, signal, onTaken, onEnd });
    if (disposing !== undefined) task.fail(stopping());
    if (!task.ended) tasks.set(id, task);
    return task;
  };
  const enqueue = (task: MediaTask): void => {
    if (task.ended) return;
    queue.add(task);
    pump();
  };
  const dispose = async (): Promise<void> => {
    for (const task of [...tasks.values()]) task.fail(stopping());
    await workers.end();
  };

  workers.start('pool');
  return {
    open(path, options, signal) {
      const task = admit(path, options, signal);
      enqueue(task);
      // Without a folder they hold their samples.
      return task.stream as MediaStream<AudioSegment>;
    },
    openLaid(path, options, signal) {
      const task = admit(path, options, signal);
      if (folder === undefined || task.ended) {
        enqueue(task);
        return layNothing(task);
      }
      return lay(task, join(folder, String(task.id)), enqueue);
    },
    pids: workers.pids,
    [Symbol.asyncDispose]() {
      disposing ??= dispose();
      return disposing;
    },
  };
};
