/** The running media processes and what each has to do: the pool's own, and one apiece for recordings under suspicion. */
import { type MediaChild, type MediaChildOptions, type MediaLog, startMediaChild } from './media-child.ts';
import type { MediaTask } from './media-stream.ts';

export type WorkerKind = 'pool' | 'suspect';

export type Worker = {
  readonly child: MediaChild;
  readonly tasks: Map<number, MediaTask>;
  readonly kind: WorkerKind;
  ready: boolean;
  /** Takes no more recordings. */
  retiring: boolean;
};

type WorkersOptions = {
  readonly log: MediaLog;
  readonly nodeArgs: readonly string[];
  /** Processes of each kind, at most. */
  readonly most: Readonly<Record<WorkerKind, number>>;
  /** There may be room for another recording. */
  onRoom(): void;
  /** A process died and left these recordings. */
  onOrphans(tasks: readonly MediaTask[], reason: string): void;
  /** Several starts failed in a row. */
  onNoStart(reason: string): void;
};

/** Recordings one process has open at once. */
const MAX_OPEN: Readonly<Record<WorkerKind, number>> = { pool: 16, suspect: 1 };
const MAX_FAILED_STARTS = 3;

type Message = Parameters<MediaChildOptions['onMessage']>[0];
/** Hands one message to its recording; true when it was the recording's last. */
const deliver = (task: MediaTask, message: Message): boolean => {
  if (message.type === 'segment') task.onSegment(message.segment);
  else if (message.type === 'progress') task.onProgress(message.decodedSec, message.readShare);
  else if (message.type === 'done') task.onDone(message.summary);
  else task.onFailed(message);
  return message.type === 'done' || message.type === 'failed';
};

/** No process runs until `start`. */
export const createWorkers = ({ log, nodeArgs, most, onRoom, onOrphans, onNoStart }: WorkersOptions) => {
  const workers = new Set<Worker>();
  let failedStarts = 0;
  let ending = false;

  const those = (kind: WorkerKind, test: (worker: Worker) => boolean): Worker[] =>
    [...workers].filter((worker) => worker.kind === kind && test(worker));
  const retireIfDone = (worker: Worker): void => {
    if (worker.retiring && worker.tasks.size === 0) void worker.child.end();
  };
  const onMessage = (worker: Worker, message: Message): void => {
    const task = worker.tasks.get(message.id);
    if (task === undefined || !deliver(task, message)) return;
    worker.tasks.delete(message.id);
    if (worker.kind === 'suspect') worker.retiring = true;
    retireIfDone(worker);
    onRoom();
  };
  const onExit = (worker: Worker, started: boolean, reason: string): void => {
    workers.delete(worker);
    if (ending) return;
    const orphans = [...worker.tasks.values()].filter((task) => !task.ended);
    if (!worker.retiring || orphans.length > 0)
      log.warn({ pid: worker.child.pid, started, reason, recordings: orphans.length }, 'a media process died');
    failedStarts = started ? 0 : failedStarts + 1;
    onOrphans(orphans, reason);
    if (failedStarts >= MAX_FAILED_STARTS) {
      failedStarts = 0;
      onNoStart(reason);
    }
    onRoom();
  };
  const start = (kind: WorkerKind): void => {
    const child = startMediaChild({
      log,
      nodeArgs,
      onMessage: (message) => onMessage(worker, message),
      onReady() {
        worker.ready = true;
        onRoom();
      },
      onExit: (started, reason) => onExit(worker, started, reason),
      onLarge() {
        worker.retiring = true;
        retireIfDone(worker);
      },
    });
    const worker: Worker = { child, tasks: new Map(), kind, ready: false, retiring: false };
    workers.add(worker);
  };
  return {
    start,
    /** The least busy process with room. */
    free: (kind: WorkerKind): Worker | undefined =>
      those(kind, ({ ready, retiring, tasks }) => ready && !retiring && tasks.size < MAX_OPEN[kind]).sort(
        (a, b) => a.tasks.size - b.tasks.size,
      )[0],
    /** Starts processes for so many recordings that found none, counting those that are starting. */
    startFor(kind: WorkerKind, waiting: number): void {
      const starting = those(kind, (worker) => !worker.ready).length;
      const room = most[kind] - those(kind, (worker) => !worker.retiring).length;
      for (let i = 0; i < Math.min(room, waiting - starting); i++) start(kind);
    },
    /** True when there are processes in the pool and each has something to do. */
    busy(): boolean {
      const pool = those('pool', (worker) => !worker.retiring);
      return pool.length > 0 && pool.every((worker) => worker.tasks.size > 0);
    },
    of: (id: number): Worker | undefined => [...workers].find((worker) => worker.tasks.has(id)),
    pids: (): number[] => [...workers].flatMap((worker) => worker.child.pid ?? []),
    async end(): Promise<void> {
      ending = true;
      await Promise.all([...workers].map((worker) => worker.child.end()));
    },
  };
};
