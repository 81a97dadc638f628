/** The site this process stands on. */
import { fullNameOf } from './node.ts';
import type { Nodes } from './registry.ts';

/** Empty until the supervisor has told. */
export const ownSiteOf = (nodes: Pick<Nodes, 'list' | 'self'>): string => {
  const self = nodes.self();
  return nodes.list().find((node) => fullNameOf(node) === self)?.site ?? '';
};
