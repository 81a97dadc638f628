/** What a supervisor knows and does: the plan, its nodes and those of others, log levels, commands. */
import type { CommandLine } from '@parley/kit/command-line.ts';
import type { Log } from '@parley/kit/log.ts';
import type { Cluster } from '@parley/platform/nodes/cluster.ts';
import { type NodeLogLevel, toLogLevel, toNodeLogLevel } from '@parley/platform/nodes/log-levels.ts';
import type { NodeCommand, Refusal } from '@parley/platform/nodes/messages.ts';
import { fullNameOf, type NodeFacts } from '@parley/platform/nodes/node.ts';
import {
  linesOf,
  type Plan,
  type PlannedNode,
  type PlanView,
  placeOf,
  plannedNodes,
} from '@parley/platform/nodes/plan.ts';
import type { SupervisorSettings } from '../settings.ts';
import type { Supervisor } from '../supervisor.ts';
import type { NodeSpec } from './child.ts';
import { addressOf, allFacts, rootFacts, type ServerFacts, toNodeFacts } from './facts.ts';
import type { Kept } from './kept.ts';
import type { SpecMaker } from './kinds.ts';
import type { Sockets } from './sockets.ts';

export type InstallationParts = {
  readonly settings: SupervisorSettings;
  readonly line: CommandLine;
  readonly log: Log;
  readonly kinds: readonly string[];
  readonly makers: Readonly<Record<string, SpecMaker>>;
  installed?(): readonly PlannedNode[];
  readonly server: string;
  readonly kept: Kept;
  readonly sockets: Sockets;
  /** Several processes may work on the rows. */
  readonly isShared: boolean;
  /** Ends this server. */
  end(): void;
  /** Something about some node changed. */
  changed(): void;
};

export type Installation = {
  readonly server: string;
  /** Starts what the plan says, and goes on doing so. */
  run(supervisor: Supervisor, cluster: Cluster | undefined): Promise<void>;
  /** Every node there is. */
  all(): NodeFacts[];
  levelOf(name: string): NodeLogLevel | undefined;
  takePlan(plan: Plan): void;
  /** Looks again at what is installed. */
  refresh(): void;
  execute(command: NodeCommand): Promise<Refusal | undefined>;
  /** The same; resolves when the others can read of what it changed. */
  executeForOthers(command: NodeCommand): Promise<Refusal | undefined>;
  /** One of the own nodes changed. */
  changed(): void;
  /** The nodes or the life of another server changed, or the plan did. */
  othersChanged(): void;
};

/** For the answer to whoever ended the root node. */
const FAREWELL_MS = 200;

export const createInstallation = (parts: InstallationParts): Installation => {
  const { server, kept, log } = parts;
  const startedAtMs = Date.now();
  const levels = new Map(kept.levels());
  log.level = toLogLevel(levels.get(server) ?? toNodeLogLevel(log.level));
  let supervisor: Supervisor | undefined;
  let cluster: Cluster | undefined;

  const plan = (): Plan | undefined => cluster?.plan() ?? kept.plan();
  const place = (): ServerFacts => placeIn(parts, plan());
  const own = (): NodeFacts[] => {
    const here = place();
    const root = rootFacts(here, startedAtMs, levels.get(server) ?? toNodeLogLevel(log.level));
    return [root, ...(supervisor?.nodes() ?? []).map((record) => toNodeFacts(record, here, levels.get(record.name)))];
  };
  const all = (): NodeFacts[] => allFacts([...own(), ...(cluster?.others() ?? [])], plan());
  const reconcile = createReconciler(
    parts,
    () => supervisor,
    () => ({ content: plan()?.content, server, kinds: parts.kinds, alive: cluster?.alive() }),
    () => runElsewhere(cluster?.others() ?? [], place().site),
  );
  const changed = (): void => {
    void cluster?.publish(own());
    parts.changed();
  };
  const setLevel = (name: string, level: NodeLogLevel, persist: boolean): undefined => {
    levels.set(name, level);
    if (persist) kept.keepLevel(name, level);
    if (name === server) log.level = toLogLevel(level);
    else supervisor?.setLevel(name, toLogLevel(level));
    changed();
  };
  const execute = async (command: NodeCommand): Promise<Refusal | undefined> => {
    const facts = all().find((each) => fullNameOf(each) === command.node);
    if (!facts || facts.server !== server) return 'unknown';
    if (command.do === 'set-level') return setLevel(facts.name, command.level, command.persist);
    return facts.name === server ? endRoot(parts) : endNode(supervisor, facts.name);
  };
  return {
    server,
    all,
    levelOf: (name) => levels.get(name),
    execute,
    executeForOthers: async (command) => {
      const refused = await execute(command);
      await cluster?.publish(own());
      return refused;
    },
    takePlan: (next) => {
      if (!isNews(next, plan(), cluster !== undefined)) return;
      kept.keepPlan(next);
      cluster?.offerPlan(next);
      void reconcile().then(changed);
    },
    refresh: () => void reconcile().then(changed),
    changed,
    othersChanged: () => {
      keepShared(kept, cluster?.plan());
      void reconcile().then(parts.changed);
    },
    run: async (runs, joined) => {
      supervisor = runs;
      cluster = joined;
      await reconcile();
      changed();
    },
  };
};

