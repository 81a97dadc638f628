/**
 * What a supervisor and the platform nodes of its server tell each other: nodes hear of every change of any node, bring
 * the configuration in force, and ask for commands, which go to the server that owns the node.
 */
import type { Note } from '@parley/kit/service.ts';
import {
  type FromPlatform,
  NODES_TOPIC,
  type NodeCommand,
  type Refusal,
  type ToPlatform,
} from '@parley/platform/nodes/messages.ts';
import { fullNameOf, type NodeFacts } from '@parley/platform/nodes/node.ts';
import type { Plan } from '@parley/platform/nodes/plan.ts';

export type DeskParts = {
  /** Every node there is. */
  nodes(): readonly NodeFacts[];
  readonly server: string;
  /** Carries out what one of the own nodes shall do. */
  execute(command: NodeCommand): Promise<Refusal | undefined>;
  /** Has another server do it. */
  pass(server: string, command: NodeCommand): Promise<Refusal | undefined>;
  plan(plan: Plan): void;
  refresh(): void;
  tell(name: string, note: Note): void;
};

export type Desk = {
  hear(name: string, note: Note): void;
  /** Something about some node changed: everybody is told, soon. */
  changed(): void;
};

export const createDesk = (parts: DeskParts): Desk => {
  const watching = new Set<string>();
  let isScheduled = false;
  const say = (name: string, body: ToPlatform): void => parts.tell(name, { type: 'note', topic: NODES_TOPIC, body });
  const show = (to: Iterable<string>): void => {
    const nodes = parts.nodes();
    for (const name of to) {
      const self = nodes.find((facts) => facts.server === parts.server && facts.name === name);
      say(name, { type: 'nodes', nodes, self: self ? fullNameOf(self) : name });
    }
  };
  const route = async (command: NodeCommand): Promise<Refusal | undefined> => {
    const facts = parts.nodes().find((each) => fullNameOf(each) === command.node);
    if (!facts) return 'unknown';
    return facts.server === parts.server ? await parts.execute(command) : await parts.pass(facts.server, command);
  };
  const answer = async (name: string, id: number, command: NodeCommand): Promise<void> => {
    const refused = await route(command).catch((): Refusal => 'no-answer');
    // What was done must be seen by whoever asked before the answer is.
    show(watching);
    say(name, { type: 'answer', id, ...(refused === undefined ? {} : { refused }) });
  };
  return {
    hear: (name, { topic, body }) => {
      if (topic !== NODES_TOPIC) return;
      const message = body as FromPlatform;
      if (message.type === 'plan') parts.plan(message.plan);
      if (message.type === 'refresh') parts.refresh();
      if (message.type === 'command') void answer(name, message.id, message.command);
      if (message.type !== 'watch') return;
      watching.add(name);
      show([name]);
    },
    changed: () => {
      if (isScheduled) return;
      isScheduled = true;
      setImmediate(() => {
        isScheduled = false;
        show(watching);
      });
    },
  };
};
