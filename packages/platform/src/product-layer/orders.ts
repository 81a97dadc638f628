/** Orders: taken in with the rights of whoever gives them, and shown with what is installed. */
import { join } from 'node:path';
import type { Clock } from '@parley/kit/clock.ts';
import { createUuid } from '@parley/kit/ids.ts';
import { Conflict, type Store } from '@parley/kit/store/store.ts';
import { badRequest, cannotApply, problem } from '../codes.ts';
import { type Caller, type Domains, SYSTEM_SPACE } from '../domains/types.ts';
import { isObject, type Json } from '../rest/json.ts';
import { type Digests, digestArchive, findArchive } from './archive.ts';
import { unite } from './bring.ts';
import { LayerRefused } from './fault.ts';
import { mayDoEverything, requireLayerCoverage } from './rights.ts';
import {
  type Current,
  domainIdOf,
  NOTHING,
  OPERATIONS,
  type Operation,
  type Order,
  putOrder,
  putSite,
  queueOf,
  type Rows,
  type Shown,
} from './rows.ts';
import { type ReadManifest, readManifest } from './unpack.ts';

export type OrdersParts = {
  readonly store: Store;
  readonly rows: Rows;
  readonly clock: Clock;
  readonly domains: Pick<Domains, 'master'>;
  /** Where the archives of this site lie; empty where there are none. */
  readonly folder: string;
  /** Of this process; empty until it is known. */
  site(): string;
  /** Orders carried out by this process right now: what they changed may not be seen here yet. */
  readonly running: ReadonlySet<string>;
  /** An order waits. */
  ring(): void;
};

/** An item of `domain/product_layer`. */
export type ProductLayerItem = Shown & { readonly kind: 'current' | 'attempt' };

export type Orders = {
  /** Takes an order from a request's body. Throws 400, 403 or 422 as a Problem; nothing has changed then. */
  register(body: unknown, caller: Caller): Promise<ProductLayerItem>;
  /** The newest order, and what is installed, of each site and prefix of a domain. */
  latest(domainName: string): Promise<ProductLayerItem[]>;
};

type Wish = { readonly operation: Operation; readonly prefix: string; readonly mode: string };

const PREFIX = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
const MODES = ['default'];
/** How often a number is taken anew when another node takes one at the same moment. */
const MAX_TRIES = 50;
const RETRY_AFTER_SEC = 2;

export const toTime = (nowMs: number): string => new Date(nowMs).toISOString().replace('Z', '000Z');

/** The orders as the interface sees them. */
export const createOrders = (parts: OrdersParts): Orders => ({
  register: async (body, caller) => {
    const wish = readWish(body);
    const site = parts.site();
    const domainId = domainIdOf(parts.domains, caller.domain.name);
    if (site === '' || domainId === undefined) throw problem('unavailable', { retryAfterSec: RETRY_AFTER_SEC });
    const archive = await readArchive(parts.folder, wish);
    const place = { domainId, site, prefix: wish.prefix };
    const current = await parts.rows.current(place);
    requireLayerCoverage(caller, caller.domain, archive.read?.manifest, current?.owned ?? NOTHING);
    const order = await enqueue(parts, {
      ...wish,
      ...place,
      file: archive.file,
      md5: archive.digests?.md5 ?? current?.md5 ?? '',
      dt: toTime(parts.clock.now()),
      status: 'registered',
      trace: '',
      by: { userId: caller.userId, name: caller.name, address: caller.address },
      isAll: mayDoEverything(caller),
      manifest: archive.read?.sha256 ?? '',
      seen: current?.md5 ?? '',
    });
    parts.ring();
    return toItem(order, 'attempt');
  },
  latest: async (domainName) => {
    const domainId = domainIdOf(parts.domains, domainName);
    if (domainId === undefined) return [];
    const newest = new Map<string, Order>();
    for (const { id, data: row } of await parts.rows.ordersOf(domainId)) {
      const data: Order = parts.running.has(id) ? { ...row, status: 'registered', trace: '' } : row;
      const key = JSON.stringify([data.site, data.prefix]);
      if ((newest.get(key)?.order ?? 0) < data.order) newest.set(key, data);
    }
    const currents = (await parts.rows.currentsOf(domainId)).map(({ data }) => toItem(data, 'current'));
    return [...currents, ...[...newest.values()].map((order) => toItem(order, 'attempt'))];
  },
});

