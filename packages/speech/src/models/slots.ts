/**
 * The loaded models behind pool.ts and what each one's life is made of: opened (loading, warmed up), borrowed, drained,
 * disposed. Also who has to go when memory is short.
 */
import type { Clock } from '@parley/kit/clock.ts';
import type { Log } from '@parley/kit/log.ts';
import { Problem } from '@parley/kit/problem.ts';
import { problem } from '../core/codes.ts';
import { loadFaultOf } from '../recognizer/load.ts';
import type { EngineModel, Recognizer } from '../recognizer/recognizer.ts';
import { folderNameOf, type UsableModel } from './installed.ts';
import { toEngineModel } from './manifest.ts';
import { isEvictable, nextSlot, type SlotEvent, type SlotState } from './pool-state.ts';

export type ModelRef = { readonly id: string; readonly revision: string };

export type PoolOptions = {
  /** Starts a child process and loads the model; a Problem when it cannot. */
  readonly start: (model: EngineModel, signal: AbortSignal) => Promise<Recognizer>;
  /** The installed, usable model of that name and revision. */
  readonly find: (ref: ModelRef) => UsableModel | undefined;
  readonly memoryBytes: number;
  readonly maxResident: number;
  readonly acquireTimeoutMs: number;
  /** 0 keeps idle models. */
  readonly idleMs: number;
  readonly numThreads: number;
  readonly log: Log;
  readonly clock?: Clock;
  /** Told when a model killed its engine process twice at load: it is to be quarantined. */
  readonly onUnloadable?: (ref: ModelRef, reason: string) => void;
};

/** One model in memory, on its way in or on its way out. */
export type Slot = {
  readonly model: UsableModel;
  state: SlotState;
  /** Set when loading and warming up are over. */
  recognizer: Recognizer | undefined;
  /** Resolves when resident; rejects with a Problem when it could not be loaded. */
  ready: Promise<void>;
  /** Measured; 0 while loading. */
  rssBytes: number;
};

/** The pool's state. `slots` is everything that takes memory, `serving` what a new lease gets. */
export type Slots = {
  readonly options: PoolOptions;
  readonly clock: Clock;
  readonly closing: AbortController;
  readonly slots: Set<Slot>;
  readonly serving: Map<string, Slot>;
  readonly background: Set<Promise<void>>;
  /** Resolved and replaced at every change. */
  changed: PromiseWithResolvers<void>;
};

const WARM_UP_SEC = 1;
const MIB = 2 ** 20;
/** Process and runtime beside the weights. */
const ENGINE_OVERHEAD_BYTES = 60 * MIB;
const WEIGHTS_TO_MEMORY = 1.2;

export const keyOf = (ref: ModelRef): string => folderNameOf(ref.id, ref.revision);

export const createSlots = (options: PoolOptions, clock: Clock): Slots => ({
  options,
  clock,
  closing: new AbortController(),
  slots: new Set(),
  serving: new Map(),
  background: new Set(),
  changed: Promise.withResolvers(),
});

const tellChange = (pool: Slots): void => {
  pool.changed.resolve();
  pool.changed = Promise.withResolvers();
};

export const apply = (pool: Slots, slot: Slot, event: SlotEvent): void => {
  slot.state = nextSlot(slot.state, event);
  tellChange(pool);
};

/** Work that no caller waits for; `dispose` of the pool does. */
export const inBackground = (pool: Slots, work: Promise<void>): void => {
  const tracked = work
    .catch((error: Error) => {
      if (!pool.closing.signal.aborted) pool.options.log.warn({ problem: error.message }, 'model pool');
    })
    .finally(() => pool.background.delete(tracked));
  pool.background.add(tracked);
};

/** Takes the slot out of service: no new place for it, what is borrowed goes on. */
export const drain = (pool: Slots, slot: Slot): void => {
  if (slot.state.name === 'resident') apply(pool, slot, { type: 'drain' });
  const key = keyOf(slot.model);
  if (pool.serving.get(key) === slot) pool.serving.delete(key);
};

/** Ends the process of a draining slot that nobody borrows; otherwise does nothing. */
export const disposeDrained = async (pool: Slots, slot: Slot): Promise<void> => {
  if (slot.state.name !== 'draining' || slot.state.leases > 0) return;
  apply(pool, slot, { type: 'disposed' });
  try {
    await slot.recognizer?.[Symbol.asyncDispose]();
  } finally {
    // Only now is the memory free again.
    pool.slots.delete(slot);
    pool.options.log.info({ model: slot.model.id, revision: slot.model.revision }, 'model unloaded');
    tellChange(pool);
  }
};

