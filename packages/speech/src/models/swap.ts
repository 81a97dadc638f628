/** Replaces a model while it serves: load beside, warm up, move the pointer, drain the old. No request is dropped. */

import { until } from '@parley/kit/abort.ts';
import { problem } from '../core/codes.ts';
import type { UsableModel } from './installed.ts';
import {
  apply,
  disposeDrained,
  drain,
  evictOne,
  hasRoom,
  inBackground,
  keyOf,
  type ModelRef,
  openSlot,
  type Slot,
  type Slots,
} from './slots.ts';

/** A request that chose its revision just before the pointer moved still borrows the old instance. */
const DRAIN_GRACE_MS = 2000;

const makeRoomBeside = async (
  pool: Slots,
  model: UsableModel,
  old: Slot | undefined,
  signal: AbortSignal,
): Promise<void> => {
  // The one being replaced is not counted: for a moment both are in memory, else nothing could ever be replaced.
  while (!hasRoom(pool, model, old)) {
    evictOne(pool, old);
    if (![...pool.slots].some((slot) => slot.state.name === 'gone')) {
      throw problem('model_unavailable', `There is no room in memory to load ${keyOf(model)} beside the serving one.`);
    }
    await until(pool.changed.promise, signal);
  }
};

/**
 * Loads `to` beside whatever serves, then lets new leases of `to` have it and `from` drain. `from` and `to` may be the
 * same revision. Rejects with model_unavailable, everything left as it was.
 */
export const swapSlot = async (
  pool: Slots,
  from: ModelRef | undefined,
  to: UsableModel,
  signal: AbortSignal,
): Promise<void> => {
  const old = from && pool.serving.get(keyOf(from));
  await makeRoomBeside(pool, to, old, signal);
  const fresh = openSlot(pool, to, old !== undefined && 'pinned' in old.state && old.state.pinned);
  try {
    await until(fresh.ready, signal);
  } catch (error) {
    // Nobody waits for it any more: when it does come up, it goes again.
    inBackground(
      pool,
      fresh.ready.then(
        () => letGo(pool, fresh),
        () => undefined,
      ),
    );
    throw error;
  }
  // It may have been pinned or set free while the new one was loading.
  if (old?.state.name === 'resident') apply(pool, fresh, { type: 'pin', pinned: old.state.pinned });
  const before = pool.serving.get(keyOf(to));
  pool.serving.set(keyOf(to), fresh);
  for (const slot of new Set([old, before])) {
    if (slot && slot !== fresh) inBackground(pool, letGoLater(pool, slot));
  }
};

const letGo = async (pool: Slots, slot: Slot): Promise<void> => {
  drain(pool, slot);
  await disposeDrained(pool, slot);
};

const letGoLater = async (pool: Slots, slot: Slot): Promise<void> => {
  await slot.ready;
  drain(pool, slot);
  await pool.clock.delay(DRAIN_GRACE_MS, pool.closing.signal);
  await disposeDrained(pool, slot);
};
