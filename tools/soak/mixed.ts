/**
 * Mixed load on both services under the real supervisor, with faults: `npm run soak -- mixed [MINUTES] [SEED] [postgres]`.
 * What it does and what it checks stands in docs/soak.md; `test/mixed.test.ts` is the short form.
 */
import { createRandom } from '../fuzz/random.ts';
import { type Check, checkItems, checkJobs, checkMails, checkRows } from './mixed/checks.ts';
import { type Client, createClient } from './mixed/client.ts';
import { DIFFICULT_LANES } from './mixed/difficult.ts';
import { type Fault, type FaultContext, type FaultCounts, faultsFor, injectOnce, injectUntil } from './mixed/faults.ts';
import {
  checkAnswers,
  checkFootprint,
  checkHealth,
  checkJournal,
  checkLogs,
  checkRestarts,
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
  /** How long load and faults last; in the short form only what comes before the faults is a part of it. */
  readonly seconds: number;
  readonly seed: number;
  readonly isPostgres?: boolean;
  /** Mean pause between two faults. */
  readonly faultPauseMs?: number;
  /** How long a disk stays full and a database away. */
  readonly heldMs?: number;
  /** The short form: these faults, by their names, once each, and the load ends with the last. */
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

/** The parts of the long form. */
const injectAll = async (
  run: Run,
  faults: readonly Fault[],
  context: FaultContext,
  { seconds, faultPauseMs = FAULT_PAUSE_MS }: MixedOptions,
  beganMs: number,
): Promise<Trend | undefined> => {
  const { stage, injected, say } = run;
  const part = async (name: string, share: number, some: readonly Fault[]): Promise<void> => {
    say(`${name}: until ${Math.round(seconds * share)} s`);
    await injectUntil(beganMs + seconds * 1000 * share, faultPauseMs, some, context, injected);
  };
  await part('all faults', PARTS.warm + PARTS.all, faults);
  const watch = watchServices(stage, LOOK_MS);
  const outside = faults.filter(({ isOutside }) => isOutside);
  await part('faults outside the services', PARTS.warm + PARTS.all + PARTS.outside, outside);
  say('load alone');
  await pause(Math.max(0, beganMs + seconds * 1000 - performance.now()), context.signal);
  return watch.stop();
};

const disturb = async (run: Run, options: MixedOptions, warmMs: number): Promise<Trend | undefined> => {
  const { stage, ledger, context, injected, say } = run;
  const { faults: named, faultPauseMs = FAULT_PAUSE_MS, heldMs = HELD_MS } = options;
  const faults = faultsFor(stage).filter(({ name }) => named?.includes(name) ?? true);
  const asking = { client: run.client, stage, token: context.token };
  let trend: Trend | undefined;
  await underLoad(run, async (signal) => {
    const beganMs = performance.now() - warmMs;
    const telling = setInterval(() => say(memoryOf(stage)), TELL_MS);
    signal.addEventListener('abort', () => clearInterval(telling));
    const faultContext = { stage, ledger, random: context.random, asking, signal, heldMs };
    if (named) await injectOnce(faultPauseMs, faults, faultContext, injected);
    else trend = await injectAll(run, faults, faultContext, options, beganMs);
  });
  return trend;
};

const checkAll = async (run: Run, base: Footprint, trend: Trend | undefined, seconds: number): Promise<Check[]> => {
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
    await checkFootprint(stage, base, seconds),
    checkTrend(trend, seconds),
    await checkHealth(stage),
    await checkJournal(stage),
  );
  await stage.stop();
  return [...checks, checkLogs(stage), checkAnswers(ledger), checkRestarts(ledger)];
};

/** Runs it all; what was not as it should be is in the report. */
export const runMixedLoad = async (options: MixedOptions): Promise<MixedReport> => {
  const { seed, seconds, isPostgres = false, say = () => undefined } = options;
  const random = createRandom(seed, 0);
  const ledger = createLedger();
  const source = createRandom(seed, 1);
  await using stage = await openStage({
    isPostgres,
    random: () => source.int(1000) / 1000,
    fault: ledger.fault,
    onRestart: ledger.restarted,
  });
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
  const trend = await disturb(run, options, warmMs);
  say('checking');
  const checks = await checkAll(run, base, trend, seconds);
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
