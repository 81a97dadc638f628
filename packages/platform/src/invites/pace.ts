/**
 * The pace of invitations: one in two minutes for an e-mail address, and one for a client address. Kept as rows, so
 * that neither a restart nor another node forgives anything; both places are taken in one commit or none is.
 */
import { sha256Hex } from '@parley/kit/ids.ts';
import { type Change, Conflict, type Store } from '@parley/kit/store/store.ts';
import { networkOf } from '../auth/address.ts';
import { SYSTEM_SPACE } from '../domains/types.ts';
import { sweep } from './links.ts';

export type Pace = {
  /** How long until the next may go, in ms; 0 when it may go now. Takes nothing. */
  waitOf(email: string, address: string): Promise<number>;
  /** Takes both places; answers 0, or how long to wait when one is taken. */
  take(email: string, address: string): Promise<number>;
  /** Gives both back, for an invitation that came to nothing. */
  giveBack(email: string, address: string): Promise<void>;
  sweep(): Promise<void>;
};

type Place = { readonly until_ms: number };

const KIND = 'invite-pace';
const MAX_ATTEMPTS = 20;
/** Rows go late: one that came back at once could pass for the one that was read before. */
const SWEEP_AFTER_MS = 60_000;

const idsOf = (email: string, address: string): string[] =>
  [`email\n${email.toLowerCase()}`, `address\n${networkOf(address)}`].map(sha256Hex);

export const createPace = (store: Store, now: () => number, intervalMs: number): Pace => {
  const read = async (email: string, address: string) => {
    const rows = await Promise.all(
      idsOf(email, address).map(async (id) => ({ id, row: await store.get<Place>(SYSTEM_SPACE, KIND, id) })),
    );
    const nowMs = now();
    const waitMs = Math.max(0, ...rows.map(({ row }) => (row?.data.until_ms ?? 0) - nowMs));
    return { rows, nowMs, waitMs };
  };
  const takeOnce = async (email: string, address: string): Promise<number> => {
    const { rows, nowMs, waitMs } = await read(email, address);
    if (waitMs > 0) return waitMs;
    const data: Place = { until_ms: nowMs + intervalMs };
    const changes = rows.map(
      ({ id, row }): Change => ({ op: 'put', kind: KIND, id, data, expect: row?.version ?? 0, quiet: true }),
    );
    await store.commit(SYSTEM_SPACE, changes);
    return 0;
  };
  return {
    waitOf: async (email, address) => (await read(email, address)).waitMs,
    take: async (email, address) => {
      for (let tries = 1; ; tries++) {
        try {
          return await takeOnce(email, address);
        } catch (thrown) {
          // Somebody was quicker: their place counts.
          if (!(thrown instanceof Conflict) || tries === MAX_ATTEMPTS) throw thrown;
        }
      }
    },
    giveBack: async (email, address) => {
      const data: Place = { until_ms: 0 };
      await store.commit(
        SYSTEM_SPACE,
        idsOf(email, address).map((id): Change => ({ op: 'put', kind: KIND, id, data, quiet: true })),
      );
    },
    sweep: () => sweep(store, KIND, 'until_ms', now() - SWEEP_AFTER_MS),
  };
};
