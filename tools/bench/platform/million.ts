/** A hundred times as many entities: two services side by side, one with 10,000 users, one with a million. */
import { join } from 'node:path';
import type { BenchContext, BenchPart, BenchRow } from '../part.ts';
import type { Child } from './child.ts';
import { type Figures, measureInTurn } from './measure.ts';
import { fill, startParley } from './parley.ts';
import { createAsks, createPicker, idOf, toRequest } from './seed.ts';
import type { Service } from './services.ts';

const FEW = 10_000;
const MANY = 1_000_000;
const MANY_QUICK = 50_000;
const MOST = 1.2;

const OPERATIONS = ['GET', 'LOOKUP', 'PATCH'] as const;
type Operation = (typeof OPERATIONS)[number];
/** Which of the users are asked for. */
type Spread = 'the same number in use' | 'all in use';

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

const rowOf = (figure: string, few: Figures, many: Figures): BenchRow => {
  const [cpu, latency] = [many.cpuMs / few.cpuMs, many.p50Ms / few.p50Ms];
  return {
    figure,
    value: `${cpu.toFixed(2)} CPU, ${latency.toFixed(2)} latency`,
    target: `≤ ${MOST}`,
    met: cpu <= MOST && latency <= MOST,
    note: `${few.cpuMs.toFixed(3)} and ${many.cpuMs.toFixed(3)} ms CPU, median ${few.p50Ms.toFixed(2)} and ${many.p50Ms.toFixed(2)} ms`,
  };
};

const run = async ({ folder, quick, rounds, log, signal }: BenchContext) => {
  await using stack = new AsyncDisposableStack();
  const users = quick ? MANY_QUICK : MANY;
  log(`filling ${FEW} and ${users} users`);
  const few = await startFilled('few', FEW, { folder, signal }, stack);
  const many = await startFilled('many', users, { folder, signal }, stack);
  log('filled');
  const rows: BenchRow[] = [];
  for (const spread of ['the same number in use', 'all in use'] as const) {
    const ask = (operation: Operation) => (service: Service) => (service as Filled).asksOf(operation, spread);
    const found = await measureInTurn(
      [few, many],
      { GET: ask('GET'), LOOKUP: ask('LOOKUP'), PATCH: ask('PATCH') },
      { seconds: quick ? 1 : 3, warmSeconds: quick ? 1 : 3, rounds, log, signal },
    );
    for (const operation of OPERATIONS)
      rows.push(rowOf(`${operation}, ${spread}`, found[operation].few!, found[operation].many!));
  }
  rows.push({
    figure: `memory (PSS) with ${users.toLocaleString('en')}`,
    value: `${many.child.pssMib().toFixed(0)} MiB`,
    target: '',
    met: null,
  });
  return {
    rows,
    notes: [
      `At ${users.toLocaleString('en')} users ÷ at ${FEW.toLocaleString('en')}, medians of ${rounds}, 16 connections.`,
    ],
  };
};

export const MILLION_BENCH: BenchPart = {
  name: 'platform-million',
  title: 'Platform: a million entities beside ten thousand',
  run,
};
