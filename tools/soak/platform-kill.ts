/** kill -9 of the platform under concurrent writes: `npm run soak -- platform-kill [KILLS] [SEED] [postgres://…]`. */
import { runKills } from '../../packages/platform/test/kill.ts';

const DEFAULT_KILLS = 50;

export const runPlatformKill = async ([kills, seed, storageUrl]: readonly string[]): Promise<void> => {
  const chosen = Number(seed ?? Date.now() % 1_000_000);
  process.stdout.write(`seed ${chosen}\n`);
  const report = await runKills(Number(kills ?? DEFAULT_KILLS), chosen, storageUrl ?? '');
  process.stdout.write(
    `${JSON.stringify(report)}\nEvery acknowledged write was there with its entry; none was half there.\n`,
  );
};
