/** kill -9 of the platform within orders of layers: `npm run soak -- layer-kill [EVERY]`, at every step or each n-th. */
import { type Operation, runLayerKills } from '../../packages/platform/test/layer-kill.ts';

/** Most of a try is the lease of a dead process that has to run out. */
const AT_ONCE = 6;

export const runLayerKill = async ([every = '1']: readonly string[]): Promise<void> => {
  const choose = (operation: Operation, steps: number): number[] => {
    process.stdout.write(`${operation} is made of ${steps} steps\n`);
    return Array.from({ length: steps }, (_, index) => index + 1).filter((step) => step % Number(every) === 0);
  };
  const done = await runLayerKills(choose, AT_ONCE, ({ operation, step, outcome }) => {
    process.stdout.write(`${operation} killed at step ${step}: ${outcome}\n`);
  });
  process.stdout.write(
    `${done.length} kills; every layer was as before or as ordered, and the next orders ended well.\n`,
  );
};
