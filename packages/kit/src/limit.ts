/**
 * How often something may happen per key: a token bucket (request rates). It holds a bounded number of keys and forgets
 * what no longer matters.
 */

/** Monotonic milliseconds. */
type Now = () => number;

const monotonicMs: Now = () => performance.now();

const MAX_KEYS = 100_000;
/** Sums of fractions are a little off; waiting as long as was said must be enough. */
const ROUNDING = 1e-6;

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

/** A Map keeps its keys in the order they were set; a key is set anew with each use. */
const dropOldest = (entries: Map<string, unknown>, maxKeys: number): void => {
  if (entries.size <= maxKeys) return;
  for (const oldest of entries.keys()) {
    entries.delete(oldest);
    return;
  }
};
