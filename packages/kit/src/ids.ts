/** Identifiers, secrets and digests. Everything random here comes from the system's CSPRNG. */
import { hash, randomBytes, timingSafeEqual } from 'node:crypto';

export const ZERO_UUID = '00000000-0000-0000-0000-000000000000';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** True for any version of UUID in lower case with hyphens (RFC 9562 §4). */
export const isUuid = (text: string): boolean => UUID.test(text);

/** UUID version 7 (RFC 9562 §5.7): 48 bits of Unix milliseconds, then random, so that ids sort by time of making. */
export const createUuid = (nowMs: number = Date.now()): string => {
  const bytes = randomBytes(16);
  bytes.writeUIntBE(nowMs, 0, 6);
  bytes[6] = 0x70 | (bytes[6]! & 0x0f);
  bytes[8] = 0x80 | (bytes[8]! & 0x3f);
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
};

/** `prefix_` followed by a time-ordered id without hyphens; no `~` or `/` ever. */
export const createPrefixedId = (prefix: string): string => `${prefix}_${createUuid().replaceAll('-', '')}`;

/** A secret of `byteLength` random bytes as base64url without padding (32 bytes give 43 characters). */
export const createToken = (byteLength = 32): string => randomBytes(byteLength).toString('base64url');

/** Lower-case hexadecimal SHA-256 of text or bytes. */
export const sha256Hex = (input: string | Uint8Array): string => hash('sha256', input, 'hex');

/** Compares two strings in time that depends on their lengths only. */
export const equalConstantTime = (left: string, right: string): boolean => {
  const a = Buffer.from(left);
  const b = Buffer.from(right);
  return a.length === b.length && timingSafeEqual(a, b);
};
