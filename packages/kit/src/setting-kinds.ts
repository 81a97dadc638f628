/** The kinds a setting can be of: each reads what file, environment or flag gave, or throws a sentence. */
import type { Setting } from './settings.ts';

type Extra = { secret?: boolean; env?: readonly string[]; shared?: boolean };

const setting = <T>(
  kind: string,
  fallback: T,
  describe: string,
  parse: (raw: unknown) => T,
  extra: Extra = {},
): Setting<T> => ({
  kind,
  fallback,
  describe,
  secret: extra.secret ?? false,
  env: extra.env ?? [],
  shared: extra.shared ?? false,
  parse,
});

const asText = (raw: unknown): string => {
  if (typeof raw === 'string') return raw;
  if (typeof raw === 'number' || typeof raw === 'boolean') return String(raw);
  throw new Error('must be text');
};

/** Any text. */
export const text = (fallback: string, describe: string, extra?: Extra): Setting<string> =>
  setting('text', fallback, describe, asText, extra);

/** A whole number within bounds. */
export const int = (
  fallback: number,
  describe: string,
  bounds: { min?: number; max?: number } = {},
  extra?: Extra,
): Setting<number> =>
  setting(
    'int',
    fallback,
    describe,
    (raw) => {
      const value = parseNumber(raw, bounds);
      if (!Number.isInteger(value)) throw new Error('must be a whole number');
      return value;
    },
    extra,
  );

/** A number within bounds. */
export const number = (
  fallback: number,
  describe: string,
  bounds: { min?: number; max?: number } = {},
  extra?: Extra,
): Setting<number> => setting('number', fallback, describe, (raw) => parseNumber(raw, bounds), extra);

const parseNumber = (raw: unknown, bounds: { min?: number; max?: number }): number => {
  const value = typeof raw === 'number' ? raw : asText(raw).trim() === '' ? Number.NaN : Number(raw);
  if (!Number.isFinite(value)) throw new Error('must be a number');
  if (bounds.min !== undefined && value < bounds.min) throw new Error(`must be at least ${bounds.min}`);
  if (bounds.max !== undefined && value > bounds.max) throw new Error(`must be at most ${bounds.max}`);
  return value;
};

/** A switch: 1 true yes on / 0 false no off, in any case. */
export const flag = (fallback: boolean, describe: string, extra?: Extra): Setting<boolean> =>
  setting(
    'switch',
    fallback,
    describe,
    (raw) => {
      const value = asText(raw).trim().toLowerCase();
      if (['1', 'true', 'yes', 'on'].includes(value)) return true;
      if (['0', 'false', 'no', 'off'].includes(value)) return false;
      throw new Error('must be true or false');
    },
    extra,
  );

/** One of the given words. */
export const choice = <const W extends readonly string[]>(
  words: W,
  fallback: W[number],
  describe: string,
  extra?: Extra,
): Setting<W[number]> =>
  setting(
    words.join(' | '),
    fallback,
    describe,
    (raw) => {
      const value = asText(raw).trim();
      if (!words.includes(value)) throw new Error(`must be one of ${words.join(', ')}`);
      return value;
    },
    extra,
  );

/** A list of words: a list in the file, commas elsewhere. */
export const list = (fallback: readonly string[], describe: string, extra?: Extra): Setting<readonly string[]> =>
  setting(
    'list',
    fallback,
    describe,
    (raw) => {
      const items = Array.isArray(raw) ? raw.map(asText) : asText(raw).split(',');
      return items.map((item) => item.trim()).filter((item) => item !== '');
    },
    extra,
  );

/** Words that stand for words: a mapping in the file, `a=b,c=d` elsewhere. */
export const map = (
  fallback: Readonly<Record<string, string>>,
  describe: string,
  extra?: Extra,
): Setting<Readonly<Record<string, string>>> =>
  setting(
    'map',
    fallback,
    describe,
    (raw) => {
      if (typeof raw === 'object' && raw !== null && !Array.isArray(raw)) {
        return Object.fromEntries(Object.entries(raw).map(([key, value]) => [key, asText(value)]));
      }
      const pairs = asText(raw)
        .split(',')
        .map((pair) => pair.trim())
        .filter((pair) => pair !== '');
      return Object.fromEntries(
        pairs.map((pair) => {
          const at = pair.indexOf('=');
          if (at < 1) throw new Error('must look like name=value,name=value');
          return [pair.slice(0, at), pair.slice(at + 1)];
        }),
      );
    },
    extra,
  );

const DURATION = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)?$/;
const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A duration such as `500ms`, `30s`, `15m`, `4h`, `30d`; a bare number is seconds. The value is milliseconds. */
export const duration = (fallback: string, describe: string, extra?: Extra): Setting<number> =>
  setting('duration', parseDuration(fallback), describe, parseDuration, extra);

const parseDuration = (raw: unknown): number => {
  const match = DURATION.exec(asText(raw).trim());
  if (!match) throw new Error('must be a duration such as 30s, 15m or 4h');
  return Number(match[1]) * UNIT_MS[match[2] ?? 's']!;
};

/** Durations in order: a list in the file, commas elsewhere. The values are milliseconds. */
export const durations = (fallback: readonly string[], describe: string, extra?: Extra): Setting<readonly number[]> => {
  const words = list(fallback, describe, extra);
  const parse = (raw: unknown): readonly number[] => words.parse(raw).map(parseDuration);
  return setting('durations', fallback.map(parseDuration), describe, parse, extra);
};

const SIZE = /^(\d+(?:\.\d+)?)\s*(b|kib|mib|gib|kb|mb|gb)?$/i;
const UNIT_BYTES: Readonly<Record<string, number>> = {
  b: 1,
  kib: 2 ** 10,
  mib: 2 ** 20,
  gib: 2 ** 30,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
};

/** A size such as `100 MiB`; a bare number is bytes. The value is bytes. */
export const bytes = (fallback: string, describe: string, extra?: Extra): Setting<number> =>
  setting('size', parseBytes(fallback), describe, parseBytes, extra);

const parseBytes = (raw: unknown): number => {
  const match = SIZE.exec(asText(raw).trim());
  if (!match) throw new Error('must be a size such as 512 MiB');
  return Math.round(Number(match[1]) * UNIT_BYTES[(match[2] ?? 'b').toLowerCase()]!);
};
