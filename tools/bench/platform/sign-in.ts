/** Many correct sign-ins at once: all must succeed, one more after them too, and whoever reads meanwhile hardly notices. */
import type { BenchContext, BenchPart } from '../part.ts';
import { type Load, medianOf, openLoad, quantileOf } from './load.ts';
import { ADMIN, PASSWORD } from './parley.ts';
import { toRequest } from './seed.ts';
import { startParleyService } from './services.ts';

const USERS = 10_000;
const AT_ONCE = 40;
/** Who reads meanwhile. */
const READERS = 4;
const IDLE_SECONDS = 2;
const BURSTS_A_ROUND = 2;
const MOST = 3;

const signInRequest = (): Buffer =>
  toRequest(
    'POST',
    '/rest/v1/iam/sessions',
    {},
    JSON.stringify({ login: ADMIN, pwd: PASSWORD, session_type: 'token' }),
  );

type Burst = {
  readonly refused: number;
  readonly seconds: number;
  readonly idleP99Ms: number;
  readonly busyP99Ms: number;
  readonly alone: boolean;
};

/**
 * All of them sleep between answers: two processors are taken by the hashes and the service, and a third that works
 * without a pause would measure itself.
 */
const SLEEPS = true;

/** Reads for a while, then while so many sign in at once, then one signs in alone. */
const measureBurst = async (url: string, ask: () => Buffer, signal: AbortSignal): Promise<Burst> => {
  using readers: Load = await openLoad(url, READERS, signal);
  const idle = await readers.run(ask, { seconds: IDLE_SECONDS }, SLEEPS);
  using guests = await openLoad(url, AT_ONCE, signal);
  const isOver = new AbortController();
  const signingIn = guests.run(signInRequest, { requests: AT_ONCE }, SLEEPS).finally(() => isOver.abort());
  const busy = await readers.run(ask, { signal: isOver.signal }, SLEEPS);
  const signedIn = await signingIn;
  const after = await guests.run(signInRequest, { requests: 1 }, SLEEPS);
  if (idle.refused + busy.refused > 0) throw new Error(`reading was refused: ${idle.firstRefusal}${busy.firstRefusal}`);
  return {
    refused: signedIn.refused,
    seconds: signedIn.seconds,
    idleP99Ms: quantileOf(idle.latenciesMs, 0.99),
    busyP99Ms: quantileOf(busy.latenciesMs, 0.99),
    alone: after.refused === 0,
  };
};

const run = async ({ folder, quick, rounds, log, signal }: BenchContext) => {
  await using stack = new AsyncDisposableStack();
  log(`filling ${USERS} users`);
  const { child, asks } = await startParleyService({ folder, users: USERS, signal }, stack);
  const bursts: Burst[] = [];
  for (let n = 0; n < (quick ? 1 : rounds * BURSTS_A_ROUND); n++) {
    const burst = await measureBurst(child.url, asks.get, signal);
    bursts.push(burst);
    log(
      `${AT_ONCE - burst.refused} of ${AT_ONCE} in ${burst.seconds.toFixed(2)} s, GET p99 ${burst.idleP99Ms.toFixed(2)} ms before, ${burst.busyP99Ms.toFixed(2)} ms meanwhile`,
    );
  }
  const refused = bursts.reduce((sum, each) => sum + each.refused, 0);
  const [idleMs, busyMs] = [
    medianOf(bursts.map((each) => each.idleP99Ms)),
    medianOf(bursts.map((each) => each.busyP99Ms)),
  ];
  const allAlone = bursts.every(({ alone }) => alone);
  const rows = [
    {
      figure: `${AT_ONCE} right sign-ins at once, ${bursts.length} times`,
      value: refused === 0 ? 'all 200' : `${refused} refused`,
      target: 'all 200',
      met: refused === 0,
      note: `${medianOf(bursts.map(({ seconds }) => seconds)).toFixed(2)} s for all`,
    },
    { figure: 'one more after them', value: allAlone ? '200' : 'refused', target: '200', met: allAlone },
    {
      figure: 'GET p99 meanwhile ÷ idle',
      value: (busyMs / idleMs).toFixed(2),
      target: `≤ ${MOST}`,
      met: busyMs / idleMs <= MOST,
      note: `${idleMs.toFixed(2)} ms idle, ${busyMs.toFixed(2)} ms meanwhile, ${READERS} readers without a pause, medians`,
    },
  ];
  return { rows, notes: [] };
};

export const SIGN_IN_BENCH: BenchPart = { name: 'platform-sign-in', title: 'Platform: many sign-ins at once', run };
