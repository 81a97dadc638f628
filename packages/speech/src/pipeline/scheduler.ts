/**
 * Segments of all requests for one recogniser wait here. Interactive goes before batch (which still gets every
 * BATCH_TURN-th turn, so it never starves); within a class turns go round the keys, and within a key round its
 * requests; a request's own segments stay in order. One slot beyond the recogniser's own is kept for requests that have
 * nothing in flight and cannot wait, so that a short recording never waits behind the long segments of long ones.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Priority } from '../core/types.ts';
import { EXPRESS_SLOTS, type Recognizer } from '../recognizer/recognizer.ts';

export type Ticket = {
  readonly requestId: string;
  readonly keyId: string;
  readonly priority: Priority;
  /** It takes ordinary turns only, and leaves the slot that is kept to those whose whole work is short. */
  readonly canWait?: boolean;
};

export type Scheduler = {
  /** Runs `work` when its turn comes; rejects with the signal's reason when aborted while it waits. */
  submit<T>(recognizer: Recognizer, ticket: Ticket, work: () => Promise<T>, signal: AbortSignal): Promise<T>;
  /** Segments that wait for their turn, over all recognisers. */
  waiting(): number;
};

/** Every so many turns the longest-waiting batch segment goes first even while interactive ones wait. */
const BATCH_TURN = 8;
/** How much of an upload cannot wait, s: nobody knows yet whether more follows. */
const BEGINNING_SEC = 30;

/** The ticket of a segment of a recording, `startSec` from its beginning. Nobody waits at a socket for a job. */
export const ticketOf = (
  { requestId, keyId, priority }: Ticket,
  startSec: number,
  isJob: boolean,
): Ticket & { readonly canWait: boolean } => ({
  requestId,
  keyId,
  priority,
  canWait: isJob || startSec >= BEGINNING_SEC,
});

type Task = { readonly ticket: Ticket; readonly start: () => Promise<void> };

/** Turns of one recogniser. */
type Lane = {
  readonly slots: number;
  tasks: Task[];
  inFlight: number;
  /** Segments in flight by request. */
  readonly running: Map<string, number>;
  /** The turn at which a key or request was last served. */
  readonly served: Map<string, number>;
  turn: number;
};

const createLane = (slots: number): Lane => ({
  slots,
  tasks: [],
  inFlight: 0,
  running: new Map(),
  served: new Map(),
  turn: 0,
});

const servedAt = (lane: Lane, name: string): number => lane.served.get(name) ?? -1;

/** The task whose turn it is: class, then the key served longest ago, then its request served longest ago. */
const chooseTask = (lane: Lane, eligible: readonly Task[]): Task | undefined => {
  const batchTurn = lane.turn % BATCH_TURN === BATCH_TURN - 1;
  const preferred = eligible.filter(({ ticket }) => (ticket.priority === 'batch') === batchTurn);
  const candidates = preferred.length > 0 ? preferred : eligible;
  let best: Task | undefined;
  for (const task of candidates) {
    // Tasks stand in order of arrival, so a strict comparison keeps a request's segments in order.
    if (!best || isEarlier(lane, task.ticket, best.ticket)) best = task;
  }
  return best;
};

const isEarlier = (lane: Lane, one: Ticket, other: Ticket): boolean => {
  const byKey = servedAt(lane, keyName(one)) - servedAt(lane, keyName(other));
  if (byKey !== 0) return byKey < 0;
  return servedAt(lane, requestName(one)) < servedAt(lane, requestName(other));
};

const keyName = (ticket: Ticket): string => `key ${ticket.keyId}`;
const requestName = (ticket: Ticket): string => `request ${ticket.requestId}`;

const nextTask = (lane: Lane): Task | undefined => {
  if (lane.inFlight < lane.slots) return chooseTask(lane, lane.tasks);
  if (lane.inFlight >= lane.slots + EXPRESS_SLOTS) return undefined;
  return chooseTask(
    lane,
    lane.tasks.filter(({ ticket }) => !ticket.canWait && !lane.running.has(ticket.requestId)),
  );
};

const markStarted = (lane: Lane, { ticket }: Task): void => {
  lane.turn += 1;
  lane.inFlight += 1;
  lane.running.set(ticket.requestId, (lane.running.get(ticket.requestId) ?? 0) + 1);
  lane.served.set(keyName(ticket), lane.turn);
  lane.served.set(requestName(ticket), lane.turn);
};

const markEnded = (lane: Lane, { ticket }: Task): void => {
  lane.inFlight -= 1;
  const left = (lane.running.get(ticket.requestId) ?? 1) - 1;
  if (left > 0) lane.running.set(ticket.requestId, left);
  else lane.running.delete(ticket.requestId);
  // With nobody about there is no order to remember; this is what keeps the map from growing.
  if (lane.inFlight === 0 && lane.tasks.length === 0) lane.served.clear();
};

const pump = (lane: Lane): void => {
  for (let task = nextTask(lane); task; task = nextTask(lane)) {
    const started = task;
    lane.tasks = lane.tasks.filter((waiting) => waiting !== started);
    markStarted(lane, started);
    void started.start().finally(() => {
      markEnded(lane, started);
      pump(lane);
    });
  }
};

/** Makes the scheduler. `slotsOf` tells how many segments of a recogniser may be in flight. */
export const createScheduler = (slotsOf: (recognizer: Recognizer) => number): Scheduler => {
  const lanes = new WeakMap<Recognizer, Lane>();
  let waitingCount = 0;

  const laneOf = (recognizer: Recognizer): Lane => {
    const known = lanes.get(recognizer);
    if (known) return known;
    const lane = createLane(slotsOf(recognizer));
    lanes.set(recognizer, lane);
    return lane;
  };

  return {
    submit: (recognizer, ticket, work, signal) =>
      new Promise((resolve, reject) => {
        const lane = laneOf(recognizer);
        // Its turn comes while another's work ends; it must not be taken for a part of that one (traces).
        const inContext = AsyncLocalStorage.snapshot();
        const leave = (): void => {
          waitingCount -= 1;
          signal.removeEventListener('abort', onAbort);
        };
        const task: Task = {
          ticket,
          start: async () => {
            leave();
            await inContext(work).then(resolve, reject);
          },
        };
        const onAbort = (): void => {
          lane.tasks = lane.tasks.filter((waiting) => waiting !== task);
          leave();
          reject(signal.reason);
        };
        if (signal.aborted) {
          reject(signal.reason);
          return;
        }
        waitingCount += 1;
        signal.addEventListener('abort', onAbort, { once: true });
        lane.tasks.push(task);
        pump(lane);
      }),
    waiting: () => waitingCount,
  };
};
