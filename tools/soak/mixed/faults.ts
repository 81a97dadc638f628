/** What is done to the services while the load goes on, in an order that the seed decides. */
import { open, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { Random } from '../../fuzz/random.ts';
import { rolesOf } from '../process-tree.ts';
import type { Ledger } from './ledger.ts';
import { pause } from './load.ts';
import { type Asking, askRest } from './rest.ts';
import type { Stage } from './stage.ts';

export type FaultContext = {
  readonly stage: Stage;
  readonly ledger: Ledger;
  readonly random: Random;
  readonly asking: Asking;
  readonly signal: AbortSignal;
  /** How long a disk stays full and a database away. */
  readonly heldMs: number;
};

export type Fault = {
  readonly name: string;
  /** The services' own processes live on, so that what they lose with it can be seen in them. */
  readonly isOutside: boolean;
  /** Injects and mends it; false when there was nothing to hit. */
  run(context: FaultContext): Promise<boolean>;
};

/** How often each was injected and how long both services took to be ready again, ms. */
export type FaultCounts = Map<string, { times: number; slowestMs: number }>;

const REFILL_MS = 100;
const FILL_BYTES = 2 ** 20;
const STARTED_AGAIN_MS = 150;

const pidsOf = (stage: Stage, role: string): number[] =>
  rolesOf(stage.pid())
    .filter((each) => each.role === role && each.pid !== stage.pid())
    .map(({ pid }) => pid);

const signalOne = async ({ stage, random }: FaultContext, role: string, signal: NodeJS.Signals): Promise<boolean> => {
  const pids = pidsOf(stage, role);
  if (pids.length === 0) return false;
  const pid = random.pick(pids);
  try {
    process.kill(pid, signal);
  } catch {
    // It ended by itself between the look and the call.
    return false;
  }
  return true;
};

/** Until the process is not the same any more: the question of readiness would else be answered by the old one. */
const replaced = async (context: FaultContext, role: string): Promise<void> => {
  const [before] = pidsOf(context.stage, role);
  while (pidsOf(context.stage, role).includes(before!) && !context.signal.aborted)
    await pause(STARTED_AGAIN_MS, context.signal);
};

const killOf = (role: string, isOutside: boolean): Fault => ({
  name: `kill -9 ${role}`,
  isOutside,
  run: (context) => signalOne(context, role, 'SIGKILL'),
});

/** A process that hangs: the supervisor misses its heartbeats and kills it. */
const freezeOf = (role: string): Fault => ({
  name: `SIGSTOP ${role}`,
  isOutside: false,
  run: async (context) => {
    if (!(await signalOne(context, role, 'SIGSTOP'))) return false;
    await replaced(context, role);
    return true;
  },
});

const endOf = (role: string): Fault => ({
  name: `DELETE master/nodes/${role}_1`,
  isOutside: false,
  run: async (context) => {
    const path = `master/nodes/${role}_1`;
    const expect = [200, 202, 204];
    const ended = await askRest(context.asking, { what: 'platform node ended', method: 'DELETE', path, expect });
    if (ended === undefined || ended.status > 204) return false;
    await replaced(context, role);
    return true;
  },
});

const KILL_SUPERVISOR: Fault = {
  name: 'kill -9 supervisor, started again',
  isOutside: false,
  run: async ({ stage }) => {
    process.kill(stage.pid(), 'SIGKILL');
    await stage.gone();
    await stage.start();
    return true;
  },
};

/** Takes what room there is, again and again, so that nothing of it is left for anybody. */
const FILL_DISK: Fault = {
  name: 'disk full, then free again',
  isOutside: true,
  run: async ({ stage: { disk }, signal, heldMs }) => {
    if (!('path' in disk)) return false;
    const path = join(disk.path, 'fill');
    const file = await open(path, 'w');
    try {
      const untilMs = performance.now() + heldMs;
      while (performance.now() < untilMs && !signal.aborted) {
        const { bavail, bsize } = await statfs(disk.path);
        const bytes = Buffer.alloc(Math.min(Math.max(bavail * bsize, bsize), FILL_BYTES), 1);
        const isWritten = await file.write(bytes).then(
          () => true,
          () => false,
        );
        if (!isWritten || bavail === 0) await pause(REFILL_MS, signal);
      }
    } finally {
      await file.close();
      await rm(path);
    }
    return true;
  },
};

const STOP_DATABASE: Fault = {
  name: 'database gone, then back',
  isOutside: true,
  run: async ({ stage: { postgres }, random, signal, heldMs }) => {
    if (postgres === undefined) return false;
    await postgres.stop(random.chance(0.5) ? 'SIGQUIT' : 'SIGINT');
    await pause(heldMs, signal);
    await postgres.start();
    return true;
  },
};

/** Those that can be done here, the milder ones first. */
export const faultsFor = ({ disk, postgres }: Pick<Stage, 'disk' | 'postgres'>): readonly Fault[] => [
  killOf('engine', true),
  killOf('media', true),
  ...('path' in disk ? [FILL_DISK] : []),
  ...(postgres ? [STOP_DATABASE] : []),
  killOf('speech', false),
  killOf('platform', false),
  KILL_SUPERVISOR,
  freezeOf('speech'),
  freezeOf('platform'),
  endOf('speech'),
  endOf('platform'),
];

/** Injects one and waits until both services say again that they can work. */
const inject = async (fault: Fault, context: FaultContext, counts: FaultCounts): Promise<void> => {
  const { ledger, stage } = context;
  ledger.disturb(true);
  const isHit = await fault.run(context);
  const mendedMs = performance.now();
  await stage.ready();
  ledger.disturb(false);
  if (!isHit) return;
  const readyMs = Math.round(performance.now() - mendedMs);
  const { times, slowestMs } = counts.get(fault.name) ?? { times: 0, slowestMs: 0 };
  counts.set(fault.name, { times: times + 1, slowestMs: Math.max(slowestMs, readyMs) });
};

const shuffled = <T>(all: readonly T[], random: Random): T[] => {
  const left = [...all];
  return Array.from(all, () => left.splice(random.int(left.length), 1)[0]!);
};

/** Each once, in an order of the seed, with pauses of half to one and a half `pauseMs`. */
export const injectOnce = async (
  pauseMs: number,
  faults: readonly Fault[],
  context: FaultContext,
  counts: FaultCounts,
): Promise<void> => {
  const { random, signal } = context;
  for (const fault of shuffled(faults, random)) {
    await pause(pauseMs / 2 + random.int(pauseMs), signal);
    await inject(fault, context, counts);
  }
};

/** One bag after the other, each shuffled, with pauses of half to one and a half `pauseMs`, until that moment. */
export const injectUntil = async (
  untilMs: number,
  pauseMs: number,
  faults: readonly Fault[],
  context: FaultContext,
  counts: FaultCounts,
): Promise<void> => {
  const { random, signal } = context;
  let bag: Fault[] = [];
  while (!signal.aborted) {
    const waitMs = pauseMs / 2 + random.int(pauseMs);
    if (performance.now() + waitMs >= untilMs) return;
    await pause(waitMs, signal);
    if (bag.length === 0) bag = shuffled(faults, random);
    await inject(bag.pop()!, context, counts);
  }
};
