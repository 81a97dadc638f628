/** What is known of one node from moment to moment, and what of it others are told. */
import type { LogLevel } from '@parley/kit/log.ts';
import type { Child, NodeSpec } from './child.ts';

export type NodeStatus = 'starting' | 'active' | 'restarting' | 'inactive' | 'stopped';

export type NodeRecord = Pick<NodeSpec, 'name' | 'role' | 'kind' | 'index'> & {
  readonly status: NodeStatus;
  /** It serves, and its heartbeats come. */
  readonly isActive: boolean;
  readonly pid: number | undefined;
  readonly url: string | undefined;
  /** Unix milliseconds of the start or last restart. */
  readonly startedAtMs: number | undefined;
  readonly restarts: number;
  /** Why it does not run as it shall; empty when it does. */
  readonly reason: string;
  /** What it logs, as it told when it was ready, or as it was set since. */
  readonly logLevel: LogLevel;
};

/** Unanswered heartbeats that are shown as a node that does not serve, before it is killed for them. */
export const SHOWN_MISSED = 2;

export type NodeState = {
  spec: NodeSpec;
  /** What it served with last. */
  good: NodeSpec | undefined;
  /** What it could not start with. */
  rejected: NodeSpec | undefined;
  status: NodeStatus;
  served: boolean;
  child: Child | undefined;
  /** Its end was asked for: to be started again, or not. */
  leaving: 'again' | 'for-good' | undefined;
  url: string | undefined;
  startedAtMs: number | undefined;
  restarts: number;
  crashesMs: number[];
  missed: number;
  heavy: number;
  reason: string;
  logLevel: LogLevel;
  timer: NodeJS.Timeout | undefined;
  readonly gone: Set<() => void>;
};

/** Of a node that is not started yet. */
export const createState = (spec: NodeSpec, level: LogLevel | undefined): NodeState => ({
  spec,
  good: undefined,
  rejected: undefined,
  status: 'starting',
  served: false,
  child: undefined,
  leaving: undefined,
  url: undefined,
  startedAtMs: undefined,
  restarts: 0,
  crashesMs: [],
  missed: 0,
  heavy: 0,
  reason: '',
  logLevel: level ?? 'info',
  timer: undefined,
  gone: new Set(),
});

export const toRecord = (node: NodeState): NodeRecord => {
  const { name, role, kind, index } = node.spec;
  return {
    name,
    role,
    kind,
    index,
    status: node.status,
    isActive: node.status === 'active' && node.missed < SHOWN_MISSED && node.leaving === undefined,
    pid: node.child?.pid,
    url: node.url,
    startedAtMs: node.startedAtMs,
    restarts: node.restarts,
    reason: node.reason,
    logLevel: node.logLevel,
  };
};
