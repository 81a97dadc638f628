/** The keys of a running service: found by secret in constant time, read again whenever the file changes. */
import { readFileSync, statSync } from 'node:fs';
import { equalConstantTime } from '@parley/kit/ids.ts';
import { digestOf, type KeyRecord, parseKeyFile } from './key-file.ts';

export type Keys = {
  /** The key with this secret that may be used now; nothing when unknown, disabled or expired. */
  find(secret: string): KeyRecord | undefined;
};

export type KeysParts = {
  readonly path: string;
  readonly now: () => number;
  /** Told when a changed file cannot be used; the keys read before stay in force. */
  readonly onFault: (thrown: unknown) => void;
};

/** Opens the file, which must be there and in order. */
export const openKeys = ({ path, now, onFault }: KeysParts): Keys => {
  let stamp: string | undefined = stampOf(path);
  let records = parseKeyFile(readFileSync(path, 'utf8'), path).keys;

  const refresh = (): void => {
    let current: string | undefined;
    try {
      current = stampOf(path);
      if (current === stamp) return;
      records = parseKeyFile(readFileSync(path, 'utf8'), path).keys;
    } catch (thrown) {
      if (current !== stamp) onFault(thrown);
    }
    stamp = current;
  };

  return {
    find: (secret) => {
      refresh();
      return findUsable(records, secret, now());
    },
  };
};

/** The record with this secret that may be used at `nowMs`. */
export const findUsable = (records: readonly KeyRecord[], secret: string, nowMs: number): KeyRecord | undefined => {
  const digest = digestOf(secret);
  let found: KeyRecord | undefined;
  // Every entry is compared, so that the time says nothing about which one it was.
  for (const record of records) if (equalConstantTime(record.key, digest)) found = record;
  if (found === undefined || found.disabled) return undefined;
  return found.expires_at !== undefined && Date.parse(found.expires_at) <= nowMs ? undefined : found;
};

/** Changes with every atomic replacement, also within one tick of the clock. One stat costs a few microseconds. */
const stampOf = (path: string): string => {
  const { ino, mtimeNs, size } = statSync(path, { bigint: true });
  return `${ino} ${mtimeNs} ${size}`;
};
