/** A node, a running process of the installation, as supervisors tell of it and as `master/nodes` shows it. */
import type { NodeLogLevel } from './log-levels.ts';

/** What a supervisor knows of one node. Plain data: it travels between processes and lies in the Store. */
export type NodeFacts = {
  /** `<role>_<index>`, or the server's name for its root node. */
  readonly name: string;
  readonly server: string;
  readonly site: string;
  readonly address: string;
  /** Kind of the role; `supervisor` for a root node. */
  readonly kind: string;
  readonly role: string | null;
  readonly index: number | null;
  /** It serves, and its heartbeats come. */
  readonly isActive: boolean;
  /** Unix milliseconds of the start or last restart; null when it never started. */
  readonly startedAtMs: number | null;
  readonly logLevel: NodeLogLevel;
  /** Where it serves; null while it does not. Nodes of one server may share it. */
  readonly url: string | null;
  readonly pid: number | null;
  /** Why it does not run; empty when it does. */
  readonly reason: string;
};

/** An item of `master/nodes`. */
export type NodeItem = {
  readonly name: string;
  readonly fullName: string;
  readonly ipAddress: string;
  readonly site: string;
  readonly server: string;
  readonly isSystem: boolean;
  readonly type: 'role' | 'supervisor';
  readonly dtStart: string | null;
  readonly upTimeSec: number;
  readonly status: 'active' | 'inactive';
  readonly maxLogLevel: NodeLogLevel;
  readonly srvIdx?: number;
  readonly roles: readonly string[];
  readonly reason?: string;
};

export const SUPERVISOR_KIND = 'supervisor';

/** `<name>@<server>.<site>`: no two nodes share it. */
export const fullNameOf = ({ name, server, site }: Pick<NodeFacts, 'name' | 'server' | 'site'>): string =>
  `${name}@${server}.${site}`;

/** As callers see it. `nowMs`: Unix milliseconds. */
export const toNodeItem = (facts: NodeFacts, nowMs: number): NodeItem => {
  const isSystem = facts.kind === SUPERVISOR_KIND;
  const { startedAtMs, isActive } = facts;
  return {
    name: facts.name,
    fullName: fullNameOf(facts),
    ipAddress: facts.address,
    site: facts.site,
    server: facts.server,
    isSystem,
    type: isSystem ? 'supervisor' : 'role',
    dtStart: startedAtMs === null ? null : new Date(startedAtMs).toISOString().replace('Z', '000Z'),
    upTimeSec: isActive && startedAtMs !== null ? Math.max(0, Math.floor((nowMs - startedAtMs) / 1000)) : 0,
    status: isActive ? 'active' : 'inactive',
    maxLogLevel: facts.logLevel,
    ...(facts.index === null ? {} : { srvIdx: facts.index }),
    roles: facts.role === null ? [] : [facts.role],
    ...(facts.reason === '' ? {} : { reason: facts.reason }),
  };
};
