/**
 * Models in memory: leases on loaded recognizers, least recently used out first, within a memory budget and a count.
 * A leased or pinned model is never taken out. Replacing a model while it serves is swap.ts; which revision a request
 * means is resolve.ts.
 */

import { until } from '@parley/kit/abort.ts';
import { type Clock, systemClock } from '@parley/kit/clock.ts';
import type { Problem } from '@parley/kit/problem.ts';
import { problem } from '../core/codes.ts';
import type { Recognizer } from '../recognizer/recognizer.ts';
import type { UsableModel } from './installed.ts';
import { isEvictable, leasesOf, type SlotState } from './pool-state.ts';
import {
  apply,
  createSlots,
  disposeDrained,
  drain,
  evictOne,
  hasRoom,
  inBackground,
  keyOf,
  type ModelRef,
  openSlot,
  type PoolOptions,
  type Slot,
  type Slots,
} from './slots.ts';
import { swapSlot } from './swap.ts';

/** A borrowed recognizer; the model stays in memory until it is given back. Giving back twice is harmless. */
export type Lease = AsyncDisposable & { readonly recognizer: Recognizer; readonly model: UsableModel };

/** What the pool knows of one model. */
type Residence = {
  readonly state: SlotState | undefined;
  readonly leases: number;
  /** Measured; 0 when it is not in memory. */
  readonly rssBytes: number;
  readonly lastUsedMs: number | undefined;
};

export type Pool = AsyncDisposable & {
  /**
   * Borrows the model, loading it when need be. Rejects with the signal's reason, or with model_unavailable (with
   * Retry-After) when it cannot be had within the acquire time-out, or model_not_found.
   */
  acquire(ref: ModelRef, signal: AbortSignal): Promise<Lease>;
  /** Loads and warms up, however long that takes; one on its way out stays. Problems as acquire. */
  load(ref: ModelRef, signal: AbortSignal): Promise<void>;
  /**
   * Takes the model out of service and resolves when its memory is free; the signal ends the waiting, not the
   * draining. Nothing to do when it is not in memory. Problem model_pinned unless forced.
   */
  unload(ref: ModelRef, options: { readonly force: boolean; readonly signal: AbortSignal }): Promise<void>;
  /** Sets the pin, or turns it over when `pinned` is not said; pinning loads first. Resolves with what it is now. */
  pin(ref: ModelRef, pinned: boolean | undefined, signal: AbortSignal): Promise<boolean>;
  /**
   * Loads a fresh instance of `to` beside the serving ones, warms it up, gives it `from`'s place and pin, and lets
   * `from` drain. A failure leaves everything as it was and rejects with model_unavailable.
   */
  swap(from: ModelRef | undefined, to: ModelRef, signal: AbortSignal): Promise<void>;
  residence(ref: ModelRef): Residence;
  /** The revision of this id that serves from memory, if one does. */
  residentRevision(id: string): string | undefined;
  /** All of them, those on their way out included. */
  residentRevisions(id: string): readonly string[];
  /** Measures the memory of every loaded model again. */
  measure(): Promise<void>;
};

const RETRY_AFTER_SEC = 5;

const unavailable = (message: string): Problem =>
  problem('model_unavailable', message, { param: 'model', retryAfterSec: RETRY_AFTER_SEC });

const tooLate = (pool: Slots, ref: ModelRef): Problem =>
  pool.serving.get(keyOf(ref))?.state.name === 'loading'
    ? unavailable(`Model ${ref.id} is still being loaded.`)
    : unavailable(`There is no room in memory for model ${ref.id} at the moment.`);

const findModel = (pool: Slots, ref: ModelRef): UsableModel => {
  const model = pool.options.find(ref);
  if (!model) throw problem('model_not_found', `Model ${keyOf(ref)} is not installed.`, { param: 'model' });
  return model;
};

