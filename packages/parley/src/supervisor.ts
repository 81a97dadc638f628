/**
 * Starts the services as child processes and keeps them running: ready message, heartbeat, restart with back-off and a
 * crash-loop rule, draining stop. It holds no requests itself.
 */
import { type ChildProcess, fork } from 'node:child_process';
import type { Log } from '@parley/kit/log.ts';
import { EXIT_CONFIG, type FromService, type ToService } from '@parley/kit/service.ts';

export type NodeSpec = {
  /** Unique; also the word its command line shows. */
  readonly name: string;
  /** Absolute path of the module to run. */
  readonly module: string;
  readonly args: readonly string[];
};

export type NodeStatus = 'starting' | 'active' | 'restarting' | 'inactive' | 'stopped';

export type NodeRecord = {
  readonly name: string;
  readonly status: NodeStatus;
  readonly pid: number | undefined;
  readonly url: string | undefined;
  /** Unix milliseconds of the start or last restart. */
  readonly startedAtMs: number | undefined;
  readonly restarts: number;
};

export type SupervisorOptions = {
  readonly log: Log;
  /** Told once per start of a node, when it serves. */
  readonly onReady?: (record: NodeRecord) => void;
  readonly limits?: Partial<Limits>;
};

type Limits = {
  readonly heartbeatMs: number;
  readonly missedHeartbeats: number;
  readonly firstBackOffMs: number;
  readonly lastBackOffMs: number;
  readonly crashLoopCount: number;
  readonly crashLoopWindowMs: number;
  readonly stopGraceMs: number;
  readonly startTimeoutMs: number;
};

const LIMITS: Limits = {
  heartbeatMs: 2000,
  missedHeartbeats: 3,
  firstBackOffMs: 100,
  lastBackOffMs: 10_000,
  crashLoopCount: 10,
  crashLoopWindowMs: 60_000,
  stopGraceMs: 35_000,
  // A first start may fetch a model before it serves.
  startTimeoutMs: 600_000,
};

export type Supervisor = AsyncDisposable & {
  nodes(): readonly NodeRecord[];
  /** Rejects when a node's settings cannot be used, or when it ends by itself before it ever served. */
  readonly failed: Promise<never>;
};

type Running = {
  readonly spec: NodeSpec;
  status: NodeStatus;
  /** It was ready at least once. */
  served: boolean;
  child: ChildProcess | undefined;
  url: string | undefined;
  startedAtMs: number | undefined;
  restarts: number;
  crashesMs: number[];
  missed: number;
  timer: NodeJS.Timeout | undefined;
};

