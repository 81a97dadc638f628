/** Licensed items as they are: counted in the Store, over all domains. */
import type { Store } from '@parley/kit/store/store.ts';
import type { Counts } from './document.ts';

/** Items whose limits are held; the others are only shown. */
export const ENFORCED = ['domains', 'svcscripts', 'webservice_public', 'webservice_subscr'] as const;

const PAGE_ROWS = 1000;
const PUBLIC = [{ path: 'type', op: '=', value: 'public' }] as const;

const domainNames = async (store: Store, master: string): Promise<string[]> => {
  const names = new Set([master]);
  for (let afterId: string | undefined; ; ) {
    const rows = await store.query<{ name: string }>(master, 'domain', {
      limit: PAGE_ROWS,
      ...(afterId === undefined ? {} : { afterId }),
    });
    for (const { data } of rows) names.add(data.name);
    if (rows.length < PAGE_ROWS) return [...names];
    afterId = rows.at(-1)!.id;
  }
};

/** How many there are of each item that is enforced. */
export const countItems = async (store: Store, master: string): Promise<Counts> => {
  const counts = {
    domains: await store.count(master, 'domain'),
    svcscripts: 0,
    webservice_public: 0,
    webservice_subscr: 0,
  };
  for (const name of await domainNames(store, master)) {
    const points = await store.count(name, 'integration_point');
    const open = await store.count(name, 'integration_point', PUBLIC);
    counts.svcscripts += await store.count(name, 'svcscript');
    counts.webservice_public += open;
    counts.webservice_subscr += points - open;
  }
  return counts;
};
