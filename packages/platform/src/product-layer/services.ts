/** Which services of installed layers this server shall run: its supervisor is told whenever that changes. */
import { join } from 'node:path';
import type { Log } from '@parley/kit/log.ts';
import type { Domains } from '../domains/types.ts';
import { type LayerNode, writeLayerNodes } from '../nodes/layers.ts';
import { fullNameOf, type NodeFacts, SUPERVISOR_KIND } from '../nodes/node.ts';
import type { Nodes } from '../nodes/registry.ts';
import { dropLink, isUnpacked, listLinks, switchLink, unpackedAt } from './folder.ts';
import type { Current, Rows } from './rows.ts';

export type ServicesParts = {
  readonly rows: Rows;
  readonly domains: Pick<Domains, 'master'>;
  readonly nodes: Nodes;
  readonly folder: string;
  /** Of this server, where its supervisor looks. */
  readonly dataDir: string;
  readonly log: Log;
  /** Of this platform. */
  url(): string;
};

/** This process among the nodes; undefined until the supervisor has told. */
export const selfIn = (nodes: Pick<Nodes, 'list' | 'self'>): NodeFacts | undefined => {
  const self = nodes.self();
  return nodes.list().find((node) => fullNameOf(node) === self);
};

/** The server that runs a service: the one that unpacked it, else the first by name of those that live on the site. */
const homeOf = ({ server, site }: Current, nodes: readonly NodeFacts[]): string | undefined => {
  const alive = nodes
    .filter((node) => node.kind === SUPERVISOR_KIND && node.isActive && node.site === site)
    .map((node) => node.server);
  return alive.includes(server) ? server : alive.sort()[0];
};

/** Makes a function that looks at what is installed and tells the supervisor. */
export const createServices = ({ rows, domains, nodes, folder, dataDir, url }: ServicesParts) => {
  const nodeOf = (current: Current, home: string | undefined): LayerNode[] => {
    const domain = domains.master.get('domain', current.domainId);
    if (!domain || !current.service) return [];
    const place = unpackedAt(folder, current.md5);
    return [
      {
        layer: current.name,
        version: current.version,
        domain: String(domain.name),
        folder: place,
        module: join(place, current.service.module),
        port: current.service.port,
        platformUrl: url(),
        isHome: homeOf(current, nodes.list()) === home,
      },
    ];
  };
  return async (): Promise<void> => {
    const self = selfIn(nodes);
    if (!self || folder === '') return;
    const here: LayerNode[] = [];
    for (const { data } of await rows.currentsAt(self.site)) {
      if (await isUnpacked(folder, data.md5)) here.push(...nodeOf(data, self.server));
    }
    here.sort((left, right) => (`${left.layer}/${left.domain}` < `${right.layer}/${right.domain}` ? -1 : 1));
    if (writeLayerNodes(dataDir, here)) nodes.refresh();
  };
};

/** Makes the links what they shall be at a site; for a start after an end that came too early. */
export const mendLinks = async ({ rows, domains, folder }: ServicesParts, site: string): Promise<void> => {
  // Before the rows: a link is made when its row is there already, so that none is taken for an old one.
  const there = await listLinks(folder);
  const wanted = new Set<string>();
  for (const { data } of await rows.currentsAt(site)) {
    const domain = domains.master.get('domain', data.domainId);
    if (!domain || !(await isUnpacked(folder, data.md5))) continue;
    wanted.add(join(String(domain.name), data.prefix));
    await switchLink(folder, String(domain.name), data.prefix, data.md5);
  }
  for (const name of there) if (!wanted.has(name)) await dropLink(folder, name);
};
