/** What a key may ask for: `rps` requests a second, bursts of twice that. */
import { createTokenBucket, type TokenBucket } from '@parley/kit/limit.ts';

/** Requests that may come at once even for a key that gets less than one every two seconds. */
const MIN_BURST = 1;

export type RateLimiter = {
  /** Takes one request from the key's allowance; seconds to wait when there is none, else 0. */
  take(keyId: string, rps: number): number | Promise<number>;
};

/** Requests that a key with this rate may make at once. */
export const burstOf = (rps: number): number => Math.max(MIN_BURST, 2 * rps);

/** Rates of one process. `now` gives milliseconds. */
export const createRateLimiter = (now: () => number): { take(keyId: string, rps: number): number } => {
  /** By rate: the keys file has few different ones. */
  const buckets = new Map<number, TokenBucket>();
  return {
    take: (keyId, rps) => {
      if (rps <= 0) return 0;
      const bucket = buckets.get(rps) ?? createTokenBucket({ ratePerSec: rps, burst: burstOf(rps), now });
      buckets.set(rps, bucket);
      return bucket.take(keyId) / 1000;
    },
  };
};
