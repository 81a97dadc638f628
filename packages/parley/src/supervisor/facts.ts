/** What a supervisor tells of its nodes, and of those that the configuration names and nobody runs. */
import { networkInterfaces } from 'node:os';
import { toNodeLogLevel } from '@parley/platform/nodes/log-levels.ts';
import { type NodeFacts, SUPERVISOR_KIND } from '@parley/platform/nodes/node.ts';
import { linesOf, orderOf, type Plan, placeOf } from '@parley/platform/nodes/plan.ts';
import type { NodeRecord } from './node-state.ts';

export type ServerFacts = Pick<NodeFacts, 'server' | 'site' | 'address'>;

const ANYWHERE = ['0.0.0.0', '::', ''];

/** The address that others are told: as set, else where the server listens, else its first own one. */
export const addressOf = (set: string, host: string): string => {
  if (set !== '') return set;
  if (!ANYWHERE.includes(host)) return host;
  const own = Object.values(networkInterfaces())
    .flat()
    .find((each) => each && !each.internal && each.family === 'IPv4');
  return own?.address ?? '127.0.0.1';
};

export const toNodeFacts = (
  record: NodeRecord,
  server: ServerFacts,
  level: NodeFacts['logLevel'] | undefined,
): NodeFacts => ({
  ...server,
  name: record.name,
  kind: record.kind,
  role: record.role,
  index: record.index,
  isActive: record.isActive,
  startedAtMs: record.startedAtMs ?? null,
  logLevel: level ?? toNodeLogLevel(record.logLevel),
  url: record.url ?? null,
  pid: record.pid ?? null,
  reason: record.reason,
});

export const rootFacts = (server: ServerFacts, startedAtMs: number, logLevel: NodeFacts['logLevel']): NodeFacts => ({
  ...server,
  name: server.server,
  kind: SUPERVISOR_KIND,
  role: null,
  index: null,
  isActive: true,
  startedAtMs,
  logLevel,
  url: null,
  pid: process.pid,
  reason: '',
});

/** Nodes that lines of the structure name and that no supervisor tells of. */
const missingFacts = ({ content }: Plan, known: readonly NodeFacts[]): NodeFacts[] => {
  const told = new Set(known.map(({ name, server }) => `${name}@${server}`));
  return linesOf(content)
    .filter(({ node, server }) => !told.has(`${node.name}@${server}`))
    .map(({ node, server }) => ({
      server,
      site: placeOf(content, server).site ?? '',
      address: placeOf(content, server).address ?? '',
      name: node.name,
      kind: node.kind,
      role: node.role,
      index: node.index,
      isActive: false,
      startedAtMs: null,
      logLevel: 'info',
      url: null,
      pid: null,
      reason: known.some((each) => each.server === server)
        ? 'nothing on its server runs it'
        : 'its server is not there',
    }));
};

/** Every node there is, by order of the servers; root nodes first. */
export const allFacts = (known: readonly NodeFacts[], plan: Plan | undefined): NodeFacts[] => {
  const all = plan ? [...known, ...missingFacts(plan, known)] : [...known];
  const rankOf = ({ server, kind, name }: NodeFacts): [number, string, number, string] => [
    orderOf(plan?.content, server),
    server,
    kind === SUPERVISOR_KIND ? 0 : 1,
    name,
  ];
  return all.sort((left, right) => compare(rankOf(left), rankOf(right)));
};

const compare = (left: readonly (string | number)[], right: readonly (string | number)[]): number => {
  const at = left.findIndex((value, index) => value !== right[index]);
  if (at < 0) return 0;
  return left[at]! < right[at]! ? -1 : 1;
};
