/** What a filter may cost, counted while it is compiled, and the words its parts share. */
import { badRequest } from '../codes.ts';
import type { Comparison } from './field.ts';
import type { PatternCache } from './regex.ts';

export type FilterField = { readonly path: readonly string[]; readonly compares: Comparison };

export type Budget = { leaves: number; patterns: number; readonly cache: PatternCache };

const MAX_LEAVES = 200;
const MAX_PATTERNS = 4;
/** Values of one list in a filter. */
export const MAX_LIST_VALUES = 500;

/** One more leaf of the filter; too many are refused. */
export const spendLeaf = (budget: Budget): void => {
  budget.leaves += 1;
  if (budget.leaves > MAX_LEAVES) throw badRequest('filter', `must not hold more than ${MAX_LEAVES} conditions`);
};

/** One more regular expression. */
export const spendPattern = (budget: Budget): void => {
  budget.patterns += 1;
  if (budget.patterns > MAX_PATTERNS) throw badRequest('filter', `must not hold more than ${MAX_PATTERNS} patterns`);
};