/** The serving slot, opened when there is none and as soon as there is room. */
const slotFor = async (pool: Slots, ref: ModelRef, signal: AbortSignal): Promise<Slot> => {
  for (;;) {
    const had = pool.serving.get(keyOf(ref)) ?? drainingSlot(pool, ref);
    if (had) return had;
    const model = findModel(pool, ref);
    if (hasRoom(pool, model)) {
      const slot = openSlot(pool, model);
      pool.serving.set(keyOf(ref), slot);
      return slot;
    }
    evictOne(pool);
    await until(pool.changed.promise, signal);
  }
};

/** An instance that is on its way out but still lives: a request that chose it just before may have it. */
const drainingSlot = (pool: Slots, ref: ModelRef): Slot | undefined =>
  [...pool.slots].find((slot) => slot.state.name === 'draining' && keyOf(slot.model) === keyOf(ref));

/** Patience for room and for loading; a request has little of either, an administrator waits for the load to end. */
type Patience = { readonly room: AbortSignal; readonly load: AbortSignal };

const readySlot = async (pool: Slots, ref: ModelRef, patience: Patience): Promise<Slot> => {
  for (;;) {
    const slot = await slotFor(pool, ref, patience.room);
    await until(slot.ready, patience.load);
    // Between loading and this moment somebody may have sent it away.
    if (slot.state.name === 'resident' || slot.state.name === 'draining') return slot;
  }
};

const lend = (pool: Slots, slot: Slot, recognizer: Recognizer): Lease => {
  apply(pool, slot, { type: 'leased', nowMs: pool.clock.now() });
  let given = false;
  const giveBack = async (): Promise<void> => {
    if (given) return;
    given = true;
    apply(pool, slot, { type: 'released', nowMs: pool.clock.now() });
    if (slot.state.name === 'draining') inBackground(pool, disposeDrained(pool, slot));
  };
  return { recognizer, model: slot.model, [Symbol.asyncDispose]: giveBack };
};

const acquire = async (pool: Slots, ref: ModelRef, signal: AbortSignal, waitsForLoad = false): Promise<Lease> => {
  const done = new AbortController();
  const late = new AbortController();
  pool.clock.delay(pool.options.acquireTimeoutMs, done.signal).then(
    () => late.abort(tooLate(pool, ref)),
    () => undefined,
  );
  const whole = AbortSignal.any([signal, pool.closing.signal]);
  const room = AbortSignal.any([whole, late.signal]);
  try {
    const slot = await readySlot(pool, ref, { room, load: waitsForLoad ? whole : room });
    if (!slot.recognizer) throw tooLate(pool, ref);
    return lend(pool, slot, slot.recognizer);
  } finally {
    done.abort();
  }
};

const unload: (pool: Slots, ...args: Parameters<Pool['unload']>) => Promise<void> = async (pool, ref, options) => {
  const serving = pool.serving.get(keyOf(ref));
  // A load that fails leaves nothing to unload.
  if (serving) {
    await until(
      serving.ready.catch(() => undefined),
      options.signal,
    );
  }
  if (serving?.state.name === 'resident' && serving.state.pinned && !options.force) {
    throw problem('model_pinned', `Model ${ref.id} is pinned.`);
  }
  if (serving) drain(pool, serving);
  // Those that were on their way out already count too.
  const leaving = [...pool.slots].filter((slot) => slot.state.name !== 'loading' && keyOf(slot.model) === keyOf(ref));
  for (const slot of leaving) inBackground(pool, disposeDrained(pool, slot));
  const isLeaving = (slot: Slot): boolean => pool.slots.has(slot) && slot.state.name !== 'resident';
  while (leaving.some(isLeaving)) await until(pool.changed.promise, options.signal);
};

/** Loads for an administrator: whoever asks for it by name wants it to stay, also when it was on its way out. */
const load = async (pool: Slots, ref: ModelRef, signal: AbortSignal, pinned?: boolean): Promise<void> => {
  await using lease = await acquire(pool, ref, signal, true);
  const slot = [...pool.slots].find((one) => one.recognizer === lease.recognizer);
  if (slot?.state.name === 'draining') {
    apply(pool, slot, { type: 'revived' });
    pool.serving.set(keyOf(slot.model), slot);
  }
  // Still borrowed, so that nobody can take it away before it is pinned.
  if (pinned !== undefined && slot?.state.name === 'resident') apply(pool, slot, { type: 'pin', pinned });
};

