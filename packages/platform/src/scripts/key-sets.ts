/** Public keys of issuers (JWK Sets, RFC 7517 §5), fetched for element 170 and kept for a while. */
import { fetchOutbound } from '@parley/kit/outbound.ts';
import type { JSONWebKeySet } from 'jose';
import { isObject } from '../rest/json.ts';
import { ScriptFault } from './fault.ts';

export type KeySets = {
  /**
   * `isFresh`: as the issuer has it now, if it was not asked a moment ago. Throws an OutboundError, or a ScriptFault when
   * what came is no key set.
   */
  read(uri: string, options: { readonly isFresh: boolean; readonly signal: AbortSignal }): Promise<JSONWebKeySet>;
};

export type KeySetsOptions = {
  /** Hosts that may be private and plain http. */
  readonly allowedHosts: readonly string[];
  readonly ca?: string;
  /** Monotonic milliseconds. */
  readonly now?: () => number;
};

const KEEP_MS = 600_000;
const FRESH_MS = 30_000;
const MAX_KEPT = 100;
const TIMEOUT_MS = 10_000;
const MAX_BYTES = 262_144;

export const createKeySets = ({ allowedHosts, ca, now = () => performance.now() }: KeySetsOptions): KeySets => {
  const kept = new Map<string, { readonly atMs: number; readonly keys: JSONWebKeySet }>();
  return {
    read: async (uri, { isFresh, signal }) => {
      const known = kept.get(uri);
      if (known && now() - known.atMs < (isFresh ? FRESH_MS : KEEP_MS)) return known.keys;
      const keys = parse(await fetchKeys(uri, { allowedHosts, ...(ca === undefined ? {} : { ca }) }, signal));
      kept.delete(uri);
      kept.set(uri, { atMs: now(), keys });
      if (kept.size > MAX_KEPT) kept.delete(kept.keys().next().value!);
      return keys;
    },
  };
};

const fetchKeys = async (uri: string, options: KeySetsOptions, signal: AbortSignal): Promise<Buffer> => {
  const headers = { accept: 'application/jwk-set+json, application/json' };
  const limits = { timeoutMs: TIMEOUT_MS, maxResponseBytes: MAX_BYTES };
  const answer = await fetchOutbound(uri, { ...options, ...limits, headers, signal });
  if (answer.status !== 200) throw new ScriptFault('outbound', `jwks_uri answered ${answer.status}`);
  return answer.body;
};

const parse = (body: Buffer): JSONWebKeySet => {
  try {
    const keys: unknown = JSON.parse(body.toString('utf8'));
    if (isObject(keys) && Array.isArray(keys.keys)) return keys as unknown as JSONWebKeySet;
  } catch {
    // Said below.
  }
  throw new ScriptFault('outbound', 'jwks_uri did not answer with a key set');
};
