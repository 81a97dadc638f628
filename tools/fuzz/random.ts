/** Random inputs that can be made again: everything comes out of a seed and the number of the input. */
export type Random = {
  /** 0 to below `below`, whole. */
  int(below: number): number;
  chance(share: number): boolean;
  pick<T>(values: readonly T[]): T;
  /** Up to `most` of what `make` makes. */
  list<T>(most: number, make: () => T): T[];
  /** Text that parsers have stumbled over. */
  text(): string;
  /** A JSON value; `words` are names and texts that mean something to whoever reads it. */
  json(words: readonly string[], depth?: number): unknown;
  /** Bytes with some of them changed, doubled, cut out or added. */
  mutate(bytes: Uint8Array): Buffer;
  mutateText(text: string): string;
};

/** mulberry32 by Tommy Ettinger (public domain): 32 bits of state, enough to be different each time. */
export const createSource = (seed: number): (() => number) => {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
};

/** Mixes seed and number so that neighbours have nothing in common (the finalizer of MurmurHash3). */
const seedOf = (seed: number, no: number): number => {
  let mixed = Math.imul(seed, 0x9e3779b1) ^ no;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
};

const ODD_TEXTS = [
  '',
  ' ',
  '\0',
  '\ud800',
  '\udfff\ud800',
  '😀',
  '\uffff',
  'ß',
  'İ',
  '\u202e',
  '\r\n',
  '"',
  "'",
  '\\',
  '`',
  '{{',
  '}}',
  '{{1}}',
  '%',
  '%00',
  '%2f',
  '%zz',
  '..',
  '/',
  '~',
  '|',
  ';',
  '*',
  '?',
  '(',
  '[',
  '$',
  '-',
  '0',
  '-0',
  '1e999',
  '9007199254740993',
  '0x10',
  'NaN',
  'null',
  'true',
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  '2026-01-01',
  '2026-13-45T99:99:99Z',
  'a'.repeat(300),
];
const ODD_NUMBERS = [0, -0, 1, -1, 0.5, 1e21, 1e308, -1e308, 5e-324, 2 ** 31, 2 ** 32, 2 ** 53, -(2 ** 53), 65_536];
/** What cannot become text: `String(value)` throws. */
const UNTEXTED = { toString: 1, valueOf: 1 };
const MAX_DEPTH = 5;

/** The source of input number `no`. */
export const createRandom = (seed: number, no: number): Random => {
  const next = createSource(seedOf(seed, no));
  const int = (below: number): number => Math.floor(next() * below);
  const chance = (share: number): boolean => next() < share;
  const pick = <T>(values: readonly T[]): T => values[int(values.length)]!;
  const list = <T>(most: number, make: () => T): T[] => Array.from({ length: int(most + 1) }, make);
  const text = (): string => {
    if (chance(0.6)) return pick(ODD_TEXTS);
    if (chance(0.5)) return pick(ODD_TEXTS) + pick(ODD_TEXTS);
    return String.fromCharCode(...list(12, () => (chance(0.8) ? 32 + int(95) : int(65_536))));
  };
  const word = (words: readonly string[]): string => (chance(0.8) && words.length > 0 ? pick(words) : text());
  const scalar = (words: readonly string[]): unknown => {
    if (chance(0.5)) return word(words);
    return pick<() => unknown>([() => pick(ODD_NUMBERS), () => int(100), () => null, () => chance(0.5)])();
  };
  const json = (words: readonly string[], depth = 0): unknown => {
    if (chance(0.03)) return { ...UNTEXTED };
    if (depth >= MAX_DEPTH || chance(0.4)) return scalar(words);
    if (chance(0.5)) return list(4, () => json(words, depth + 1));
    return Object.fromEntries(list(4, () => [word(words), json(words, depth + 1)]));
  };
  const mutateOnce = (bytes: Buffer): Buffer => {
    const at = int(bytes.length + 1);
    const length = Math.min(bytes.length - at, 1 + int(chance(0.2) ? bytes.length + 1 : 8));
    const [before, middle, after] = [
      bytes.subarray(0, at),
      bytes.subarray(at, at + length),
      bytes.subarray(at + length),
    ];
    const kind = int(6);
    if (kind === 0) return Buffer.concat([before, after]);
    if (kind === 1) return Buffer.concat([before, middle, middle, after]);
    if (kind === 2) return Buffer.from(before);
    if (kind === 3) return Buffer.concat([before, Buffer.from(list(8, () => int(256))), middle, after]);
    const changed = Buffer.from(bytes);
    const extremes = [0, 0xff, 0x7f, 0x80];
    for (let i = at; i < at + length; i++) changed[i] = kind === 4 ? pick(extremes) : changed[i]! ^ (1 << int(8));
    return changed;
  };
  const mutate = (bytes: Uint8Array): Buffer => {
    let changed = Buffer.from(bytes);
    for (let times = 1 + int(4); times > 0; times--) changed = Buffer.from(mutateOnce(changed));
    return changed;
  };
  return {
    int,
    chance,
    pick,
    list,
    text,
    json,
    mutate,
    mutateText: (source) => {
      if (chance(0.5)) return mutate(Buffer.from(source)).toString(chance(0.5) ? 'utf8' : 'latin1');
      const at = int(source.length + 1);
      return source.slice(0, at) + text() + source.slice(at + int(4));
    },
  };
};
