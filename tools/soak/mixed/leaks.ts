/** What must be true of the processes in the end: as much is held as before the load, and nothing is told in logs. */
import { availableParallelism } from 'node:os';
import { runParley } from '../../../packages/parley/test/run-parley.ts';
import type { Check } from './checks.ts';
import type { Client } from './client.ts';
import type { Ledger } from './ledger.ts';
import { pause } from './load.ts';
import { type Footprint, measure } from './measure.ts';
import { STREAMING_MODEL } from './realtime.ts';
import { askSpeech, OFFLINE_MODEL } from './speech-load.ts';
import type { Stage } from './stage.ts';

/** Kept connections of the clients are closed after a few seconds; threads and handles of pools end later. */
const SETTLE_MS = 60_000;
const LOOK_MS = 500;
/** Garbage is collected when the runtime likes; what warmed up for seconds only has not settled. */
const MAX_GROWTH = 1.25;
const MAX_GROWTH_UNSETTLED = 2;
const SETTLED_SEC = 600;
const SPARE_MIB = 32;
/** Pools may stand at another number of workers or connections than before. */
const SPARE = { processes: 0, threads: 12, openFiles: 24, sockets: 12, spooled: 0, temporary: 0 } as const;
type Counted = keyof typeof SPARE;
const COUNTED = Object.keys(SPARE) as Counted[];

/** Both models in memory and nothing else, whatever was loaded before. */
export const settleModels = async (client: Client, stage: Stage): Promise<void> => {
  for (const model of [OFFLINE_MODEL, STREAMING_MODEL]) {
    const path = `/api/v1/models/${model}/load`;
    await askSpeech({ client, stage }, { what: 'check model', method: 'POST', path, expect: [200, 409] });
  }
};

const mayBe = (mib: number, seconds: number): number =>
  mib * (seconds < SETTLED_SEC ? MAX_GROWTH_UNSETTLED : MAX_GROWTH) + SPARE_MIB;

const isBack = (now: Footprint, base: Footprint, seconds: number): boolean =>
  COUNTED.every((name) => now[name] <= base[name] + SPARE[name]) && now.pssMib <= mayBe(base.pssMib, seconds);

/** Waits until as much is held as at the base, for a while. `seconds` is how long the run lasts. */
export const checkFootprint = async (stage: Stage, base: Footprint, seconds: number): Promise<Check> => {
  const never = new AbortController().signal;
  const untilMs = performance.now() + SETTLE_MS;
  let now = measure(stage);
  while (!isBack(now, base, seconds) && performance.now() < untilMs) {
    await pause(LOOK_MS, never);
    now = measure(stage);
  }
  const counts = COUNTED.map((name) => `${name} ${base[name]} → ${now[name]}`).join(', ');
  const byRole = Object.entries(now.pssMibByRole).map(
    ([role, mib]) => `${role} ${base.pssMibByRole[role] ?? 0} → ${mib}`,
  );
  const figures = `PSS ${base.pssMib} → ${now.pssMib} MiB (${byRole.join(', ')}); ${counts}`;
  return { name: 'before and after, idle', isWell: isBack(now, base, seconds), figures };
};

export type Trend = { readonly firstMib: number; readonly lastMib: number; readonly minutes: number };

/** Memory of the two services over the part of the load in which they lived. */
export const checkTrend = (trend: Trend | undefined, seconds: number): Check => {
  const name = 'memory of the services under load';
  if (trend === undefined) return { name, isWell: true, figures: 'too short to tell' };
  const { firstMib, lastMib, minutes } = trend;
  const figures = `first third ${firstMib} MiB, last third ${lastMib} MiB of ${minutes} min (${(lastMib / firstMib).toFixed(2)} ×)`;
  return { name, isWell: lastMib <= mayBe(firstMib, seconds), figures };
};

const isOk = async (url: string): Promise<boolean> => {
  const answer = await fetch(url);
  await answer.arrayBuffer();
  return answer.ok;
};

export const checkHealth = async ({ platformUrl, speechUrl }: Stage): Promise<Check> => {
  const urls = [platformUrl, speechUrl].flatMap((url) => [`${url}/healthz`, `${url}/readyz`]);
  const answers = await Promise.all(urls.map(isOk));
  const figures = `${answers.filter(Boolean).length} of ${urls.length} answers of /healthz and /readyz are 200`;
  return { name: 'health', isWell: answers.every(Boolean), figures };
};

export const checkJournal = async ({ settings }: Stage): Promise<Check> => {
  const { code, said } = await runParley(['journal', 'verify'], settings);
  return { name: 'journal verify', isWell: code === 0, figures: said.trim().split('\n').slice(-3).join(' ') };
};

export const checkLogs = ({ logs }: Stage): Check => {
  const figures = `${logs.lines()} lines; secrets or texts in them: ${logs.leaks().join(', ') || 'none'}`;
  return { name: 'logs', isWell: logs.leaks().length === 0, figures };
};

/** Every answer the clients got. */
export const checkAnswers = ({ operations, faults }: Ledger): Check => {
  const all = [...operations.values()];
  const sum = (of: 'done' | 'refused'): number => all.reduce((total, each) => total + each[of], 0);
  const wrong = [...faults].filter(([text]) => /answered \d|without Retry-After|no answer within/.test(text));
  const figures = `${sum('done')} as they should be, ${sum('refused')} refused with Retry-After, ${wrong.reduce((n, [, times]) => n + times, 0)} others`;
  return { name: 'answers', isWell: wrong.length === 0, figures };
};

/** Load average by core above which a process may not get to answer a heartbeat in time. */
const OVERLOADED = 4;

/** Nodes that the supervisor started anew although nobody touched them. */
export const checkRestarts = ({ ownRestarts }: Ledger): Check => {
  const isWell = ownRestarts.every((load) => load > OVERLOADED * availableParallelism());
  const loads = ownRestarts.map((load) => load.toFixed(0)).join(', ');
  const figures = `${ownRestarts.length} without a fault${loads === '' ? '' : `, at load averages of ${loads}`}`;
  return { name: 'restarts', isWell, figures };
};