const readWish = (body: unknown): Wish => {
  if (!isObject(body)) throw badRequest('body', 'must be an object');
  const operation = wordIn(body, 'operation', 'install', OPERATIONS) as Operation;
  const mode = wordIn(body, 'mode', 'default', MODES);
  const { prefix } = body;
  if (prefix === undefined || prefix === null) throw cannotApply('prefix', 'required');
  if (typeof prefix !== 'string') throw badRequest('prefix', 'must be text');
  if (!PREFIX.test(prefix)) throw cannotApply('prefix', 'must be letters, digits, dots, hyphens and underscores');
  return { operation, prefix, mode };
};

const wordIn = (body: Json, name: string, fallback: string, words: readonly string[]): string => {
  const given = body[name] ?? fallback;
  if (typeof given !== 'string') throw badRequest(name, 'must be text');
  if (!words.includes(given)) throw cannotApply(name, `must be one of ${words.join(', ')}`);
  return given;
};

type Archive = { readonly file: string; readonly digests?: Digests; readonly read?: ReadManifest };

/** The archive an order is about; what it says is missing where it cannot be read, and its order will fail. */
const readArchive = async (folder: string, { operation, prefix }: Wish): Promise<Archive> => {
  if (operation === 'delete' || operation === 'clear') return { file: '' };
  if (folder === '') throw cannotApply('prefix', 'this installation has no folder of archives (setting product.dir)');
  const file = await findArchive(folder, prefix);
  if (file === undefined) throw cannotApply('prefix', 'no archive has this prefix');
  try {
    const digests = await digestArchive(join(folder, file));
    const read = await readManifest({ folder, file, sizeBytes: digests.sizeBytes }).catch((thrown: unknown) => {
      if (thrown instanceof LayerRefused) return undefined;
      throw thrown;
    });
    return { file, digests, ...(read ? { read } : {}) };
  } catch (thrown) {
    if (thrown instanceof LayerRefused) return { file };
    throw thrown;
  }
};

const enqueue = async ({ store, rows, clock }: OrdersParts, order: Omit<Order, 'order'>): Promise<Order> => {
  const id = createUuid();
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const { last, version } = await rows.site(order.site);
    const numbered: Order = { ...order, order: last + 1 };
    try {
      await store.commit(SYSTEM_SPACE, [
        putSite(order.site, last + 1, version),
        putOrder(id, numbered),
        {
          op: 'enqueue',
          queue: queueOf(order.site),
          id,
          priority: 0,
          share: order.site,
          readyAtMs: clock.now(),
        },
      ]);
      return numbered;
    } catch (thrown) {
      if (!(thrown instanceof Conflict)) throw thrown;
    }
  }
  throw problem('unavailable', { retryAfterSec: RETRY_AFTER_SEC });
};

const toItem = (row: Order | Current, kind: ProductLayerItem['kind']): ProductLayerItem => ({
  operation: row.operation,
  prefix: row.prefix,
  mode: row.mode,
  file: row.file,
  site: row.site,
  dt: row.dt,
  status: row.status,
  kind,
  order: row.order,
  md5: row.md5,
  trace: row.trace,
});

/** What every site has of a layer in a domain but this one. */
export const ownedElsewhere = async (rows: Rows, { domainId, site, prefix }: Order) =>
  unite(
    (await rows.currentsOf(domainId))
      .filter(({ data }) => data.prefix === prefix && data.site !== site)
      .map(({ data }) => data.owned),
  );
