/** Threads of one kind and the jobs that wait for one of them; the run that has used least comes first. */
import type { Answer, Question } from './sandbox-messages.ts';
import { createSandboxThread, type SandboxThread, type SandboxThreadOptions } from './sandbox-thread.ts';

export type Job = {
  readonly question: Question;
  /** What decides who comes first: milliseconds its run has used. */
  usedMs(): number;
  /** True when nobody waits for it any more. */
  isGivenUp(): boolean;
  done(answer: Answer | 'gone'): void;
};

export type Lane = {
  add(job: Job): void;
  waiting(): number;
  close(): Promise<void>;
};

export type LaneOptions = SandboxThreadOptions & {
  readonly threads: number;
  /** A thread that was not needed for so long ends. */
  readonly idleMs: number;
};

export const createLane = ({ threads, idleMs, ...options }: LaneOptions): Lane => {
  let waiting: Job[] = [];
  const all = new Set<SandboxThread>();
  const idle = new Map<SandboxThread, NodeJS.Timeout>();
  const endings = new Set<Promise<void>>();
  let isClosed = false;

  const drop = (thread: SandboxThread): void => {
    all.delete(thread);
    clearTimeout(idle.get(thread));
    idle.delete(thread);
    const ending = thread.end().finally(() => endings.delete(ending));
    endings.add(ending);
  };
  const free = (): SandboxThread | undefined => {
    const [thread] = idle.keys();
    if (thread) {
      clearTimeout(idle.get(thread));
      idle.delete(thread);
      return thread;
    }
    if (all.size >= threads) return undefined;
    const started = createSandboxThread(options);
    all.add(started);
    return started;
  };
  const next = (): Job | undefined => {
    let best = 0;
    for (let at = 1; at < waiting.length; at++) if (waiting[at]!.usedMs() < waiting[best]!.usedMs()) best = at;
    return waiting.splice(best, 1)[0];
  };
  const serve = async (thread: SandboxThread, job: Job): Promise<void> => {
    const answer = await thread.ask(job.question);
    if (answer === 'gone' || answer.isLast) drop(thread);
    else if (!isClosed)
      idle.set(
        thread,
        setTimeout(() => drop(thread), idleMs),
      );
    job.done(answer);
    pump();
  };
  const pump = (): void => {
    waiting = waiting.filter((job) => !job.isGivenUp());
    while (waiting.length > 0 && !isClosed) {
      const thread = free();
      if (!thread) return;
      void serve(thread, next()!);
    }
  };
  return {
    add: (job) => {
      if (isClosed) {
        job.done('gone');
        return;
      }
      waiting.push(job);
      pump();
    },
    waiting: () => waiting.length,
    close: async () => {
      isClosed = true;
      for (const job of waiting.splice(0)) job.done('gone');
      for (const thread of [...all]) drop(thread);
      await Promise.all(endings);
    },
  };
};
