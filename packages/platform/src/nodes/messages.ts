/** What a platform node and the supervisor of its server tell each other, as notes of this topic. */
import type { NodeLogLevel } from './log-levels.ts';
import type { NodeFacts } from './node.ts';
import type { Plan } from './plan.ts';

export const NODES_TOPIC = 'nodes';

/** What can be asked of the supervisor that owns a node. */
export type NodeCommand =
  | { readonly do: 'set-level'; readonly node: string; readonly level: NodeLogLevel; readonly persist: boolean }
  | { readonly do: 'end'; readonly node: string };

/** Why a command was not carried out. */
export type Refusal = 'unknown' | 'not-supervised' | 'no-answer';

export type FromPlatform =
  /** Wants to hear of every change of the nodes. */
  | { readonly type: 'watch' }
  | { readonly type: 'command'; readonly id: number; readonly command: NodeCommand }
  /** What the configuration in force says. */
  | { readonly type: 'plan'; readonly plan: Plan }
  /** What is installed on this server changed: what it brings shall run, what it no longer brings shall not. */
  | { readonly type: 'refresh' };

export type ToPlatform =
  /** Every node there is, by order of the servers. `self`: full name of the node that hears it. */
  | { readonly type: 'nodes'; readonly nodes: readonly NodeFacts[]; readonly self: string }
  | { readonly type: 'answer'; readonly id: number; readonly refused?: Refusal };
