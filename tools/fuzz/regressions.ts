/**
 * Inputs that once failed, by seed and number; `npm test` runs them again. A change of how a parser's inputs are made gives
 * these numbers another meaning, which is why each fault has a test of its own too (`held`).
 */
export type Regression = {
  readonly target: string;
  readonly seed: number;
  readonly no: number;
  /** What happened. */
  readonly what: string;
  readonly held: string;
};

export const REGRESSIONS: readonly Regression[] = [
  { target: 'wav', seed: 20_261_122, no: 74, what: 'blocks of ADPCM without samples: a loop', held: 'wav.test.ts' },
  { target: 'wav', seed: 20_261_122, no: 201, what: 'the same with a block of one byte', held: 'wav.test.ts' },
];
