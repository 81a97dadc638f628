/**
 * Mixed load on both services under the real supervisor, with faults: `npm run soak -- mixed [MINUTES] [SEED] [postgres]`.
 * What it does and what it checks stands in docs/soak.md; `test/mixed.test.ts` is the short form.
 */
import { createRandom } from '../fuzz/random.ts';
import { type Check, checkItems, checkJobs, checkMails, checkRows } from './mixed/checks.ts';
import { type Client, createClient } from './mixed/client.ts';
import { DIFFICULT_LANES } from './mixed/difficult.ts';
import { type Fault, type FaultCounts, faultsFor, injectUntil } from './mixed/faults.ts';
import {
  checkAnswers,
  checkFootprint,
  checkHealth,
  checkJournal,
  checkLogs,
  checkTrend,
  settleModels,
  type Trend,
} from './mixed/leaks.ts';
import { createLedger, type Ledger } from './mixed/ledger.ts';
import { type LoadContext, pause, runLoad } from './mixed/load.ts';
import { type Footprint, measure, watchServices } from './mixed/measure.ts';
import { setUpPlatform } from './mixed/platform-files.ts';
import { PLATFORM_LANES } from './mixed/platform-load.ts';
import { signIn } from './mixed/rest.ts';
import { SPEECH_LANES } from './mixed/speech-load.ts';
import { openStage, type Stage } from './mixed/stage.ts';
import { type MixedReport, renderSummary } from './mixed/summary.ts';

export type MixedOptions = {
  /** How long load and faults last. */
  readonly seconds: number;
  readonly seed: number;
  readonly isPostgres?: boolean;
  /** Mean pause between two faults. */
  readonly faultPauseMs?: number;
  /** How long a disk stays full and a database away. */
  readonly heldMs?: number;
  /** Which faults, by their names; all that can be done when not given. */
  readonly faults?: readonly string[];
  /** Told what goes on. */
  say?(line: string): void;
};

const LANES = [...PLATFORM_LANES, ...SPEECH_LANES, ...DIFFICULT_LANES];
const FAULT_PAUSE_MS = 8000;
const HELD_MS = 8000;
const TELL_MS = 30_000;
/** Shares of the time: load alone, all faults, faults that let the services live, load alone. */
const PARTS = { warm: 0.1, all: 0.45, outside: 0.3 } as const;
const MAX_WARM_MS = 60_000;
/** Longer than clients keep a connection. */
const IDLE_MS = 5000;
const LOOK_MS = 1000;

type Run = {
  readonly stage: Stage;
  readonly ledger: Ledger;
  readonly client: Client;
  readonly context: Omit<LoadContext, 'signal'>;
  readonly injected: FaultCounts;
  say(line: string): void;
};

const sleep = (ms: number): Promise<void> => pause(ms, new AbortController().signal);

/** Load while `during` lasts, and until every operation has ended. */
const underLoad = async ({ context }: Run, during: (signal: AbortSignal) => Promise<void>): Promise<void> => {
  const ending = new AbortController();
  const load = runLoad(LANES, { ...context, signal: ending.signal });
  await Promise.race([during(ending.signal), load]);
  ending.abort();
  await load;
};

/** Both models loaded, nobody connected: what is held then. */
const measureIdle = async ({ client, stage }: Run): Promise<Footprint> => {
  await settleModels(client, stage);
  await sleep(IDLE_MS);
  return measure(stage);
};

const memoryOf = (stage: Stage): string => {
  const { pssMib, pssMibByRole, threads, openFiles, sockets, spooled } = measure(stage);
  return `${JSON.stringify({ pssMib, ...pssMibByRole, threads, openFiles, sockets, spooled })}`;
};

