/** A backup under load, restored and compared: `npm run soak -- backup [ROUNDS] [SECONDS] [sqlite|postgres]`. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openPostgresDriver } from '@parley/kit/testing/each-store.ts';
import { runBackupUnderLoad } from '../../packages/parley/test/backup-under-load.ts';

const DEFAULT_ROUNDS = 5;
const DEFAULT_SECONDS = 10;

export const runBackup = async ([rounds, seconds, driver = 'sqlite']: readonly string[]): Promise<void> => {
  await using postgres = driver === 'postgres' ? await openPostgresDriver() : undefined;
  for (let round = 1; round <= Number(rounds ?? DEFAULT_ROUNDS); round += 1) {
    const root = await mkdtemp(join(tmpdir(), 'parley-soak-backup-'));
    try {
      await using stack = new AsyncDisposableStack();
      const places = postgres
        ? ([
            stack.use(await postgres.createDatabase()).place,
            stack.use(await postgres.createDatabase()).place,
          ] as const)
        : (['', ''] as const);
      const report = await runBackupUnderLoad({
        root,
        kind: postgres ? 'platform' : 'start',
        places,
        seconds: Number(seconds ?? DEFAULT_SECONDS),
      });
      process.stdout.write(`round ${round} ${JSON.stringify(report)}\n`);
    } finally {
      await rm(root, { recursive: true, force: true });
    }
  }
  process.stdout.write('All that was acknowledged before each backup was in it; rows and journal were the same.\n');
};
