/**
 * A domain as one run of synchronous code sees it. The code reads as if everything were in memory; what is not is read
 * from the Store and the code runs again, over what is then there. What it saw is kept, so that a commit can ask
 * whether it still holds.
 */
import type { Condition, Row, Store } from '@parley/kit/store/store.ts';
import type { Held } from './collection.ts';
import { NotLoaded, type Wanted } from './not-loaded.ts';
import type { RightsKeeper } from './rights.ts';
import type { Table } from './table.ts';
import type { Domain, Entity, Kind, Role, User } from './types.ts';

/** What was read for one run and stays with it, however small the cache. */
type Loaded = {
  readonly rows: Map<string, Held | undefined>;
  readonly finds: Map<string, readonly string[]>;
  readonly selects: Map<string, readonly Entity[]>;
  readonly all: Map<Kind, readonly Held[]>;
  readonly sizes: Map<Kind, number>;
};

/**
 * What a run has looked at: rows with their versions, 0 where there was none, and kinds of which it saw every row or
 * the lack of one.
 */
export type Seen = {
  readonly rows: ReadonlyMap<string, { readonly kind: Kind; readonly id: string; readonly version: number }>;
  readonly kinds: ReadonlySet<Kind>;
};

export type DomainView = Domain & {
  readonly seen: Seen;
  /** As `find`, where the Store itself refuses what memory did not know: the lack of a holder is not noted. */
  holders(kind: Kind, key: string, value: string): readonly string[];
  held(kind: Kind, id: string): Held | undefined;
};

export type ViewParts = {
  readonly name: string;
  readonly store: Store;
  readonly rights: RightsKeeper;
  /** The domain over memory alone. */
  readonly domain: Domain;
  table(kind: Kind): Table;
};

/** Rows of one page of a stored kind. */
const PAGE_ROWS = 1000;
/** Rows read by their ids at once. */
const READ_AT_ONCE = 32;
/** How often code is run again before it is called endless. */
const MAX_RUNS = 10_000;

const createLoaded = (): Loaded => ({
  rows: new Map(),
  finds: new Map(),
  selects: new Map(),
  all: new Map(),
  sizes: new Map(),
});

const rowKey = (kind: Kind, id: string): string => `${kind}/${id}`;
const findKey = (kind: Kind, key: string, value: string): string => `${kind}/${key}/${value}`;

/** Runs synchronous code over a view. It must change nothing before it is through, because it may run again. */
export const runOver = <T>(parts: ViewParts, run: (view: DomainView) => T): T | Promise<T> => {
  const loaded = createLoaded();
  try {
    return run(createView(parts, loaded));
  } catch (thrown) {
    if (!(thrown instanceof NotLoaded)) throw thrown;
    return runAgain(parts, loaded, run, thrown.wanted);
  }
};

const runAgain = async <T>(
  parts: ViewParts,
  loaded: Loaded,
  run: (view: DomainView) => T,
  first: Wanted,
): Promise<T> => {
  let wanted = first;
  for (let runs = 0; runs < MAX_RUNS; runs++) {
    await load(parts, wanted, loaded);
    try {
      return run(createView(parts, loaded));
    } catch (thrown) {
      if (!(thrown instanceof NotLoaded)) throw thrown;
      wanted = thrown.wanted;
    }
  }
  throw new Error('a run over a domain found no end');
};

const load = async (parts: ViewParts, wanted: Wanted, loaded: Loaded): Promise<void> => {
  const { kind } = wanted;
  if ('ids' in wanted) await loadRows(parts, kind, wanted.ids, loaded);
  else if ('values' in wanted) await loadFinds(parts, kind, wanted, loaded);
  else if ('select' in wanted) loaded.selects.set(wanted.select, await readSelected(parts, kind, wanted));
  else if ('all' in wanted) loaded.all.set(kind, (await Array.fromAsync(pagesOf(parts, kind))).flat());
  else loaded.sizes.set(kind, await parts.store.count(parts.name, kind));
};

const readSelected = async (
  parts: ViewParts,
  kind: Kind,
  { test, most }: { test(entity: Entity): boolean; most: number },
): Promise<Entity[]> => {
  const found: Entity[] = [];
  for await (const page of pagesOf(parts, kind)) {
    found.push(
      ...selectIn(
        page.map(({ entity }) => entity),
        test,
        most - found.length,
      ),
    );
    if (found.length >= most) break;
  }
  return found;
};

const toHeld = ({ id, data, version }: Row<Entity>): Held => ({ id, entity: data, version });

/** Reads one row, and keeps it for later runs where it did not change meanwhile. */
const readRow = async ({ name, store, table }: ViewParts, kind: Kind, id: string): Promise<Held | undefined> => {
  const { cache } = table(kind);
  const reading = cache?.startReading(id);
  let held: Held | undefined;
  try {
    const row = await store.get<Entity>(name, kind, id);
    held = row && toHeld(row);
    return held;
  } finally {
    if (reading) cache!.endReading(reading, held);
  }
};

const inSteps = async (values: readonly string[], job: (value: string) => Promise<void>): Promise<void> => {
  for (let at = 0; at < values.length; at += READ_AT_ONCE) {
    await Promise.all(values.slice(at, at + READ_AT_ONCE).map(job));
  }
};

const loadRows = (parts: ViewParts, kind: Kind, ids: readonly string[], loaded: Loaded): Promise<void> =>
  inSteps(ids, async (id) => {
    loaded.rows.set(rowKey(kind, id), await readRow(parts, kind, id));
  });

