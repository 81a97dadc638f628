/** The first so many of any number of items, in order, without holding them all. */

export type Top<T> = { add(item: T): void; take(): T[] };

/** `count`: how many of the first are wanted. */
export const createTop = <T>(compare: (left: T, right: T) => number, count: number): Top<T> => {
  // Sorted when twice as many have come, so that each is sorted a few times at most.
  const limit = 2 * count + 1000;
  let held: T[] = [];
  const cut = (): void => {
    held.sort(compare);
    if (held.length > count) held = held.slice(0, count);
  };
  return {
    add: (item) => {
      if (held.push(item) >= limit) cut();
    },
    take: () => {
      cut();
      return held;
    },
  };
};