/** Starts every node and keeps each running until disposed. */
export const startSupervisor = (specs: readonly NodeSpec[], options: SupervisorOptions): Supervisor => {
  const limits = { ...LIMITS, ...options.limits };
  const { log } = options;
  const nodes = specs.map((spec): Running => createNode(spec));
  let stopping: Promise<void> | undefined;
  let fail: (reason: Error) => void = () => undefined;
  const failed = new Promise<never>((_, reject) => {
    fail = reject;
  });
  failed.catch(() => undefined);

  const launch = (node: Running): void => {
    node.status = 'starting';
    node.startedAtMs = Date.now();
    node.missed = 0;
    const child = fork(node.spec.module, [node.spec.name, ...node.spec.args], {
      execPath: process.execPath,
      serialization: 'advanced',
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    node.child = child;
    child.on('message', (message: FromService) => hear(node, message));
    child.on('error', (error) => log.error({ node: node.spec.name, err: error }, 'node cannot be reached'));
    child.once('exit', (code, signal) => ended(node, code, signal));
  };

  const hear = (node: Running, message: FromService): void => {
    node.missed = 0;
    if (message.type !== 'ready') return;
    node.status = 'active';
    node.served = true;
    node.url = message.url;
    log.info({ node: node.spec.name, pid: node.child?.pid, url: message.url }, 'node is ready');
    options.onReady?.(toRecord(node));
  };

  const ended = (node: Running, code: number | null, signal: string | null): void => {
    node.child = undefined;
    if (stopping !== undefined) {
      node.status = 'stopped';
      return;
    }
    // Starting it again would give the same sentence ten times a minute.
    if (code === EXIT_CONFIG || (!node.served && signal === null)) {
      node.status = 'inactive';
      const reason = code === EXIT_CONFIG ? 'cannot use these settings' : `ended with code ${code} before it served`;
      fail(new Error(`${node.spec.name} ${reason}; its last lines above say why.`));
      return;
    }
    const delayMs = backOff(node, limits);
    log.error({ node: node.spec.name, code, signal, delayMs }, 'node ended; it is started again');
    node.timer = setTimeout(() => launch(node), delayMs);
  };

  const heartbeat = setInterval(() => {
    for (const node of nodes) beat(node, limits, log);
  }, limits.heartbeatMs);

  for (const node of nodes) launch(node);

  const stopAll = async (): Promise<void> => {
    clearInterval(heartbeat);
    await Promise.all(nodes.map((node) => stopNode(node, limits.stopGraceMs)));
  };

  return {
    nodes: () => nodes.map(toRecord),
    failed,
    [Symbol.asyncDispose]: () => {
      stopping ??= stopAll();
      return stopping;
    },
  };
};

const createNode = (spec: NodeSpec): Running => ({
  spec,
  status: 'starting',
  served: false,
  child: undefined,
  url: undefined,
  startedAtMs: undefined,
  restarts: 0,
  crashesMs: [],
  missed: 0,
  timer: undefined,
});

const toRecord = (node: Running): NodeRecord => ({
  name: node.spec.name,
  status: node.status,
  pid: node.child?.pid,
  url: node.url,
  startedAtMs: node.startedAtMs,
  restarts: node.restarts,
});

/** Full jitter up to a doubling ceiling; a node that crashes again and again rests for a whole window. */
const backOff = (node: Running, limits: Limits): number => {
  const nowMs = Date.now();
  node.crashesMs = [...node.crashesMs.filter((at) => nowMs - at < limits.crashLoopWindowMs), nowMs];
  node.restarts += 1;
  node.url = undefined;
  if (node.crashesMs.length > limits.crashLoopCount) {
    node.status = 'inactive';
    node.crashesMs = [];
    return limits.crashLoopWindowMs;
  }
  node.status = 'restarting';
  const ceilingMs = Math.min(limits.lastBackOffMs, limits.firstBackOffMs * 2 ** (node.crashesMs.length - 1));
  return Math.max(limits.firstBackOffMs / 2, Math.random() * ceilingMs);
};

const beat = (node: Running, limits: Limits, log: Log): void => {
  const { child } = node;
  if (!child?.connected) return;
  const allowedMissed =
    node.status === 'active' ? limits.missedHeartbeats : Math.ceil(limits.startTimeoutMs / limits.heartbeatMs);
  if (node.missed >= allowedMissed) {
    log.error(
      { node: node.spec.name, pid: child.pid, missed: node.missed },
      'node gives no sign of life; it is killed',
    );
    child.kill('SIGKILL');
    return;
  }
  node.missed += 1;
  send(child, { type: 'ping' });
};

/** The child may be gone between the check and the call; its exit is handled where it is heard. */
const send = (child: ChildProcess, message: ToService): void => {
  if (child.connected) child.send(message, () => undefined);
};

const stopNode = async (node: Running, graceMs: number): Promise<void> => {
  clearTimeout(node.timer);
  const { child } = node;
  if (!child || child.exitCode !== null || child.signalCode !== null) {
    node.status = 'stopped';
    return;
  }
  await new Promise<void>((resolve) => {
    const timer = setTimeout(() => child.kill('SIGKILL'), graceMs);
    child.once('exit', () => {
      clearTimeout(timer);
      resolve();
    });
    send(child, { type: 'stop' });
  });
  node.status = 'stopped';
};
