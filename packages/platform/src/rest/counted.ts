/** Writes of licensed items: with the counters of the licence in the same commit. */
import { Conflict } from '@parley/kit/store/store.ts';
import type { Held } from '../domains/collection.ts';
import { licensedDelta, type Planned } from './plan.ts';
import type { Quota, Usage } from './quota.ts';

/** A write that is done, or what to wait for, without the lock, before it is tried again. */
export type Outcome = { readonly held: Held | undefined } | { readonly again: () => Promise<unknown> };

/** Writes with the counters of the licence, where licensed items come or go; else without. */
export const counted = async (
  quota: Quota,
  changed: readonly Planned[],
  write: (usage: Usage | undefined) => Promise<Held | undefined>,
): Promise<Outcome> => {
  const delta = licensedDelta(changed);
  if (delta.size === 0) return { held: await write(undefined) };
  return quota.alone(async () => {
    const usage = quota.claim(delta);
    try {
      const held = await write(usage);
      quota.settle(usage);
      return { held };
    } catch (thrown) {
      // Another node counted meanwhile.
      if (isAbout(thrown, usage)) return { again: quota.refresh };
      throw thrown;
    }
  });
};

const isAbout = (thrown: unknown, { change }: Usage): boolean =>
  thrown instanceof Conflict && thrown.kind === change.kind && thrown.id === change.id;
