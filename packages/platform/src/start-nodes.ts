/** The platform's part in running the installation: it follows the nodes, and tells its supervisor what shall run. */
import type { Log } from '@parley/kit/log.ts';
import type { Line } from '@parley/kit/service.ts';
import type { Domains } from './domains/types.ts';
import { createLoneNodes, followNodes, type Nodes } from './nodes/registry.ts';
import { contentInForce } from './resources/configurations.ts';

/** The nodes, by the supervisor at the other end of the line or, without one, this process alone. */
export const openNodes = (line: Line | undefined, log: Log): Nodes => (line ? followNodes(line) : createLoneNodes(log));

/** Tells the supervisor of the configuration in force, now and whenever another content comes into force. */
export const tellPlans = (domains: Domains, nodes: Nodes): Disposable => {
  let told = '';
  const tell = (): void => {
    const plan = contentInForce(domains.master);
    if (!plan || told === `${plan.id} ${plan.lwt}`) return;
    told = `${plan.id} ${plan.lwt}`;
    nodes.tellPlan(plan);
  };
  const stop = domains.onChange(({ kind }) => {
    if (kind === 'configuration') tell();
  });
  tell();
  return { [Symbol.dispose]: stop };
};
