/**
 * One node: started, watched by heartbeats, started again with back-off, ended with a message and in the end by force.
 * New options that it cannot start with give way to those it served with.
 */
import type { Log, LogLevel } from '@parley/kit/log.ts';
import { EXIT_CONFIG, type FromService, type Note } from '@parley/kit/service.ts';
import { type Child, keyOf, type Launch, type NodeSpec } from './child.ts';
import { backOffMs, type Limits } from './limits.ts';
import { createState, type NodeRecord, type NodeState, SHOWN_MISSED, toRecord } from './node-state.ts';

export type NodeParts = {
  readonly limits: Limits;
  readonly log: Log;
  readonly launch: Launch;
  /** The level that was set for a node of this name. */
  levelOf(name: string): LogLevel | undefined;
  changed(): void;
  ready(record: NodeRecord): void;
  /** It ended by itself before it ever served. */
  cannotStart(reason: string, isSettings: boolean): void;
  note(name: string, note: Note): void;
};

export type ManagedNode = {
  record(): NodeRecord;
  /** It served with the options it has now. */
  hasServed(): boolean;
  launch(): void;
  /** Takes other options; started anew only when they differ. */
  respec(spec: NodeSpec): void;
  /** Ends it, and starts it again. */
  restart(): void;
  /** Ends it for good. */
  stop(): Promise<void>;
  beat(): void;
  setLevel(level: LogLevel): void;
  tell(note: Note): void;
};

/** Pongs in a row above the limit of memory, so that a moment's peak is none. */
const HEAVY_PONGS = 2;
/** A node that is not started yet. */
export const createNode = (spec: NodeSpec, parts: NodeParts): ManagedNode => {
  const node = createState(spec, parts.levelOf(spec.name));
  return {
    record: () => toRecord(node),
    hasServed: () => node.served,
    launch: () => launch(node, parts),
    respec: (next) => respec(node, next, parts),
    restart: () => restart(node, parts),
    stop: () => stop(node, parts),
    beat: () => beat(node, parts),
    setLevel: (level) => {
      node.logLevel = level;
      node.child?.send({ type: 'log-level', level });
      parts.changed();
    },
    tell: (note) => node.child?.send(note),
  };
};

const launch = (node: NodeState, parts: NodeParts): void => {
  clearTimeout(node.timer);
  release(node);
  Object.assign(node, { leaving: undefined, status: 'starting', startedAtMs: Date.now(), missed: 0, heavy: 0 });
  const child: Child = parts.launch(node.spec, {
    message: (message) => {
      if (node.child === child) hear(node, message, parts);
    },
    ended: (code, signal) => {
      if (node.child === child) ended(node, code, signal, parts);
    },
    failed: (error) => parts.log.error({ node: node.spec.name, err: error }, 'node cannot be reached'),
  });
  node.child = child;
  const level = parts.levelOf(node.spec.name);
  if (level) child.send({ type: 'log-level', level });
  parts.changed();
};

const hear = (node: NodeState, message: FromService, parts: NodeParts): void => {
  const wasMissed = node.missed >= SHOWN_MISSED;
  node.missed = 0;
  if (message.type === 'note') parts.note(node.spec.name, message);
  if (message.type === 'pong') weigh(node, message.rssBytes, parts);
  if (message.type === 'ready' && node.leaving === undefined) {
    node.status = 'active';
    node.served = true;
    node.good = node.spec;
    if (node.rejected === undefined) node.reason = '';
    node.url = message.url;
    node.logLevel = parts.levelOf(node.spec.name) ?? message.logLevel ?? node.logLevel;
    parts.log.info({ node: node.spec.name, pid: node.child?.pid, url: message.url }, 'node is ready');
    parts.ready(toRecord(node));
  }
  if (message.type === 'ready' || wasMissed) parts.changed();
};

/** A node that grows beyond its limit is started anew before the system ends something of its own choice. */
const weigh = (node: NodeState, rssBytes: number, parts: NodeParts): void => {
  const limit = node.spec.memoryLimitBytes ?? 0;
  const isHeavy = limit > 0 && node.child?.ownsMemory === true && rssBytes > limit;
  node.heavy = isHeavy ? node.heavy + 1 : 0;
  if (node.heavy < HEAVY_PONGS || node.leaving !== undefined) return;
  parts.log.error(
    { node: node.spec.name, rssBytes, limitBytes: limit },
    'node uses too much memory; it is started anew',
  );
  restart(node, parts);
};

const ended = (node: NodeState, code: number | null, signal: string | null, parts: NodeParts): void => {
  const { leaving } = node;
  node.child = undefined;
  node.url = undefined;
  if (leaving === 'for-good') finish(node, parts);
  else if (leaving === 'again') {
    node.restarts += 1;
    launch(node, parts);
  } else if (code === EXIT_CONFIG || (!node.served && signal === null)) cannotStart(node, code, parts);
  else crashed(node, code, signal, parts);
};

