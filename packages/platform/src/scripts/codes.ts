/**
 * One-time codes of a run (element 160): made here, kept as a sealed digest, good once, for a while, and for a few
 * tries. Besides the tries of one code, wrong ones are counted over all runs for the same purpose, so that asking for
 * new codes gives no more guesses.
 */
import { randomInt } from 'node:crypto';
import type { Clock } from '@parley/kit/clock.ts';
import { createToken, equalConstantTime, sha256Hex } from '@parley/kit/ids.ts';
import { type Change, Conflict, type Store } from '@parley/kit/store/store.ts';
import { type Ban, WINDOW_MS } from '../auth/ban.ts';
import type { SecretBox } from '../domains/secrets.ts';
import { SYSTEM_SPACE } from '../domains/types.ts';

/** Which code: of one run, for one purpose in the script's words. */
export type CodeKey = { readonly runId: string; readonly domain: string; readonly purpose: string };

export type CodeWish = { readonly digits: number; readonly ttlMs: number; readonly tries: number };

export type ScriptCodes = {
  /** A new code of digits; the one before it is void. */
  make(key: CodeKey, wish: CodeWish): Promise<string>;
  /** True once for the right code. Throws 429 when the purpose had too many wrong ones. */
  check(key: CodeKey, code: string): Promise<boolean>;
  /** Drops codes past their time. */
  sweep(): Promise<void>;
};

type Kept = { readonly sealed: string; readonly tries: number; readonly until_ms: number };

const KIND = 'script-code';
/** The specification's rule for failures of sign-in. */
const LIMIT = 5;
const SWEEP_PAGE = 500;
const NOT_A_DIGIT = /[^0-9]/g;

type Parts = { readonly store: Store; readonly secrets: SecretBox; readonly clock: Clock; readonly ban: Ban };

export const createScriptCodes = ({ store, secrets, clock, ban }: Parts): ScriptCodes => {
  const idOf = ({ runId, domain, purpose }: CodeKey): string => sha256Hex(JSON.stringify([runId, domain, purpose]));
  const counterOf = ({ domain, purpose }: CodeKey) => ({
    name: ['code', domain, purpose.toLowerCase()],
    limit: LIMIT,
    windowMs: WINDOW_MS,
  });

  /** False when another check was quicker. */
  const commit = async (change: Change): Promise<boolean> => {
    try {
      await store.commit(SYSTEM_SPACE, [change]);
      return true;
    } catch (thrown) {
      if (thrown instanceof Conflict) return false;
      throw thrown;
    }
  };

  /** Takes one try before it looks, so that tries in parallel are all counted; the right code takes the row away. */
  const redeem = async (id: string, code: string): Promise<boolean> => {
    for (;;) {
      const row = await store.get<Kept>(SYSTEM_SPACE, KIND, id);
      if (!row || row.data.tries <= 0 || row.data.until_ms <= clock.now()) return false;
      const { version: expect, data } = row;
      const isRight = equalConstantTime(digestOf(code, saltOf(secrets, data)), secrets.open(data.sealed));
      const change: Change = isRight
        ? { op: 'drop', kind: KIND, id, expect, quiet: true }
        : { op: 'put', kind: KIND, id, expect, quiet: true, data: { ...data, tries: data.tries - 1 } };
      if (await commit(change)) return isRight;
    }
  };

  return {
    make: async (key, { digits, ttlMs, tries }) => {
      const code = Array.from({ length: digits }, () => randomInt(10)).join('');
      const data: Kept = { sealed: secrets.seal(digestOf(code, createToken())), tries, until_ms: clock.now() + ttlMs };
      await store.commit(SYSTEM_SPACE, [{ op: 'put', kind: KIND, id: idOf(key), data, quiet: true }]);
      return code;
    },
    check: async (key, code) => {
      const attempt = await ban.reserve(counterOf(key));
      let failed = false;
      try {
        const isRight = await redeem(idOf(key), code.replaceAll(NOT_A_DIGIT, ''));
        failed = !isRight;
        return isRight;
      } finally {
        await attempt.settle(failed);
      }
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

const SEPARATOR = ':';

/** Salt and digest in one text. */
const digestOf = (code: string, salt: string): string =>
  `${salt}${SEPARATOR}${sha256Hex(`${salt}${SEPARATOR}${code}`)}`;

const saltOf = (secrets: SecretBox, { sealed }: Kept): string => secrets.open(sealed).split(SEPARATOR, 1)[0]!;
