/**
 * Runs nodes and keeps them running: ready message, heartbeat, restart with back-off and a crash-loop rule, draining
 * stop. It holds no requests itself. Which nodes there are may change while it runs.
 */
import type { Log, LogLevel } from '@parley/kit/log.ts';
import type { Note } from '@parley/kit/service.ts';
import type { Launch, NodeSpec } from './supervisor/child.ts';
import { LIMITS, type Limits } from './supervisor/limits.ts';
import { createNode, type ManagedNode, type NodeParts } from './supervisor/node.ts';
import type { NodeRecord } from './supervisor/node-state.ts';
import { launchProcess } from './supervisor/process.ts';

export type SupervisorOptions = {
  readonly log: Log;
  readonly limits?: Partial<Limits>;
  /** How nodes are run; as processes when not given. */
  readonly launch?: Launch;
  /** Told once per start of a node, when it serves. */
  onReady?(record: NodeRecord): void;
  /** Told whenever anything about any node changed. */
  onChange?(): void;
  onNote?(name: string, note: Note): void;
  /** The log level that was set for a node. */
  levelOf?(name: string): LogLevel | undefined;
};

export type Supervisor = AsyncDisposable & {
  nodes(): readonly NodeRecord[];
  /** Makes these the nodes that run. What did not change goes on as it is. Resolves when what was dropped has ended. */
  apply(specs: readonly NodeSpec[]): Promise<void>;
  /** Ends a node, which is then started again; false when there is none of that name. */
  restart(name: string): boolean;
  setLevel(name: string, level: LogLevel): boolean;
  tell(name: string, note: Note): void;
  /** Rejects when the settings of a node cannot be used, or no node can start, before any node ever served. */
  readonly failed: Promise<never>;
};

/** Starts the nodes and keeps each running until disposed. */
export const startSupervisor = (specs: readonly NodeSpec[], options: SupervisorOptions): Supervisor => {
  const limits = { ...LIMITS, ...options.limits };
  const nodes = new Map<string, ManagedNode>();
  const failure = Promise.withResolvers<never>();
  failure.promise.catch(() => undefined);
  let hasServed = false;
  let stopping: Promise<void> | undefined;
  const unable = new Set<string>();
  const changed = inBunches(() => options.onChange?.());
  const partsOf = (name: string): NodeParts => ({
    limits,
    log: options.log,
    launch: options.launch ?? launchProcess,
    levelOf: (node) => options.levelOf?.(node),
    changed,
    note: (node, note) => options.onNote?.(node, note),
    ready: (record) => {
      hasServed = true;
      options.onReady?.(record);
    },
    cannotStart: (reason, isSettings) => {
      unable.add(name);
      if (hasServed || (!isSettings && unable.size < nodes.size)) return;
      failure.reject(new Error(`${name} ${reason}; its last lines above say why.`));
    },
  });
  const heartbeat = setInterval(() => {
    for (const node of nodes.values()) node.beat();
  }, limits.heartbeatMs);
  const drop = async (name: string, node: ManagedNode): Promise<void> => {
    await node.stop();
    if (node.record().status === 'stopped' && nodes.get(name) === node) nodes.delete(name);
    changed();
  };
  const apply = async (wanted: readonly NodeSpec[]): Promise<void> => {
    if (stopping !== undefined) return;
    const names = new Set(wanted.map(({ name }) => name));
    const dropped = [...nodes].filter(([name]) => !names.has(name)).map(([name, node]) => drop(name, node));
    for (const spec of wanted) {
      const known = nodes.get(spec.name);
      if (known) known.respec(spec);
      else {
        const node = createNode(spec, partsOf(spec.name));
        nodes.set(spec.name, node);
        node.launch();
      }
    }
    await Promise.all(dropped);
  };
  void apply(specs);
  const withNode = (name: string, act: (node: ManagedNode) => void): boolean => {
    const node = nodes.get(name);
    if (node) act(node);
    return node !== undefined;
  };
  const stopAll = async (): Promise<void> => {
    clearInterval(heartbeat);
    await Promise.all([...nodes.values()].map((node) => node.stop()));
  };
  return {
    nodes: () => [...nodes.values()].map((node) => node.record()),
    apply,
    restart: (name) => withNode(name, (node) => node.restart()),
    setLevel: (name, level) => withNode(name, (node) => node.setLevel(level)),
    tell: (name, note) => withNode(name, (node) => node.tell(note)),
    failed: failure.promise,
    [Symbol.asyncDispose]: () => {
      stopping ??= stopAll();
      return stopping;
    },
  };
};

/** Called soon instead of at once: whoever listens may not hold the supervisor yet, and changes come in bunches. */
const inBunches = (tell: () => void): (() => void) => {
  let isComing = false;
  return () => {
    if (isComing) return;
    isComing = true;
    queueMicrotask(() => {
      isComing = false;
      tell();
    });
  };
};