const finish = (node: NodeState, parts: NodeParts): void => {
  node.status = 'stopped';
  release(node);
  parts.changed();
};

/** Nobody waits for its end any longer: it has come, or is no longer wanted. */
const release = (node: NodeState): void => {
  for (const resolve of node.gone) resolve();
  node.gone.clear();
};

const cannotStart = (node: NodeState, code: number | null, parts: NodeParts): void => {
  // A layer that ends so must not end the server with it.
  const isSettings = code === EXIT_CONFIG && node.spec.kind !== 'layer';
  node.reason = isSettings ? 'cannot use these settings' : `ended with code ${code} before it served`;
  parts.log.error({ node: node.spec.name, code, reason: node.reason }, 'node cannot start');
  if (node.good && node.good !== node.spec) {
    node.rejected = node.spec;
    node.spec = node.good;
    node.reason += '; it runs with its earlier options';
    node.restarts += 1;
    launch(node, parts);
    return;
  }
  node.status = 'inactive';
  node.timer = setTimeout(() => launch(node, parts), parts.limits.crashLoopWindowMs);
  parts.cannotStart(node.reason, isSettings);
  parts.changed();
};

/** A node that crashes again and again rests for a whole window. */
const crashed = (node: NodeState, code: number | null, signal: string | null, parts: NodeParts): void => {
  const { limits } = parts;
  const nowMs = Date.now();
  node.crashesMs = [...node.crashesMs.filter((at) => nowMs - at < limits.crashLoopWindowMs), nowMs];
  node.restarts += 1;
  node.reason = `ended ${signal === null ? `with code ${code}` : `by ${signal}`}`;
  const isLoop = node.crashesMs.length > limits.crashLoopCount;
  const delayMs = isLoop ? limits.crashLoopWindowMs : backOffMs(node.crashesMs.length, limits);
  node.status = isLoop ? 'inactive' : 'restarting';
  if (isLoop) node.crashesMs = [];
  parts.log.error({ node: node.spec.name, code, signal, delayMs }, 'node ended; it is started again');
  node.timer = setTimeout(() => launch(node, parts), delayMs);
  parts.changed();
};

const respec = (node: NodeState, next: NodeSpec, parts: NodeParts): void => {
  const key = keyOf(next);
  const isRejected = node.rejected !== undefined && key === keyOf(node.rejected);
  if (isRejected || key === keyOf(node.spec)) {
    if (!isRejected && node.rejected) Object.assign(node, { rejected: undefined, reason: '' });
    // Wanted again while it was going.
    if (node.leaving === 'for-good') node.leaving = 'again';
    if (node.status === 'stopped') launch(node, parts);
    return;
  }
  node.spec = next;
  node.served = false;
  node.rejected = undefined;
  node.reason = '';
  restart(node, parts);
};

const restart = (node: NodeState, parts: NodeParts): void => {
  if (!node.child) {
    launch(node, parts);
    return;
  }
  const isAsked = node.leaving !== undefined;
  node.leaving = 'again';
  if (!isAsked) askToEnd(node, node.child, parts.limits.endGraceMs);
  parts.changed();
};

const askToEnd = (node: NodeState, child: Child, graceMs: number): void => {
  const timer = setTimeout(() => {
    if (node.child === child) child.kill();
  }, graceMs);
  node.timer = timer;
  child.send({ type: 'stop' });
};

const stop = (node: NodeState, parts: NodeParts): Promise<void> => {
  const { child } = node;
  clearTimeout(node.timer);
  if (!child) {
    finish(node, parts);
    return Promise.resolve();
  }
  const gone = new Promise<void>((resolve) => node.gone.add(resolve));
  node.leaving = 'for-good';
  askToEnd(node, child, parts.limits.stopGraceMs);
  parts.changed();
  return gone.finally(() => clearTimeout(node.timer));
};

const beat = (node: NodeState, { limits, log, changed }: NodeParts): void => {
  const { child } = node;
  if (!child?.isConnected() || node.leaving !== undefined) return;
  const allowed =
    node.status === 'active' ? limits.missedHeartbeats : Math.ceil(limits.startTimeoutMs / limits.heartbeatMs);
  if (node.missed >= allowed) {
    log.error(
      { node: node.spec.name, pid: child.pid, missed: node.missed },
      'node gives no sign of life; it is killed',
    );
    child.kill();
    return;
  }
  node.missed += 1;
  child.send({ type: 'ping' });
  if (node.missed === SHOWN_MISSED) changed();
};
