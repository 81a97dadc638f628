/**
 * Runs that wait for a form, kept on the server under an opaque `ctx` that the client brings back. Each is good once and
 * for ten minutes. What people entered is in it, so it lies sealed; the key is a digest, so a stolen row opens nothing.
 */
import type { Clock } from '@parley/kit/clock.ts';
import { createToken, sha256Hex } from '@parley/kit/ids.ts';
import { type Change, Conflict, type Row, type Store } from '@parley/kit/store/store.ts';
import { problem } from '../codes.ts';
import type { SecretBox } from '../domains/secrets.ts';
import { SYSTEM_SPACE } from '../domains/types.ts';
import type { RunState } from './outcome.ts';

/** `domain`: whose scenario it is. */
export type WaitingRun = { readonly domain: string; readonly state: RunState };

export type WaitingRuns = {
  /** Keeps a run; answers its ctx. Throws 422 when there is too much to keep. */
  keep(run: WaitingRun): Promise<string>;
  /** The run, which goes on waiting. */
  peek(ctx: string): Promise<WaitingRun | undefined>;
  /** The run, for the one who takes it first. */
  take(ctx: string): Promise<WaitingRun | undefined>;
  /** Drops what nobody came back for. */
  sweep(): Promise<void>;
};

type Kept = { readonly sealed: string; readonly until_ms: number };

const KIND = 'waiting-run';
/** Contract §13. */
export const WAIT_MS = 600_000;
const CTX_BYTES = 16;
const CTX = /^[A-Za-z0-9_-]{22}$/;
const MAX_STATE_BYTES = 262_144;
const SWEEP_PAGE = 500;

type Parts = { readonly store: Store; readonly secrets: SecretBox; readonly clock: Clock };

export const createWaitingRuns = ({ store, secrets, clock }: Parts): WaitingRuns => {
  const read = async (ctx: string): Promise<Row<Kept> | undefined> => {
    if (!CTX.test(ctx)) return undefined;
    const row = await store.get<Kept>(SYSTEM_SPACE, KIND, sha256Hex(ctx));
    return row && row.data.until_ms > clock.now() ? row : undefined;
  };
  const open = ({ data }: Row<Kept>): WaitingRun => JSON.parse(secrets.open(data.sealed)) as WaitingRun;
  return {
    keep: async ({ domain, state }) => {
      const text = JSON.stringify({ domain, state });
      if (Buffer.byteLength(text) > MAX_STATE_BYTES) {
        throw problem('cannot_apply', { message: 'The sign-in scenario keeps too much between its steps' });
      }
      const ctx = createToken(CTX_BYTES);
      const data: Kept = { sealed: secrets.seal(text), until_ms: clock.now() + WAIT_MS };
      await store.commit(SYSTEM_SPACE, [{ op: 'put', kind: KIND, id: sha256Hex(ctx), data, expect: 0, quiet: true }]);
      return ctx;
    },
    peek: async (ctx) => {
      const row = await read(ctx);
      return row && open(row);
    },
    take: async (ctx) => {
      const row = await read(ctx);
      if (!row) return undefined;
      try {
        await store.commit(SYSTEM_SPACE, [{ op: 'drop', kind: KIND, id: row.id, expect: row.version, quiet: true }]);
      } catch (thrown) {
        if (thrown instanceof Conflict) return undefined;
        throw thrown;
      }
      return open(row);
    },
    sweep: async () => {
      const where = [{ path: 'until_ms', op: '<', value: clock.now() }] as const;
      for (;;) {
        const rows = await store.query(SYSTEM_SPACE, KIND, { where, limit: SWEEP_PAGE });
        const drops = rows.map(({ id }): Change => ({ op: 'drop', kind: KIND, id, quiet: true }));
        if (drops.length > 0) await store.commit(SYSTEM_SPACE, drops);
        if (rows.length < SWEEP_PAGE) return;
      }
    },
  };
};
