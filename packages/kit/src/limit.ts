/**
 * How often something may happen per key: a sliding window that counts each event exactly (sign-in bans, invitations),
 * and a token bucket (request rates). Both hold a bounded number of keys and forget what no longer matters.
 */

/** Monotonic milliseconds. */
type Now = () => number;

const monotonicMs: Now = () => performance.now();

/** A place in the window, or how long to wait for one. */
type Taken =
  | { readonly ok: true /** Gives the place back, as if it had not been taken; idempotent. */; giveBack(): void }
  | { readonly ok: false; readonly retryAfterMs: number };

export type SlidingWindow = {
  /** Takes one of the places of this key. */
  take(key: string): Taken;
  /** Places taken within the window. */
  countOf(key: string): number;
  forget(key: string): void;
};

export type SlidingWindowOptions = {
  /** Places of a key within one window. */
  readonly max: number;
  readonly windowMs: number;
  /** Keys held at most; the one that was used longest ago goes first. */
  readonly maxKeys?: number;
  readonly now?: Now;
};

const MAX_KEYS = 100_000;
/** Sums of fractions are a little off; waiting as long as was said must be enough. */
const ROUNDING = 1e-6;

/** Counts events of the last `windowMs`, each for itself, so that no burst can straddle two windows. */
export const createSlidingWindow = ({
  max,
  windowMs,
  maxKeys = MAX_KEYS,
  now = monotonicMs,
}: SlidingWindowOptions): SlidingWindow => {
  /** Times of events, oldest first; the keys themselves in order of use. */
  const events = new Map<string, number[]>();

  const liveOf = (key: string): number[] => {
    const since = now() - windowMs;
    const live = (events.get(key) ?? []).filter((at) => at > since);
    events.delete(key);
    if (live.length > 0) events.set(key, live);
    return live;
  };
  const giveBack = (key: string, at: number): void => {
    const times = events.get(key);
    const index = times?.indexOf(at) ?? -1;
    if (!times || index < 0) return;
    times.splice(index, 1);
    if (times.length === 0) events.delete(key);
  };

  return {
    take: (key) => {
      const live = liveOf(key);
      const at = now();
      if (live.length >= max) return { ok: false, retryAfterMs: Math.max(1, (live[0] ?? at) + windowMs - at) };
      live.push(at);
      events.set(key, live);
      dropOldest(events, maxKeys);
      let held = true;
      return {
        ok: true,
        giveBack: () => {
          if (held) giveBack(key, at);
          held = false;
        },
      };
    },
    countOf: (key) => liveOf(key).length,
    forget: (key) => {
      events.delete(key);
    },
  };
};

export type TokenBucket = {
  /** Takes `cost` tokens; answers 0, or how many ms until there are enough. */
  take(key: string, cost?: number): number;
};

export type TokenBucketOptions = {
  /** Tokens that come back each second. */
  readonly ratePerSec: number;
  /** Tokens there are at most. */
  readonly burst: number;
  readonly maxKeys?: number;
  readonly now?: Now;
};

/** Allows `burst` at once and `ratePerSec` in the long run. */
export const createTokenBucket = ({
  ratePerSec,
  burst,
  maxKeys = MAX_KEYS,
  now = monotonicMs,
}: TokenBucketOptions): TokenBucket => {
  const buckets = new Map<string, { tokens: number; atMs: number }>();
  return {
    take: (key, cost = 1) => {
      const atMs = now();
      const last = buckets.get(key) ?? { tokens: burst, atMs };
      const tokens = Math.min(burst, last.tokens + ((atMs - last.atMs) / 1000) * ratePerSec);
      const isEnough = tokens >= cost - ROUNDING;
      buckets.delete(key);
      buckets.set(key, { tokens: isEnough ? Math.max(0, tokens - cost) : tokens, atMs });
      dropOldest(buckets, maxKeys);
      return isEnough ? 0 : Math.max(1, Math.ceil(((cost - tokens) / ratePerSec) * 1000 - ROUNDING));
    },
  };
};

/** A Map keeps its keys in the order they were set; both parts set a key anew with each use. */
const dropOldest = (entries: Map<string, unknown>, maxKeys: number): void => {
  if (entries.size <= maxKeys) return;
  for (const oldest of entries.keys()) {
    entries.delete(oldest);
    return;
  }
};
