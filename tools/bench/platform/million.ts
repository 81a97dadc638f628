/** A hundred times as many entities: two services side by side, one with 10,000 users, one with a million. */
import { join } from 'node:path';
import type { BenchContext, BenchPart, BenchRow } from '../part.ts';
import type { Child } from './child.ts';
import { openLoad } from './load.ts';
import { type Figures, measureInTurn } from './measure.ts';
import { fill, startParley } from './parley.ts';
import { CLIENTS, createAsks, createPicker, idOf, toRequest, userPath } from './seed.ts';
import type { Service } from './services.ts';

const FEW = 10_000;
const MANY = 1_000_000;
const MANY_QUICK = 50_000;
const MOST = 1.2;

const OPERATIONS = ['GET', 'LOOKUP', 'PATCH'] as const;
type Operation = (typeof OPERATIONS)[number];
const SPREADS = ['the same number in use', 'all in use'] as const;
/** Which of the users are asked for. */
type Spread = (typeof SPREADS)[number];

type Filled = Service & { readonly asksOf: (operation: Operation, spread: Spread) => () => Buffer };

/** Requests for every `step`-th user of so many. */
const createNumbered = (token: string, users: number, step: number) => {
  const numbers = Array.from({ length: Math.floor(users / step) }, (_, index) => (index + 1) * step);
  const { get, patch } = createAsks(token, numbers.map(idOf));
  const headers = { authorization: `Bearer ${token}` };
  const pick = createPicker(numbers.length);
  const lookup = (): Buffer =>
    toRequest('LOOKUP', '/rest/v1/iam/users', headers, JSON.stringify(`user${numbers[pick() - 1]}`));
  return { GET: get, PATCH: patch, LOOKUP: lookup };
};

const startFilled = async (
  name: string,
  users: number,
  { folder, signal }: Pick<BenchContext, 'folder' | 'signal'>,
  stack: AsyncDisposableStack,
): Promise<Filled> => {
  const child: Child = stack.use(await startParley({ dataDir: join(folder, name), signal }));
  const token = await fill(child.url, users, signal);
  const asks = {
    'the same number in use': createNumbered(token, users, users / FEW),
    'all in use': createNumbered(token, users, 1),
  };
  return {
    name,
    child,
    token,
    asks: createAsks(token, [idOf(1)]),
    asksOf: (operation, spread) => asks[spread][operation],
  };
};

/** So that what is made at the first reading of a user is there for all. */
const readAll = async (url: string, token: string, users: number, signal: AbortSignal): Promise<void> => {
  using load = await openLoad(url, CLIENTS, signal);
  const headers = { authorization: `Bearer ${token}` };
  let read = 0;
  const next = (): Buffer => {
    read += 1;
    return toRequest('GET', userPath(idOf(read)), headers);
  };
  const { refused, firstRefusal } = await load.run(next, { requests: users });
  if (refused > 0) throw new Error(`${refused} of ${users} users could not be read: ${firstRefusal}`);
};

const rowOf = (figure: string, few: Figures, many: Figures): BenchRow => {
  const [cpu, latency] = [many.cpuMs / few.cpuMs, many.p50Ms / few.p50Ms];
  return {
    figure,
    value: `${cpu.toFixed(2)} × the CPU, ${latency.toFixed(2)} × the median time`,
    target: `≤ ${MOST} (CPU)`,
    met: cpu <= MOST,
    note: `${few.cpuMs.toFixed(3)} and ${many.cpuMs.toFixed(3)} ms CPU, median ${few.p50Ms.toFixed(2)} and ${many.p50Ms.toFixed(2)} ms`,
  };
};

const measureSpread = async (
  spread: Spread,
  [few, many]: readonly [Filled, Filled],
  { quick, rounds, log, signal }: BenchContext,
): Promise<BenchRow[]> => {
  const ask = (operation: Operation) => (service: Service) => (service as Filled).asksOf(operation, spread);
  const found = await measureInTurn(
    [few, many],
    { GET: ask('GET'), LOOKUP: ask('LOOKUP'), PATCH: ask('PATCH') },
    { seconds: quick ? 1 : 3, warmSeconds: quick ? 1 : 3, rounds, log, signal },
  );
  return OPERATIONS.map((operation) => rowOf(`${operation}, ${spread}`, found[operation].few!, found[operation].many!));
};

const run = async (context: BenchContext) => {
  const { quick, rounds, log, signal } = context;
  await using stack = new AsyncDisposableStack();
  const users = quick ? MANY_QUICK : MANY;
  const [fewText, manyText] = [FEW, users].map((count) => count.toLocaleString('en'));
  log(`filling ${fewText} and ${manyText} users`);
  const few = await startFilled('few', FEW, context, stack);
  const many = await startFilled('many', users, context, stack);
  const rows: BenchRow[] = [];
  for (const spread of SPREADS) {
    if (spread === 'all in use') {
      log('reading every user once');
      await readAll(few.child.url, few.token, FEW, signal);
      await readAll(many.child.url, many.token, users, signal);
    }
    rows.push(...(await measureSpread(spread, [few, many], context)));
  }
  const memory = `${many.child.pssMib().toFixed(0)} MiB`;
  rows.push({ figure: `memory (PSS) with ${manyText}, after all this`, value: memory, target: '', met: null });
  return {
    rows,
    notes: [
      `At ${manyText} users ÷ at ${fewText}, medians of ${rounds}, 16 connections. "The same number in use": ${fewText} users, spread over all; "all in use": any user, each read once before.`,
    ],
  };
};

export const MILLION_BENCH: BenchPart = {
  name: 'platform-million',
  title: 'Platform: a million entities beside ten thousand',
  run,
};