const beWell = async (run: Run, options: MixedOptions, warmMs: number): Promise<Trend | undefined> => {
  const { stage, ledger, context, injected, say } = run;
  const all = faultsFor(stage).filter(({ name }) => options.faults?.includes(name) ?? true);
  const asking = { client: run.client, stage, token: context.token };
  const totalMs = options.seconds * 1000;
  const { faultPauseMs: pauseMs = FAULT_PAUSE_MS, heldMs = HELD_MS } = options;
  let trend: Trend | undefined;
  await underLoad(run, async (signal) => {
    const beganMs = performance.now() - warmMs;
    const telling = setInterval(() => say(memoryOf(stage)), TELL_MS);
    signal.addEventListener('abort', () => clearInterval(telling));
    const part = async (name: string, share: number, faults: readonly Fault[]): Promise<void> => {
      say(`${name}: until ${Math.round((totalMs * share) / 1000)} s`);
      const faultContext = { stage, ledger, random: context.random, asking, signal, heldMs };
      await injectUntil(beganMs + totalMs * share, pauseMs, faults, faultContext, injected);
    };
    await part('all faults', PARTS.warm + PARTS.all, all);
    const watch = watchServices(stage, LOOK_MS);
    const outside = all.filter(({ isOutside }) => isOutside);
    if (outside.length > 0) await part('faults outside the services', PARTS.warm + PARTS.all + PARTS.outside, outside);
    say('load alone');
    await pause(beganMs + totalMs - performance.now(), signal);
    trend = watch.stop();
  });
  return trend;
};

const checkAll = async (run: Run, base: Footprint, trend: Trend | undefined): Promise<Check[]> => {
  const { stage, ledger, client, context } = run;
  const checking = { stage, ledger, asking: { client, stage, token: context.token } };
  const checks = [
    await checkJobs(checking),
    await checkMails(checking),
    await checkRows(checking),
    await checkItems(checking),
  ];
  await settleModels(client, stage);
  await sleep(IDLE_MS);
  checks.push(
    await checkFootprint(stage, base),
    checkTrend(trend),
    await checkHealth(stage),
    await checkJournal(stage),
  );
  await stage.stop();
  return [...checks, checkLogs(stage), checkAnswers(ledger)];
};

/** Runs it all; what was not as it should be is in the report. */
export const runMixedLoad = async (options: MixedOptions): Promise<MixedReport> => {
  const { seed, seconds, isPostgres = false, say = () => undefined } = options;
  const random = createRandom(seed, 0);
  const ledger = createLedger();
  const source = createRandom(seed, 1);
  await using stage = await openStage({ isPostgres, random: () => source.int(1000) / 1000, fault: ledger.fault });
  const client = createClient(ledger);
  const token = await signIn({ client, stage });
  if (token === undefined) throw new Error('nobody can sign in');
  await setUpPlatform({ client, stage, token }, stage.smtp.port);
  let serial = 0;
  const context = { stage, ledger, client, random, token, serial: () => ++serial };
  const run: Run = { stage, ledger, client, context, injected: new Map(), say };
  const warmMs = Math.min(seconds * 1000 * PARTS.warm, MAX_WARM_MS);
  say(`warming up for ${Math.round(warmMs / 1000)} s`);
  await underLoad(run, (signal) => pause(warmMs, signal));
  const base = await measureIdle(run);
  const trend = await beWell(run, options, warmMs);
  say('checking');
  const checks = await checkAll(run, base, trend);
  for (const { name, isWell, figures } of checks) if (!isWell) ledger.fault(`${name}: ${figures}`);
  return {
    seed,
    minutes: Math.round(seconds / 6) / 10,
    driver: isPostgres ? 'postgres' : 'sqlite',
    operations: ledger.operations,
    injected: run.injected,
    skipped: [
      ...('skipped' in stage.disk ? [`full disk: ${stage.disk.skipped}`] : []),
      ...(isPostgres ? [] : ['database gone: rows are in SQLite; the variant "postgres" does it']),
    ],
    checks,
    faults: ledger.faults,
    errors: stage.logs.errors(),
  };
};

const DEFAULT_MINUTES = 30;

export const runMixed = async ([minutes, seed, driver]: readonly string[]): Promise<void> => {
  const chosen = Number(seed ?? Date.now() % 1_000_000);
  process.stderr.write(`seed ${chosen}\n`);
  const beganMs = performance.now();
  const report = await runMixedLoad({
    seconds: Number(minutes ?? DEFAULT_MINUTES) * 60,
    seed: chosen,
    isPostgres: driver === 'postgres',
    say: (line) => process.stderr.write(`${Math.round((performance.now() - beganMs) / 1000)} s: ${line}\n`),
  });
  process.stdout.write(renderSummary(report));
  if (report.faults.size > 0) process.exitCode = 1;
};
