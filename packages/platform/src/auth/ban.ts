/**
 * The ban: five failed attempts within three minutes, and the next is refused unheard. Every way in goes through here.
 * An attempt is reserved before it is checked and settled after, so that guesses sent in parallel cannot pass the
 * limit, while right ones sent in parallel only wait for each other.
 */
import { createHash } from 'node:crypto';
import type { Clock } from '@parley/kit/clock.ts';
import type { Change, Store } from '@parley/kit/store/store.ts';
import { problem } from '../codes.ts';
import { SYSTEM_SPACE } from '../domains/types.ts';
import { networkOf } from './address.ts';
import type { BanLedger, LimitedKey } from './ban-ledger.ts';

/** Whose failures the limit of five counts together. */
export type BanScope = 'address+login' | 'address' | 'login';

type Attempt = { readonly domain: string; readonly login: string; readonly address: string };

export type Ban = {
  /**
   * Runs a check of a password (or of another secret of an account) as one attempt. A false answer is a failure; an
   * error is neither. Throws 429 unheard when banned, 503 when too many wait.
   */
  attempt<T extends { readonly ok: boolean }>(attempt: Attempt, check: () => Promise<T>): Promise<T>;
  /** The same for secrets that name no account: session ids, links, one-time codes. */
  anonymous<T extends { readonly ok: boolean }>(address: string, check: () => Promise<T>): Promise<T>;
  /**
   * Reserves one attempt under a counter of a script's own; whoever takes it settles it. Throws 429 when banned, 503
   * when too many wait.
   */
  reserve(counter: Counter): Promise<Reservation>;
  /** Forgets the failures of a script's counter. */
  clear(counter: Counter): Promise<void>;
  /** Counts a session id that was never issued; throws 429 when the address is banned. */
  unknownSession(address: string): Promise<void>;
  /** Forgets who signed in from where too long ago. */
  sweep(): Promise<void>;
};

/** What a script counts failures of, apart from everything else; the name is made of parts, so that none can pose as another. */
export type Counter = BanLimits & { readonly name: readonly string[] };

export type Reservation = { settle(failed: boolean): Promise<void> };

/** How many failures within which time ban an account at an address. */
export type BanLimits = { readonly limit: number; readonly windowMs: number };

export type BanOptions = {
  readonly ledger: BanLedger;
  readonly store: Store;
  readonly clock: Clock;
  readonly scope?: BanScope;
  readonly maxWaitMs?: number;
  /** What a domain sets for its own accounts. */
  limitsOf?(domain: string): Partial<BanLimits>;
};

/** The specification: five failures within the previous three minutes. */
export const WINDOW_MS = 180_000;
const LIMIT = 5;
const WIDE_LIMIT = 50;
const MAX_WAITING = 256;
const DEFAULT_MAX_WAIT_MS = 5000;
const DAY_MS = 86_400_000;
/** How long an address that signed in with a login stays free of that login's wide limit. */
const FAMILIAR_MS = 30 * DAY_MS;
const FAMILIAR_KIND = 'signed-in-from';
const MAX_REMEMBERED = 10_000;
const SWEEP_PAGE = 500;

const keyOf = (...parts: readonly string[]): string => createHash('sha256').update(parts.join('\n')).digest('hex');
const folded = ({ domain, login }: Attempt): string[] => [domain.toLowerCase(), login.toLowerCase()];

const tooMany = (untilMs: number, nowMs: number) =>
  problem('too_many', { retryAfterSec: Math.max(1, Math.ceil((untilMs - nowMs) / 1000)) });

