/** Every setting of the supervisor, as data: who this server is among others, and how its nodes are watched. */
import { bytes, duration, flag, text } from '@parley/kit/setting-kinds.ts';
import type { Declaration, Settings } from '@parley/kit/settings.ts';
import { PLATFORM_SETTINGS } from '@parley/platform/settings.ts';

export const SUPERVISOR_SETTINGS = {
  data_dir: PLATFORM_SETTINGS.data_dir,
  host: PLATFORM_SETTINGS.host,
  'storage.url': PLATFORM_SETTINGS['storage.url'],
  server: text('', 'Name of this server in configurations and of its root node; empty is the name of the host.'),
  site: text('default', 'Site of this server while the configuration does not say.'),
  address: text('', 'Address of this server as other servers are told; empty is what it listens on, or its first own.'),
  supervised: flag(
    false,
    'Something starts this command again when it ends (systemd, a container): its node may be ended.',
  ),
  one_process: flag(false, 'Run all nodes of this server in one process: for small installs.'),
  memory_limit: bytes('4 GiB', 'Memory of one node above which it is started anew; 0 is no limit.'),
  heartbeat: duration(
    '2s',
    'Pause between two heartbeats, of nodes and of servers; three without an answer are death.',
  ),
} satisfies Declaration;

export type SupervisorSettings = Settings<typeof SUPERVISOR_SETTINGS>['values'];

const MIN_HEARTBEAT_MS = 100;

/** Throws an Error with one sentence for what cannot be used together. */
export const checkSupervisorSettings = ({ server, heartbeat }: SupervisorSettings): void => {
  if (server !== '' && !/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(server)) {
    throw new Error(`supervisor.server ${server}: may hold letters, digits, dots, hyphens and underscores only.`);
  }
  if (heartbeat < MIN_HEARTBEAT_MS) throw new Error(`supervisor.heartbeat: must be at least ${MIN_HEARTBEAT_MS}ms.`);
};
