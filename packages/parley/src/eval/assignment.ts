/** Which of these belongs to which of those, so that the sum is greatest: the assignment problem. */

/** Rows and columns count from 1; 0 is nobody. What a pair gains is lessened by the potentials of both. */
type State = {
  readonly size: number;
  readonly costOf: (row: number, column: number) => number;
  readonly rowPotential: Float64Array;
  readonly columnPotential: Float64Array;
  /** The row of each column so far. */
  readonly rowOf: Int32Array;
};

/** A search for a free column, from one row, along the cheapest ways. */
type Search = {
  readonly least: Float64Array;
  readonly isSeen: Uint8Array;
  /** The column each column was reached from. */
  readonly before: Int32Array;
};

/** Looks on from one column; returns the nearest that was not seen. */
const lookOn = (state: State, { least, isSeen, before }: Search, column: number): number => {
  const row = state.rowOf[column]!;
  let nearest = 0;
  for (let other = 1; other <= state.size; other += 1) {
    if (isSeen[other]) continue;
    const slack = state.costOf(row, other) - state.rowPotential[row]! - state.columnPotential[other]!;
    if (slack < least[other]!) {
      least[other] = slack;
      before[other] = column;
    }
    if (nearest === 0 || least[other]! < least[nearest]!) nearest = other;
  }
  return nearest;
};

/** Moves the potentials so that the way to the nearest column costs nothing more. */
const shift = (state: State, { least, isSeen }: Search, step: number): void => {
  for (let column = 0; column <= state.size; column += 1) {
    if (isSeen[column]) {
      state.rowPotential[state.rowOf[column]!]! += step;
      state.columnPotential[column]! -= step;
    } else least[column]! -= step;
  }
};

/** Finds a column for one more row, moving earlier ones where that is better. */
const place = (state: State, row: number): void => {
  const { size, rowOf } = state;
  const least = new Float64Array(size + 1).fill(Number.POSITIVE_INFINITY);
  const search: Search = { least, isSeen: new Uint8Array(size + 1), before: new Int32Array(size + 1) };
  rowOf[0] = row;
  let column = 0;
  while (rowOf[column] !== 0) {
    search.isSeen[column] = 1;
    const nearest = lookOn(state, search, column);
    shift(state, search, least[nearest]!);
    column = nearest;
  }
  for (; column !== 0; column = search.before[column]!) rowOf[column] = rowOf[search.before[column]!]!;
};

/**
 * Pairs rows with columns, each at most once, so that the sum of `gains[row][column]` (0 or more) is greatest. Returns
 * the column of each row, or undefined. The Hungarian method in its form with potentials and shortest augmenting paths,
 * O(n³) (H. W. Kuhn 1955; J. Munkres 1957; R. Jonker, A. Volgenant, Computing 38, 1987).
 */
export const assign = (gains: readonly (readonly number[])[]): (number | undefined)[] => {
  const columns = Math.max(0, ...gains.map((row) => row.length));
  const size = Math.max(gains.length, columns);
  const state: State = {
    size,
    costOf: (row, column) => -(gains[row - 1]?.[column - 1] ?? 0),
    rowPotential: new Float64Array(size + 1),
    columnPotential: new Float64Array(size + 1),
    rowOf: new Int32Array(size + 1),
  };
  for (let row = 1; row <= size; row += 1) place(state, row);
  return gains.map((_, row) => {
    const column = state.rowOf.indexOf(row + 1, 1) - 1;
    return column >= 0 && column < columns ? column : undefined;
  });
};
