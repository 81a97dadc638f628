/**
 * Counters of failures that scripts keep (element 142). `check` reserves an attempt for the run until it ends or says
 * `fail` or `clear`, so that runs in parallel cannot pass the limit between a check and the failure that follows it.
 */
import { Problem } from '@parley/kit/problem.ts';
import type { Ban, Counter, Reservation } from '../auth/ban.ts';

export type ScriptCounters = {
  /** Reserves an attempt; false when banned. The signal is the run's: one that ended holds nothing any more. */
  check(runId: string, counter: Counter, signal: AbortSignal): Promise<boolean>;
  /** Counts a failure. */
  fail(runId: string, counter: Counter): Promise<void>;
  /** Forgets the failures. */
  clear(runId: string, counter: Counter): Promise<void>;
  /** What the run still held was no failure. */
  release(runId: string): Promise<void>;
};

export const createScriptCounters = (ban: Ban): ScriptCounters => {
  const held = new Map<string, Map<string, Reservation>>();

  /** undefined when banned. */
  const reserve = async (counter: Counter): Promise<Reservation | undefined> => {
    try {
      return await ban.reserve(counter);
    } catch (thrown) {
      if (thrown instanceof Problem && thrown.status === 429) return undefined;
      throw thrown;
    }
  };
  const nameOf = ({ name }: Counter): string => JSON.stringify(name);
  const takeHeld = (runId: string, counter: Counter): Reservation | undefined => {
    const own = held.get(runId)?.get(nameOf(counter));
    held.get(runId)?.delete(nameOf(counter));
    return own;
  };
  return {
    check: async (runId, counter, signal) => {
      const own = held.get(runId) ?? new Map<string, Reservation>();
      if (own.has(nameOf(counter))) return true;
      const reservation = await reserve(counter);
      if (!reservation) return false;
      if (signal.aborted) await reservation.settle(false);
      signal.throwIfAborted();
      held.set(runId, own.set(nameOf(counter), reservation));
      return true;
    },
    fail: async (runId, counter) => {
      const reservation = takeHeld(runId, counter) ?? (await reserve(counter));
      await reservation?.settle(true);
    },
    clear: async (runId, counter) => {
      await takeHeld(runId, counter)?.settle(false);
      await ban.clear(counter);
    },
    release: async (runId) => {
      const own = held.get(runId);
      held.delete(runId);
      for (const reservation of own?.values() ?? []) await reservation.settle(false);
    },
  };
};
