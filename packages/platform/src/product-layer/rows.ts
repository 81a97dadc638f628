/**
 * Rows of the product layer in the system's space: orders, and what is installed where. They name their domain by the
 * id of its row, so that a domain made again under an old name inherits nothing.
 */
import { createHash } from 'node:crypto';
import type { Change, Row, Store } from '@parley/kit/store/store.ts';
import { type Domains, type Kind, SYSTEM_SPACE } from '../domains/types.ts';

export const OPERATIONS = ['install', 'update', 'delete', 'clear'] as const;
export type Operation = (typeof OPERATIONS)[number];

/** What of a domain an installed layer brought. */
export type Owned = {
  readonly roles: readonly string[];
  readonly svcscripts: readonly string[];
  readonly classes: readonly string[];
  /** Applications in roles that are not its own. */
  readonly apps: readonly { readonly role: string; readonly name: string }[];
};

export const NOTHING: Owned = { roles: [], svcscripts: [], classes: [], apps: [] };

type Place = { readonly domainId: string; readonly site: string; readonly prefix: string };

/** What callers see of an order or of what is installed. */
export type Shown = {
  readonly operation: Operation;
  readonly prefix: string;
  readonly mode: string;
  readonly file: string;
  readonly site: string;
  readonly dt: string;
  readonly status: 'registered' | 'installed' | 'identical' | 'failed';
  readonly order: number;
  readonly md5: string;
  readonly trace: string;
};

export type Order = Shown &
  Place & {
    /** Who ordered it; the journal names him. */
    readonly by: { readonly userId: string; readonly name: string; readonly address: string };
    /** Whoever ordered it may do everything in the domain. */
    readonly isAll: boolean;
    /** SHA-256 of the manifest whose rights were checked; empty when it could not be read. */
    readonly manifest: string;
    /** MD5 of what was installed then; empty when nothing was. */
    readonly seen: string;
    /** Everything but the classes is removed already. */
    readonly isClearing?: boolean;
  };

export type Current = Shown &
  Place & {
    readonly name: string;
    readonly version: string;
    readonly owned: Owned;
    /** The server that unpacked it; its service runs there while that server lives. */
    readonly server: string;
    readonly service: { readonly module: string; readonly port: number } | null;
  };

/** Classes that stayed with their rows when their layer was deleted. */
type Left = { readonly domainId: string; readonly prefix: string; readonly classes: readonly string[] };

const ORDER = 'layer_order';
const CURRENT = 'layer_current';
const LEFT = 'layer_left';
const SITE = 'layer_site';
const PAGE_ROWS = 1000;

export const queueOf = (site: string): string => `product-layer:${site}`;

const keyOf = (...words: readonly string[]): string => createHash('sha256').update(JSON.stringify(words)).digest('hex');
const currentId = ({ domainId, site, prefix }: Place): string => keyOf(domainId, site, prefix);

/** The id of a domain's row; undefined when there is none (any more). */
export const domainIdOf = ({ master }: Pick<Domains, 'master'>, name: string): string | undefined =>
  master.find('domain' as Kind, 'name', name)[0];

/** The rows, as changes to be committed in the system's space, and as they are. */
export const createRows = (store: Store) => {
  const all = async <T extends object>(kind: string, path: string, value: string): Promise<Row<T>[]> => {
    const rows: Row<T>[] = [];
    while (true) {
      const afterId = rows.at(-1)?.id;
      const page = await store.query<T>(SYSTEM_SPACE, kind, {
        where: [{ path, op: '=', value }],
        limit: PAGE_ROWS,
        ...(afterId === undefined ? {} : { afterId }),
      });
      rows.push(...page);
      if (page.length < PAGE_ROWS) return rows;
    }
  };
  return {
    order: async (id: string): Promise<Order | undefined> => (await store.get<Order>(SYSTEM_SPACE, ORDER, id))?.data,
    ordersOf: (domainId: string) => all<Order>(ORDER, 'domainId', domainId),
    ordersAt: (site: string) => all<Order>(ORDER, 'site', site),
    current: async (place: Place): Promise<Current | undefined> =>
      (await store.get<Current>(SYSTEM_SPACE, CURRENT, currentId(place)))?.data,
    currentsOf: (domainId: string) => all<Current>(CURRENT, 'domainId', domainId),
    currentsAt: (site: string) => all<Current>(CURRENT, 'site', site),
    left: async ({ domainId, prefix }: Pick<Place, 'domainId' | 'prefix'>): Promise<readonly string[]> =>
      (await store.get<Left>(SYSTEM_SPACE, LEFT, keyOf(domainId, prefix)))?.data.classes ?? [],
    site: async (site: string): Promise<{ last: number; version: number }> => {
      const found = await store.get<{ last: number }>(SYSTEM_SPACE, SITE, keyOf(site));
      return { last: found?.data.last ?? 0, version: found?.version ?? 0 };
    },
  };
};

export type Rows = ReturnType<typeof createRows>;

export const putOrder = (id: string, order: Order): Change => ({
  op: 'put',
  kind: ORDER,
  id,
  data: order,
  quiet: true,
});
export const dropOrder = (id: string): Change => ({ op: 'drop', kind: ORDER, id, quiet: true });
export const putCurrent = (row: Current): Change => ({
  op: 'put',
  kind: CURRENT,
  id: currentId(row),
  data: row,
  quiet: true,
});
export const dropCurrent = (place: Place): Change => ({ op: 'drop', kind: CURRENT, id: currentId(place), quiet: true });
export const putLeft = (
  { domainId, prefix }: Pick<Place, 'domainId' | 'prefix'>,
  classes: readonly string[],
): Change => ({
  op: 'put',
  kind: LEFT,
  id: keyOf(domainId, prefix),
  data: { domainId, prefix, classes },
  quiet: true,
});
export const putSite = (site: string, last: number, expect: number): Change => ({
  op: 'put',
  kind: SITE,
  id: keyOf(site),
  data: { last },
  expect,
  quiet: true,
});
