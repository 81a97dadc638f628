/**
 * The nodes as a platform node knows them: told by the supervisor of its server, which knows the other servers. Alone,
 * a platform is its own and only node.
 */
import { hostname } from 'node:os';
import type { Line, Note, ToService } from '@parley/kit/service.ts';
import { toLogLevel, toNodeLogLevel } from './log-levels.ts';
import { type FromPlatform, NODES_TOPIC, type NodeCommand, type Refusal, type ToPlatform } from './messages.ts';
import { fullNameOf, type NodeFacts, SUPERVISOR_KIND } from './node.ts';
import type { Plan } from './plan.ts';

export type Nodes = Disposable & {
  /** Every node of the installation, alive or not, by order of the servers. Current to a heartbeat. */
  list(): readonly NodeFacts[];
  /** Full name of this node; undefined until the supervisor has told. */
  self(): string | undefined;
  /** Called when a node comes, goes or changes; returns the way to stop being called. */
  onChange(listener: () => void): () => void;
  /** Has the supervisor that owns a node act on it; resolves with why it did not, or undefined. */
  command(command: NodeCommand): Promise<Refusal | undefined>;
  /** Tells the supervisor what the configuration in force says. */
  tellPlan(plan: Plan): void;
  /** Has the supervisor look again at what is installed on its server. */
  refresh(): void;
};

/** A supervisor on another server may have to be asked through the database. */
const ANSWER_TIMEOUT_MS = 8000;

const noteIn = (message: Partial<ToService>): ToPlatform | undefined => {
  if (message.type !== 'note') return undefined;
  const { topic, body } = message as Note;
  return topic === NODES_TOPIC ? (body as ToPlatform) : undefined;
};

/** The nodes as the supervisor at the other end of the line tells of them. */
export const followNodes = (line: Line): Nodes => {
  const listeners = new Set<() => void>();
  const waiting = new Map<number, (refused: Refusal | undefined) => void>();
  let nodes: readonly NodeFacts[] = [];
  let self: string | undefined;
  let lastId = 0;
  const tell = (body: FromPlatform): void => line.send({ type: 'note', topic: NODES_TOPIC, body });
  const hear = (message: Partial<ToService>): void => {
    const note = noteIn(message);
    if (note?.type === 'answer') waiting.get(note.id)?.(note.refused);
    if (note?.type !== 'nodes') return;
    nodes = note.nodes;
    self = note.self;
    for (const listener of listeners) listener();
  };
  const giveUp = (): void => {
    for (const settle of waiting.values()) settle('no-answer');
  };
  const stopHearing = line.listen(hear, giveUp);
  tell({ type: 'watch' });
  return {
    list: () => nodes,
    self: () => self,
    onChange: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    command: (command) =>
      new Promise((resolve) => {
        lastId += 1;
        const id = lastId;
        const settle = (refused: Refusal | undefined): void => {
          clearTimeout(timer);
          waiting.delete(id);
          resolve(refused);
        };
        const timer = setTimeout(() => settle('no-answer'), ANSWER_TIMEOUT_MS);
        waiting.set(id, settle);
        tell({ type: 'command', id, command });
      }),
    tellPlan: (plan) => tell({ type: 'plan', plan }),
    refresh: () => tell({ type: 'refresh' }),
    [Symbol.dispose]: () => {
      stopHearing();
      giveUp();
    },
  };
};

/** What a platform without a supervisor knows of: itself. */
export const createLoneNodes = (log: { level: string }): Nodes => {
  const startedAtMs = Date.now();
  const server = hostname();
  let level = toNodeLogLevel(log.level);
  const list = (): NodeFacts[] => {
    const common = {
      server,
      site: 'default',
      address: '127.0.0.1',
      isActive: true,
      startedAtMs,
      url: null,
      reason: '',
    };
    const process_ = { ...common, pid: process.pid, logLevel: level };
    return [
      { ...process_, name: server, kind: SUPERVISOR_KIND, role: null, index: null },
      { ...process_, name: 'platform_1', kind: 'platform', role: 'platform', index: 1 },
    ];
  };
  return {
    list,
    self: () => fullNameOf(list()[1]!),
    onChange: () => () => undefined,
    command: async (command) => {
      if (command.do === 'end') return 'not-supervised';
      log.level = toLogLevel(command.level);
      level = command.level;
      return undefined;
    },
    tellPlan: () => undefined,
    refresh: () => undefined,
    [Symbol.dispose]: () => undefined,
  };
};
