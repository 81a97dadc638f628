/**
 * One server of an installation: its supervisor runs what the configuration in force says, tells its platform nodes of
 * every node there is, and does what they, or other servers, ask. With PostgreSQL it joins the other servers.
 */
import { hostname } from 'node:os';
import type { CommandLine } from '@parley/kit/command-line.ts';
import { makeWritableFolder } from '@parley/kit/folder.ts';
import type { Log } from '@parley/kit/log.ts';
import { isPostgres, openStore } from '@parley/kit/store/open.ts';
import { type Cluster, joinCluster } from '@parley/platform/nodes/cluster.ts';
import { toLogLevel } from '@parley/platform/nodes/log-levels.ts';
import type { PlannedNode } from '@parley/platform/nodes/plan.ts';
import type { SupervisorSettings } from '../settings.ts';
import { startSupervisor } from '../supervisor.ts';
import { createDesk } from './desk.ts';
import { createInstallation, type Installation } from './installation.ts';
import { openKept } from './kept.ts';
import type { SpecMaker } from './kinds.ts';
import { LIMITS, type Limits } from './limits.ts';
import type { NodeRecord } from './node-state.ts';
import { launchProcess } from './process.ts';
import { createSockets } from './sockets.ts';
import { launchUnit } from './unit.ts';

export type ServerOptions = {
  readonly settings: SupervisorSettings;
  readonly line: CommandLine;
  readonly log: Log;
  /** Kinds of roles that the command starts. */
  readonly kinds: readonly string[];
  /** How planned nodes of each kind are run. */
  readonly makers: Readonly<Record<string, SpecMaker>>;
  /** What is installed on this server and runs though no line of the structure names its role. */
  installed?(): readonly PlannedNode[];
  readonly limits?: Partial<Limits>;
  onReady?(record: NodeRecord): void;
};

export type RunningServer = AsyncDisposable & {
  /** Resolves when the root node was ended through the interface; rejects when the server cannot go on. */
  readonly ended: Promise<void>;
};

/** Starts the server; resolves when its nodes are being started. */
export const startServer = async (options: ServerOptions): Promise<RunningServer> => {
  const { settings, log } = options;
  await using stack = new AsyncDisposableStack();
  await makeWritableFolder('data_dir', settings.data_dir);
  const ended = Promise.withResolvers<void>();
  ended.promise.catch(() => undefined);
  const sockets = stack.use(createSockets(!settings.one_process));
  const isShared = isPostgres(settings['storage.url']);
  const installation = createInstallation({
    ...options,
    server: settings.server || hostname(),
    kept: openKept(settings.data_dir, log),
    sockets,
    isShared,
    end: ended.resolve,
    changed: () => desk.changed(),
  });
  const desk = createDesk({
    nodes: installation.all,
    server: installation.server,
    execute: installation.execute,
    pass: async (server, command) => (await cluster?.command(server, command)) ?? (cluster ? undefined : 'no-answer'),
    plan: installation.takePlan,
    refresh: installation.refresh,
    tell: (name, note) => supervisor.tell(name, note),
  });
  const cluster = isShared ? stack.use(await join(options, installation)) : undefined;
  cluster?.lost.catch(ended.reject);
  const supervisor = stack.use(
    startSupervisor([], {
      log,
      limits: { ...LIMITS, heartbeatMs: settings.heartbeat, ...options.limits },
      launch: settings.one_process ? launchUnit : launchProcess,
      levelOf: (name) => {
        const level = installation.levelOf(name);
        return level && toLogLevel(level);
      },
      onChange: () => installation.changed(),
      onNote: desk.hear,
      ...(options.onReady ? { onReady: options.onReady } : {}),
    }),
  );
  supervisor.failed.catch(ended.reject);
  await installation.run(supervisor, cluster);
  const owned = stack.move();
  return { ended: ended.promise, [Symbol.asyncDispose]: () => owned.disposeAsync() };
};

const join = async ({ settings, log }: ServerOptions, installation: Installation): Promise<Cluster> => {
  await using stack = new AsyncDisposableStack();
  const store = stack.use(await openStore(settings['storage.url'], log));
  const cluster = stack.use(
    await joinCluster({
      store,
      log,
      server: installation.server,
      heartbeatMs: settings.heartbeat,
      execute: installation.executeForOthers,
      changed: () => installation.othersChanged(),
    }),
  );
  const owned = stack.move();
  return { ...cluster, [Symbol.asyncDispose]: () => owned.disposeAsync() };
};