export const createBan = (options: BanOptions): Ban => {
  const { ledger, clock, scope = 'address+login' } = options;
  const familiar = createFamiliar(options.store, clock);
  const queue = createQueue(ledger, clock, options.maxWaitMs ?? DEFAULT_MAX_WAIT_MS);

  const limited = (limit: number, ...parts: readonly string[]): LimitedKey => ({
    key: keyOf(...parts),
    limit,
    windowMs: WINDOW_MS,
  });
  const addressKey = (address: string) => limited(WIDE_LIMIT, 'address', networkOf(address));
  const unknownKey = (address: string) => limited(LIMIT, 'unknown', networkOf(address));
  const loginKey = (attempt: Attempt) => limited(WIDE_LIMIT, 'login', ...folded(attempt));
  const narrowKey = (attempt: Attempt): LimitedKey => {
    const account = folded(attempt);
    const network = networkOf(attempt.address);
    const who = { address: [network], login: account, 'address+login': [...account, network] }[scope];
    return { ...limited(LIMIT, 'narrow', ...who), ...options.limitsOf?.(attempt.domain) };
  };

  const counterKey = ({ name, limit, windowMs }: Counter): LimitedKey => ({
    key: keyOf('counter', JSON.stringify(name)),
    limit,
    windowMs,
  });

  const refuseWhenBanned = async (key: LimitedKey): Promise<void> => {
    const untilMs = await ledger.bannedUntil(key);
    if (untilMs !== undefined) throw tooMany(untilMs, clock.now());
  };

  const run = async <T extends { readonly ok: boolean }>(
    keys: readonly LimitedKey[],
    check: () => Promise<T>,
  ): Promise<T> => {
    const taken: LimitedKey[] = [];
    let failed = false;
    try {
      for (const key of keys) {
        await queue.take(key);
        taken.push(key);
      }
      const verdict = await check();
      failed = !verdict.ok;
      return verdict;
    } finally {
      await queue.settle(taken, failed);
    }
  };

  return {
    attempt: async (attempt, check) => {
      await refuseWhenBanned(unknownKey(attempt.address));
      const spared = (await ledger.bannedUntil(loginKey(attempt))) !== undefined && (await familiar.has(attempt));
      const keys = [narrowKey(attempt), addressKey(attempt.address), ...(spared ? [] : [loginKey(attempt)])];
      const verdict = await run(keys, check);
      if (verdict.ok) await familiar.add(attempt);
      return verdict;
    },
    anonymous: (address, check) => run([unknownKey(address)], check),
    reserve: async (counter) => {
      const key = counterKey(counter);
      await queue.take(key);
      return { settle: (failed) => queue.settle([key], failed) };
    },
    clear: (counter) => ledger.clear(counterKey(counter)),
    unknownSession: async (address) => {
      await refuseWhenBanned(addressKey(address));
      await run([unknownKey(address)], async () => ({ ok: false }));
    },
    sweep: familiar.sweep,
  };
};

/** Takes reservations from the ledger, and lets those wait for whom none is free. */
const createQueue = (ledger: BanLedger, clock: Clock, maxWaitMs: number) => {
  const waiting = new Map<string, Set<() => void>>();
  const busy = () => problem('unavailable', { message: 'Too many attempts at once', retryAfterSec: 1 });

  /** Until an attempt of this key ends here, or (where other processes take part) a moment has passed. */
  const pause = async (key: string, deadlineMs: number): Promise<void> => {
    const others = waiting.get(key) ?? new Set();
    if (others.size >= MAX_WAITING) throw busy();
    const { promise, resolve } = Promise.withResolvers<void>();
    const leftMs = Math.max(0, deadlineMs - performance.now());
    const timer = setTimeout(resolve, Math.min(leftMs, ledger.pollMs ?? leftMs));
    waiting.set(key, others.add(resolve));
    await promise;
    clearTimeout(timer);
    others.delete(resolve);
    if (others.size === 0) waiting.delete(key);
  };

  return {
    take: async (key: LimitedKey): Promise<void> => {
      // Real time, not the clock's: this is how long a client is kept waiting.
      const deadlineMs = performance.now() + maxWaitMs;
      for (;;) {
        const taken = await ledger.take(key);
        if (taken.state === 'taken') return;
        if (taken.state === 'banned') throw tooMany(taken.untilMs, clock.now());
        if (performance.now() >= deadlineMs) throw busy();
        await pause(key.key, deadlineMs);
      }
    },
    settle: async (keys: readonly LimitedKey[], failed: boolean): Promise<void> => {
      await ledger.settle(keys, failed);
      for (const { key } of keys) for (const wake of waiting.get(key) ?? []) wake();
    },
  };
};

/** Who signed in from where lately. Written at most once a day for each. */
const createFamiliar = (store: Store, clock: Clock) => {
  const written = new Map<string, number>();
  const idOf = (attempt: Attempt) => keyOf(...folded(attempt), networkOf(attempt.address));

  return {
    has: async (attempt: Attempt): Promise<boolean> => {
      const row = await store.get<{ at_ms: number }>(SYSTEM_SPACE, FAMILIAR_KIND, idOf(attempt));
      return row !== undefined && row.data.at_ms > clock.now() - FAMILIAR_MS;
    },
    add: async (attempt: Attempt): Promise<void> => {
      const id = idOf(attempt);
      const at_ms = clock.now();
      if ((written.get(id) ?? 0) > at_ms - DAY_MS) return;
      written.set(id, at_ms);
      if (written.size > MAX_REMEMBERED) written.delete(written.keys().next().value!);
      await store.commit(SYSTEM_SPACE, [{ op: 'put', kind: FAMILIAR_KIND, id, data: { at_ms }, quiet: true }]);
    },
    sweep: async (): Promise<void> => {
      const where = [{ path: 'at_ms', op: '<', value: clock.now() - FAMILIAR_MS }] as const;
      for (;;) {
        const rows = await store.query(SYSTEM_SPACE, FAMILIAR_KIND, { where, limit: SWEEP_PAGE });
        const drops = rows.map(({ id }): Change => ({ op: 'drop', kind: FAMILIAR_KIND, id, quiet: true }));
        if (drops.length > 0) await store.commit(SYSTEM_SPACE, drops);
        if (rows.length < SWEEP_PAGE) return;
      }
    },
  };
};