const loadFinds = async (
  parts: ViewParts,
  kind: Kind,
  { key, values }: { key: string; values: readonly string[] },
  loaded: Loaded,
): Promise<void> => {
  const indexed = parts.table(kind).keys.find(({ name }) => name === key)!;
  await inSteps(values, async (value) => {
    const at = findKey(kind, key, value);
    if (!indexed.isUnique) {
      loaded.finds.set(at, await findShared(parts, kind, key, value));
      return;
    }
    const id = await parts.store.find(parts.name, kind, key, value);
    const held = id === undefined ? undefined : await readRow(parts, kind, id);
    const isHolder = held !== undefined && indexed.valueOf(held.entity) === value;
    if (isHolder) loaded.rows.set(rowKey(kind, held.id), held);
    loaded.finds.set(at, isHolder ? [held.id] : []);
  });
};

/** Every holder of a value that several may hold; such a key is a field of its own name. */
const findShared = async ({ name, store }: ViewParts, kind: Kind, key: string, value: string): Promise<string[]> => {
  const where: Condition[] = [{ path: key, op: '=', value }];
  return (await store.query(name, kind, { where })).map(({ id }) => id);
};

/** Every row of a kind in pages: one page where it is in memory. */
export const pagesOf = async function* ({ name, store, table }: ViewParts, kind: Kind): AsyncGenerator<Held[]> {
  if (!table(kind).cache) {
    yield [...table(kind).values()];
    return;
  }
  for await (const rows of storedPages(store, name, kind)) yield rows.map(toHeld);
};

/** Every row of a kind as the Store has it. */
export const storedPages = async function* (
  store: Store,
  domain: string,
  kind: string,
  where: readonly Condition[] = [],
): AsyncGenerator<Row<Entity>[]> {
  let afterId: string | undefined;
  while (true) {
    const rows = await store.query<Entity>(domain, kind, {
      where,
      limit: PAGE_ROWS,
      ...(afterId === undefined ? {} : { afterId }),
    });
    yield rows;
    if (rows.length < PAGE_ROWS) return;
    afterId = rows.at(-1)!.id;
  }
};

/** The domain over memory and what was loaded. */
const createView = (parts: ViewParts, loaded: Loaded): DomainView => {
  const rows = new Map<string, { kind: Kind; id: string; version: number }>();
  const kinds = new Set<Kind>();
  const { table, domain } = parts;

  const peek = (kind: Kind, id: string): Held | undefined => {
    const key = rowKey(kind, id);
    return loaded.rows.has(key) ? loaded.rows.get(key) : table(kind).get(id);
  };
  const held = (kind: Kind, id: string): Held | undefined => {
    const found = peek(kind, id);
    rows.set(rowKey(kind, id), { kind, id, version: found?.version ?? 0 });
    return found;
  };
  const get = (kind: Kind, id: string): Entity | undefined => held(kind, id)?.entity;
  const holders = (kind: Kind, key: string, value: string): readonly string[] =>
    loaded.finds.get(findKey(kind, key, value)) ?? table(kind).find(key, value);
  const find = (kind: Kind, key: string, value: string): readonly string[] => {
    const found = holders(kind, key, value);
    if (found.length === 0) kinds.add(kind);
    return found;
  };
  const first = (kind: Kind, key: string, value: string): Entity | undefined => {
    const [id] = find(kind, key, value);
    return id === undefined ? undefined : get(kind, id);
  };
  const isMissing = (kind: Kind, id: string): boolean =>
    !loaded.rows.has(rowKey(kind, id)) && table(kind).peek(id) === undefined;
  return {
    ...readersOf(parts, { get, find, first }),
    seen: { rows, kinds },
    held,
    holders,
    rights: parts.rights.over(
      (id) => get('user', id),
      () => kinds.add('group'),
    ),
    all: function* (kind) {
      kinds.add(kind);
      for (const each of loaded.all.get(kind) ?? table(kind).values()) yield each.entity;
    },
    select: (kind, name, test, most = Number.POSITIVE_INFINITY) => {
      kinds.add(kind);
      const known = loaded.selects.get(name);
      if (known) return known;
      if (table(kind).cache) throw new NotLoaded({ kind, select: name, most, test });
      return selectIn(domain.all(kind), test, most);
    },
    need: (kind, ids) => {
      if (!table(kind).cache) return;
      const missing = ids.filter((id) => isMissing(kind, id));
      if (missing.length > 0) throw new NotLoaded({ kind, ids: missing });
    },
    needBy: (kind, key, values) => {
      if (!table(kind).cache) return;
      const missing = values.filter((value) => !loaded.finds.has(findKey(kind, key, value)));
      if (missing.length > 0) throw new NotLoaded({ kind, key, values: missing });
    },
    size: (kind) => loaded.sizes.get(kind) ?? table(kind).size,
  };
};

/** Those that pass, up to so many. */
export const selectIn = (entities: Iterable<Entity>, test: (entity: Entity) => boolean, most: number): Entity[] => {
  const found: Entity[] = [];
  for (const entity of entities) {
    if (!test(entity)) continue;
    if (found.push(entity) >= most) break;
  }
  return found;
};

type Access = {
  get: Domain['get'];
  find: Domain['find'];
  first(kind: Kind, key: string, value: string): Entity | undefined;
};

const readersOf = ({ domain }: ViewParts, { get, find, first }: Access) => ({
  name: domain.name,
  isMaster: domain.isMaster,
  parent: domain.parent,
  solution: domain.solution,
  opts: domain.opts,
  get,
  find,
  user: (id: string) => get('user', id) as User | undefined,
  userByLogin: (login: string) => first('user', 'login', login.toLowerCase()) as User | undefined,
  roleByName: (role: string) => first('role', 'name', role) as Role | undefined,
  setting: (key: string) => get('setting', key)?.value as Entity | undefined,
  read: domain.read,
  pages: domain.pages,
});
