/** A token bucket per key: `rps` requests a second, bursts of twice that. */

/** Fully refilled buckets are forgotten once there are this many. */
const MAX_BUCKETS = 10_000;
/** Requests that may come at once even for a key that gets less than one every two seconds. */
const MIN_BURST = 1;

type Bucket = { tokens: number; atMs: number };

export type RateLimiter = {
  /** Takes one request from the key's allowance; seconds to wait when there is none, else 0. */
  take(keyId: string, rps: number): number;
};

export const createRateLimiter = (now: () => number): RateLimiter => {
  const buckets = new Map<string, Bucket>();
  return {
    take: (keyId, rps) => {
      if (rps <= 0) return 0;
      const burst = Math.max(MIN_BURST, 2 * rps);
      const atMs = now();
      const old = buckets.get(keyId) ?? { tokens: burst, atMs };
      const tokens = Math.min(burst, old.tokens + (Math.max(0, atMs - old.atMs) / 1000) * rps);
      if (buckets.size >= MAX_BUCKETS) buckets.clear();
      buckets.set(keyId, { tokens: tokens >= 1 ? tokens - 1 : tokens, atMs });
      return tokens >= 1 ? 0 : (1 - tokens) / rps;
    },
  };
};