/** For a start while the database is away. */
const keepShared = (kept: Kept, shared: Plan | undefined): void => {
  if (shared && shared.lwt !== kept.plan()?.lwt) kept.keepPlan(shared);
};

/** Where this server stands: by the configuration, else by its settings. */
const placeIn = ({ server, settings }: InstallationParts, plan: Plan | undefined): ServerFacts => {
  const { site, address } = placeOf(plan?.content, server);
  return { server, site: site ?? settings.site, address: address ?? addressOf(settings.address, settings.host) };
};

/** A node behind the others tells of what was; on one server alone that is a backup that was restored. */
const isNews = (next: Plan, current: Plan | undefined, hasOthers: boolean): boolean =>
  current === undefined || (hasOthers ? next.lwt > current.lwt : next.lwt !== current.lwt);

const endRoot = ({ settings, end }: InstallationParts): Refusal | undefined => {
  if (!settings.supervised) return 'not-supervised';
  setTimeout(end, FAREWELL_MS);
  return undefined;
};

const endNode = (supervisor: Supervisor | undefined, name: string): Refusal | undefined =>
  supervisor?.restart(name) ? undefined : 'unknown';

/** Names of the nodes of layers whose processes live on other servers of the site. */
const runElsewhere = (others: readonly NodeFacts[], site: string): ReadonlySet<string> =>
  new Set(
    others.filter((node) => node.kind === 'layer' && node.site === site && node.pid !== null).map(({ name }) => name),
  );

/**
 * What is planned, and what is installed and no line of the structure speaks of. The service of a layer is there once:
 * whoever shall run it waits until who ran it has ended it.
 */
const withInstalled = (view: PlanView, installed: readonly PlannedNode[], elsewhere: ReadonlySet<string>) => {
  const spoken = new Set(linesOf(view.content).map(({ node }) => node.role));
  return [...plannedNodes(view), ...installed.filter(({ role, name }) => !spoken.has(role) && !elsewhere.has(name))];
};

/** Makes the supervisor run what the plan says, one time after another. */
const createReconciler = (
  { makers, installed, line, sockets, settings, isShared, log }: InstallationParts,
  supervisorOf: () => Supervisor | undefined,
  viewOf: () => PlanView,
  elsewhere: () => ReadonlySet<string>,
): (() => Promise<void>) => {
  let running: Promise<void> = Promise.resolve();
  const makerParts = { line, sockets, memoryLimitBytes: settings.memory_limit };
  const make = async (planned: PlannedNode): Promise<NodeSpec | undefined> => {
    try {
      return await makers[planned.kind]?.(planned, makerParts);
    } catch (thrown) {
      log.error({ node: planned.name, err: thrown }, 'node cannot be made');
      return undefined;
    }
  };
  const reconcile = async (): Promise<void> => {
    const supervisor = supervisorOf();
    // Others are heard of before it is known what they run.
    if (!supervisor) return;
    const specs: NodeSpec[] = [];
    for (const planned of withInstalled(viewOf(), installed?.() ?? [], elsewhere())) {
      // Two processes must not write one SQLite file; the check of configurations says so as well.
      const isSecond = !isShared && planned.kind === 'platform' && specs.some(({ kind }) => kind === 'platform');
      const spec = isSecond ? undefined : await make(planned);
      if (spec) specs.push(spec);
    }
    const known = new Set(supervisor.nodes().map(({ name }) => name));
    // For the same reason the old one has ended before a platform node of another name starts.
    if (!isShared) await supervisor.apply(specs.filter(({ name, kind }) => kind !== 'platform' || known.has(name)));
    void supervisor.apply(specs);
  };
  return () => {
    running = running.then(reconcile);
    return running;
  };
};
