/** `npm run soak -- NAME [options]`: the long form of what `npm test` proves shortly. Each prints what it saw. */
import { runBackup } from './soak/backup.ts';
import { runJobsKill } from './soak/jobs-kill.ts';
import { runLayerKill } from './soak/layer-kill.ts';
import { runMemory } from './soak/memory.ts';
import { runMixed } from './soak/mixed.ts';
import { runPlatformKill } from './soak/platform-kill.ts';
import { runRealtime } from './soak/realtime.ts';
import { runReload } from './soak/reload.ts';
import { runScripts } from './soak/scripts.ts';
import { runServers } from './soak/servers.ts';

const SOAKS: Readonly<Record<string, (args: readonly string[]) => Promise<void>>> = {
  backup: runBackup,
  memory: runMemory,
  'jobs-kill': runJobsKill,
  mixed: runMixed,
  reload: runReload,
  realtime: runRealtime,
  'platform-kill': runPlatformKill,
  'layer-kill': runLayerKill,
  servers: runServers,
  scripts: runScripts,
};

const [name = '', ...args] = process.argv.slice(2);
const soak = SOAKS[name];
if (soak) await soak(args);
else {
  process.stderr.write(`npm run soak -- NAME, one of: ${Object.keys(SOAKS).join(', ')}\n`);
  process.exitCode = 64;
}
