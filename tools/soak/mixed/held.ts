/** Rows and items that one lane at a time works on. */
import type { Random } from '../../fuzz/random.ts';

/** One that is there for sure and that nobody is at. */
export const pickFree = <T extends { isBusy: boolean; state: string }>(
  all: readonly T[],
  random: Random,
): T | undefined => {
  const free = all.filter(({ isBusy, state }) => !isBusy && state === 'made');
  return free.length === 0 ? undefined : random.pick(free);
};

/** Nobody else picks it meanwhile. */
export const holding = async <T extends { isBusy: boolean }>(one: T, act: () => Promise<void>): Promise<void> => {
  one.isBusy = true;
  await act();
  one.isBusy = false;
};