const pin: (pool: Slots, ...args: Parameters<Pool['pin']>) => Promise<boolean> = async (pool, ref, pinned, signal) => {
  const had = pool.serving.get(keyOf(ref))?.state;
  const wanted = pinned ?? !(had !== undefined && 'pinned' in had && had.pinned);
  if (!wanted && !had) return false;
  await load(pool, ref, signal, wanted);
  return wanted;
};

/** Sends out what nobody used for the idle time. One sleeper for all, awake at the earliest moment that matters. */
const sweepIdle = async (pool: Slots): Promise<void> => {
  const { signal } = pool.closing;
  const { idleMs } = pool.options;
  while (!signal.aborted) {
    const { promise } = pool.changed;
    const idle = [...pool.slots].flatMap((slot) =>
      isEvictable(slot.state) ? [{ slot, at: slot.state.lastUsedMs + idleMs }] : [],
    );
    for (const { slot, at } of idle) {
      if (at > pool.clock.now()) continue;
      drain(pool, slot);
      inBackground(pool, disposeDrained(pool, slot));
    }
    const next = Math.min(...idle.map(({ at }) => at).filter((at) => at > pool.clock.now()));
    const woken = new AbortController();
    const sleep = Number.isFinite(next)
      ? [pool.clock.delay(next - pool.clock.now(), woken.signal).catch(() => undefined)]
      : [];
    await until(Promise.race([promise, ...sleep]), signal).finally(() => woken.abort());
  }
};

const residenceOf = (pool: Slots, ref: ModelRef): Residence => {
  const slot = pool.serving.get(keyOf(ref)) ?? drainingSlot(pool, ref);
  const state = slot?.state;
  return {
    state,
    leases: state ? leasesOf(state) : 0,
    rssBytes: slot?.rssBytes ?? 0,
    lastUsedMs: state && 'lastUsedMs' in state ? state.lastUsedMs : undefined,
  };
};

const measure = async (pool: Slots): Promise<void> => {
  await Promise.all(
    [...pool.slots].map(async (slot) => {
      slot.rssBytes = (await slot.recognizer?.rssBytes().catch(() => 0)) || slot.rssBytes;
    }),
  );
};

const disposeAll = async (pool: Slots): Promise<void> => {
  pool.closing.abort(problem('draining', 'The service is stopping.'));
  const open = [...pool.slots];
  await Promise.allSettled(open.map((slot) => slot.ready));
  await Promise.allSettled(open.map((slot) => slot.recognizer?.[Symbol.asyncDispose]()));
  await Promise.allSettled([...pool.background]);
  pool.slots.clear();
  pool.serving.clear();
};

export const createPool = (options: PoolOptions, clock: Clock = options.clock ?? systemClock): Pool => {
  const pool = createSlots(options, clock);
  if (options.idleMs > 0) inBackground(pool, sweepIdle(pool));
  return {
    acquire: (ref, signal) => acquire(pool, ref, signal),
    load: (ref, signal) => load(pool, ref, signal),
    unload: (ref, unloading) => unload(pool, ref, unloading),
    pin: (ref, pinned, signal) => pin(pool, ref, pinned, signal),
    swap: (from, to, signal) => swapSlot(pool, from, findModel(pool, to), signal),
    residence: (ref) => residenceOf(pool, ref),
    residentRevision: (id) => [...pool.serving.values()].find((slot) => slot.model.id === id)?.model.revision,
    residentRevisions: (id) => [
      ...new Set([...pool.slots].filter((slot) => slot.model.id === id).map((slot) => slot.model.revision)),
    ],
    measure: () => measure(pool),
    [Symbol.asyncDispose]: () => disposeAll(pool),
  };
};
