/** Edit distances between what was said and what was recognised: with the steps for words, without for characters. */

/** How two lists of words belong together. */
export type Alignment = {
  readonly substitutions: number;
  readonly deletions: number;
  readonly insertions: number;
  /** Places of equal words, as [in the reference, in the hypothesis], in order. */
  readonly matches: readonly (readonly [number, number])[];
};

/** Costs of NIST's sclite (SCTK, doc/sclite.htm, "The Alignment Process"): 0 for equal words, and these. */
const SUBSTITUTION = 4;
const GAP = 3;

const FIRST_BAND = 32;
/** Four steps a byte: 1 GiB. Reached only by many hours that were hardly recognised. */
const MAX_STEPS = 2 ** 32;
const STEPS_PER_BYTE = 4;
const BITS_PER_STEP = 2;

const DIAGONAL = 0;
const DELETION = 1;
const INSERTION = 2;

const FAR = 2 ** 30;

/** Words as numbers, equal ones alike, so that comparing is cheap. */
const toNumbers = (...lists: readonly (readonly string[])[]): Int32Array[] => {
  const numbers = new Map<string, number>();
  const numberOf = (word: string): number => {
    const known = numbers.get(word) ?? numbers.size;
    numbers.set(word, known);
    return known;
  };
  return lists.map((list) => Int32Array.from(list, numberOf));
};

/** Two bits a step, for every place no further than `band` from the diagonal. */
const createSteps = (rows: number, band: number) => {
  const width = 2 * band + 1;
  if (rows * width > MAX_STEPS) throw new Error('The texts are too long and too different to be aligned.');
  const bytes = new Uint8Array(Math.ceil((rows * width) / STEPS_PER_BYTE));
  const at = (i: number, j: number): number => i * width + (j - i + band);
  return {
    set: (i: number, j: number, step: number): void => {
      const place = at(i, j);
      bytes[Math.floor(place / STEPS_PER_BYTE)]! |= step << ((place % STEPS_PER_BYTE) * BITS_PER_STEP);
    },
    get: (i: number, j: number): number => {
      const place = at(i, j);
      return (bytes[Math.floor(place / STEPS_PER_BYTE)]! >> ((place % STEPS_PER_BYTE) * BITS_PER_STEP)) & 3;
    },
  };
};

type Steps = ReturnType<typeof createSteps>;

type Table = {
  readonly reference: Int32Array;
  readonly hypothesis: Int32Array;
  readonly band: number;
  readonly steps: Steps;
};

/** Costs of the first i words of the reference, i at least 1, out of those of one word less. */
const fillRow = (
  { reference, hypothesis, band, steps }: Table,
  i: number,
  above: Int32Array,
  row: Int32Array,
): void => {
  const from = Math.max(1, i - band);
  const to = Math.min(hypothesis.length, i + band);
  // Beside the band nothing is known, and nothing is wanted.
  if (i + band <= hypothesis.length) above[i + band] = FAR;
  row[from - 1] = i - band <= 0 ? i * GAP : FAR;
  if (i <= band) steps.set(i, 0, DELETION);
  const word = reference[i - 1];
  for (let j = from; j <= to; j += 1) {
    const diagonal = above[j - 1]! + (word === hypothesis[j - 1] ? 0 : SUBSTITUTION);
    const deleted = above[j]! + GAP;
    const inserted = row[j - 1]! + GAP;
    row[j] = Math.min(diagonal, deleted, inserted);
    steps.set(i, j, row[j] === diagonal ? DIAGONAL : row[j] === deleted ? DELETION : INSERTION);
  }
};

/** Fills the table of costs near its diagonal, row by row; returns the cost of the whole. */
const fill = (table: Table): number => {
  const { reference, hypothesis, band, steps } = table;
  let above = Int32Array.from({ length: hypothesis.length + 1 }, (_, j) => j * GAP);
  let row = new Int32Array(hypothesis.length + 1);
  for (let j = 1; j <= Math.min(band, hypothesis.length); j += 1) steps.set(0, j, INSERTION);
  for (let i = 1; i <= reference.length; i += 1) {
    fillRow(table, i, above, row);
    [above, row] = [row, above];
  }
  return above[hypothesis.length]!;
};

const follow = (reference: Int32Array, hypothesis: Int32Array, steps: Steps): Alignment => {
  const matches: [number, number][] = [];
  const counts = { substitutions: 0, deletions: 0, insertions: 0 };
  for (let [i, j] = [reference.length, hypothesis.length]; i > 0 || j > 0; ) {
    const step = steps.get(i, j);
    if (step !== INSERTION) i -= 1;
    if (step !== DELETION) j -= 1;
    if (step === DELETION) counts.deletions += 1;
    else if (step === INSERTION) counts.insertions += 1;
    else if (reference[i] === hypothesis[j]) matches.push([i, j]);
    else counts.substitutions += 1;
  }
  return { ...counts, matches: matches.reverse() };
};

/**
 * Aligns two lists of words at the least cost, with sclite's costs; so a result may hold more errors than the least
 * possible number (five substitutions cost more than three deletions and three insertions). Only a band around the
 * diagonal is looked at, wider and wider until no way outside it can be cheaper (E. Ukkonen, "Algorithms for approximate
 * string matching", Information and Control 64, 1985). Throws an Error when that takes too much memory.
 */
export const alignWords = (reference: readonly string[], hypothesis: readonly string[]): Alignment => {
  const [said, heard] = toNumbers(reference, hypothesis) as [Int32Array, Int32Array];
  const widest = Math.max(said.length, heard.length);
  for (let wanted = Math.max(FIRST_BAND, Math.abs(said.length - heard.length)); ; wanted *= 2) {
    const band = Math.min(wanted, widest);
    const steps = createSteps(said.length + 1, band);
    const cost = fill({ reference: said, hypothesis: heard, band, steps });
    // A way out of the band has more than `band` gaps.
    if (cost <= GAP * (band + 1) || band === widest) return follow(said, heard, steps);
  }
};

/**
 * Least number of substitutions, deletions and insertions that make one list the other (Levenshtein distance), in time
 * that grows with the square of that number: for each number of edits the furthest place on every diagonal (Ukkonen
 * 1985, as above).
 */
export const countEdits = (reference: readonly string[], hypothesis: readonly string[]): number => {
  const [said, heard] = toNumbers(reference, hypothesis) as [Int32Array, Int32Array];
  const most = Math.max(said.length, heard.length);
  const zero = most + 1;
  let reached = new Int32Array(2 * most + 3).fill(-FAR);
  let next = new Int32Array(2 * most + 3).fill(-FAR);
  const slide = (place: number, diagonal: number): number => {
    let i = place;
    while (i < said.length && i + diagonal < heard.length && said[i] === heard[i + diagonal]) i += 1;
    return i;
  };
  for (let edits = 0; edits <= most; edits += 1) {
    for (let diagonal = -Math.min(edits, said.length); diagonal <= Math.min(edits, heard.length); diagonal += 1) {
      const at = zero + diagonal;
      const furthest = edits === 0 ? 0 : Math.max(reached[at]! + 1, reached[at - 1]!, reached[at + 1]! + 1);
      next[at] = slide(Math.min(furthest, said.length, heard.length - diagonal), diagonal);
    }
    if (next[zero + heard.length - said.length]! >= said.length) return edits;
    [reached, next] = [next, reached];
  }
  return most;
};
