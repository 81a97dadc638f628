/** What a supervisor keeps over its own restart, in `nodes.json` of the data folder: the plan it ran, log levels that stay. */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Log } from '@parley/kit/log.ts';
import { type NodeLogLevel, parseNodeLogLevel } from '@parley/platform/nodes/log-levels.ts';
import type { Plan } from '@parley/platform/nodes/plan.ts';

export type Kept = {
  plan(): Plan | undefined;
  keepPlan(plan: Plan): void;
  levels(): ReadonlyMap<string, NodeLogLevel>;
  keepLevel(name: string, level: NodeLogLevel): void;
};

type Contents = { plan?: Plan | undefined; levels?: Record<string, string> };

const FILE = 'nodes.json';

const isPlan = (read: Partial<Plan> | undefined): boolean =>
  typeof read?.lwt === 'string' && typeof read.content === 'object' && read.content !== null;

const readContents = (path: string, log: Log): Contents => {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    return {};
  }
  try {
    const read: unknown = JSON.parse(text);
    const { plan, levels } = (read ?? {}) as Contents;
    return { plan: isPlan(plan) ? plan : undefined, levels: levels ?? {} };
  } catch {
    log.warn({ path }, 'cannot be read; the default nodes are started');
    return {};
  }
};

/** Reads the file; an absent or broken one is an empty one. */
export const openKept = (dataDir: string, log: Log): Kept => {
  const path = join(dataDir, FILE);
  const contents = readContents(path, log);
  let plan = contents.plan;
  const levels = new Map<string, NodeLogLevel>();
  for (const [name, given] of Object.entries(contents.levels ?? {})) {
    const level = parseNodeLogLevel(given);
    if (level) levels.set(name, level);
  }
  const write = (): void => {
    try {
      mkdirSync(dataDir, { recursive: true, mode: 0o700 });
      const draft = `${path}.${process.pid}`;
      writeFileSync(draft, JSON.stringify({ plan, levels: Object.fromEntries(levels) }), { mode: 0o600 });
      renameSync(draft, path);
    } catch (thrown) {
      log.error({ path, err: thrown }, 'cannot be written; a restart will not know it');
    }
  };
  return {
    plan: () => plan,
    keepPlan: (next) => {
      plan = next;
      write();
    },
    levels: () => levels,
    keepLevel: (name, level) => {
      levels.set(name, level);
      write();
    },
  };
};