/** Memory a model will take, bytes: what its manifest says, else its files and the process around them. */
const estimateOf = ({ manifest, sizeBytes }: UsableModel): number =>
  manifest.resources.approx_rss_mb > 0
    ? manifest.resources.approx_rss_mb * MIB
    : sizeBytes * WEIGHTS_TO_MEMORY + ENGINE_OVERHEAD_BYTES;

/** Whether the model fits beside what is there, `except` not counted. One alone always fits: better slow than never. */
export const hasRoom = (pool: Slots, model: UsableModel, except?: Slot): boolean => {
  const others = [...pool.slots].filter((slot) => slot !== except);
  const used = others.reduce((sum, slot) => sum + (slot.rssBytes || estimateOf(slot.model)), 0);
  const { maxResident, memoryBytes } = pool.options;
  return others.length === 0 || (others.length < maxResident && used + estimateOf(model) <= memoryBytes);
};

/** Sends the least recently used idle model out, unless one is on its way already. */
export const evictOne = (pool: Slots, except?: Slot): void => {
  if ([...pool.slots].some((slot) => slot.state.name === 'gone')) return;
  let oldest: Slot | undefined;
  let oldestMs = Number.POSITIVE_INFINITY;
  for (const slot of pool.slots) {
    if (slot === except || !isEvictable(slot.state) || slot.state.lastUsedMs >= oldestMs) continue;
    oldest = slot;
    oldestMs = slot.state.lastUsedMs;
  }
  if (!oldest) return;
  drain(pool, oldest);
  inBackground(pool, disposeDrained(pool, oldest));
};

/** Starts the engine and lets it hear a second of silence: some bad models only fail at their first decode. */
const startWarm = async (pool: Slots, model: UsableModel): Promise<Recognizer> => {
  const { signal } = pool.closing;
  const recognizer = await pool.options.start(
    toEngineModel(model.manifest, model.dir, pool.options.numThreads),
    signal,
  );
  try {
    const { sampleRate } = recognizer.facts;
    const samples = new Int16Array(sampleRate * WARM_UP_SEC);
    if (!model.manifest.streaming)
      await recognizer.recognize({ samples, sampleRate, bandHz: sampleRate / 2 }, {}, signal);
    return recognizer;
  } catch (error) {
    await recognizer[Symbol.asyncDispose]();
    throw error;
  }
};

/** Why this model must be left alone, when its end was the model's own fault: it killed its process twice. */
const blameOf = (error: unknown): string | undefined => {
  const fault = loadFaultOf(error);
  if (fault) return fault.quarantine ? fault.reason : undefined;
  return error instanceof Problem && error.code === 'inference_failed' ? 'it cannot recognise silence' : undefined;
};

const startChecked = async (pool: Slots, model: UsableModel): Promise<Recognizer> => {
  try {
    return await startWarm(pool, model);
  } catch (error) {
    pool.closing.signal.throwIfAborted();
    const { id, revision } = model;
    const blame = blameOf(error);
    pool.options.log.warn({ model: id, revision, problem: blame ?? (error as Error).message }, 'model not loaded');
    if (blame !== undefined) pool.options.onUnloadable?.(model, blame);
    if (error instanceof Problem && error.code === 'model_unavailable') throw error;
    throw problem('model_unavailable', `Model ${id} cannot be loaded.`, { cause: error, param: 'model' });
  }
};

const fill = async (pool: Slots, slot: Slot): Promise<void> => {
  const { model } = slot;
  const startedMs = performance.now();
  try {
    const recognizer = await startChecked(pool, model);
    slot.recognizer = recognizer;
    slot.rssBytes = await recognizer.rssBytes().catch(() => 0);
    apply(pool, slot, { type: 'loaded', nowMs: pool.clock.now() });
  } catch (error) {
    slot.state = nextSlot(slot.state, { type: 'failed' });
    pool.slots.delete(slot);
    if (pool.serving.get(keyOf(model)) === slot) pool.serving.delete(keyOf(model));
    tellChange(pool);
    throw error;
  }
  const ms = Math.round(performance.now() - startedMs);
  const rss_mb = Math.round(slot.rssBytes / MIB);
  pool.options.log.info({ model: model.id, revision: model.revision, ms, rss_mb }, 'model loaded');
};

/** Begins to load. The slot counts in the budget from this moment, so two loads cannot both take the last room. */
export const openSlot = (pool: Slots, model: UsableModel, pinned = false): Slot => {
  const slot: Slot = {
    model,
    state: { name: 'loading', pinned },
    recognizer: undefined,
    ready: Promise.resolve(),
    rssBytes: 0,
  };
  pool.slots.add(slot);
  slot.ready = fill(pool, slot);
  // Whoever asked may be gone by then; the failure is logged where it happens.
  slot.ready.catch(() => undefined);
  return slot;
};
