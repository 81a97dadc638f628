/**
 * Where the items of a class lie: in the Store, in the Store of a PostgreSQL that a storage of the domain names, or in
 * the memory of this process for classes of mode `runtime`.
 */
import type { Clock } from '@parley/kit/clock.ts';
import type { Log } from '@parley/kit/log.ts';
import { openStore } from '@parley/kit/store/open.ts';
import { Conflict, type Store } from '@parley/kit/store/store.ts';
import { cannotApply, problem } from '../codes.ts';
import type { SecretBox } from '../domains/secrets.ts';
import type { Domain, Entity } from '../domains/types.ts';
import { isObject, type Json } from '../rest/json.ts';
import { isOwnStorage } from './class-options.ts';
import type { ModelClass } from './model-class.ts';
import type { ItemRow, RowSource, Rows } from './rows.ts';
import { openSharedRows } from './shared-rows.ts';

type Parts = { readonly store: Store; readonly secrets: SecretBox; readonly log: Log; readonly clock: Clock };

export const openRowSource = ({ store, secrets, log, clock }: Parts): RowSource => {
  // On a database of its own there is no other node.
  const shared = store.driver === 'postgres' ? openSharedRows({ store, log, clock }) : undefined;
  const memory = new Map<string, Map<string, ItemRow>>();
  const external = new Map<string, Promise<Store>>();

  const openExternal = (url: string): Promise<Store> => {
    const known = external.get(url);
    if (known !== undefined) return known;
    const opening = openStore(url, log);
    external.set(url, opening);
    opening.catch(() => external.delete(url));
    return opening;
  };
  const storeOf = async (domain: Domain, instance: unknown): Promise<Store> => {
    if (isOwnStorage(instance)) return store;
    const url = urlOf(domain, String(instance), secrets);
    if (url === undefined) throw problem('unavailable', { message: 'The storage of this class is gone' });
    try {
      return await openExternal(url);
    } catch (cause) {
      throw problem('unavailable', { message: 'The storage of this class cannot be reached', cause });
    }
  };
  return {
    open: async (domain, model) => {
      if (model.mode === 'runtime') {
        const name = `${domain.name}/${model.kind}`;
        const rows = memory.get(name) ?? new Map<string, ItemRow>();
        memory.set(name, rows);
        const local = memoryRows(rows, domain.name, model.kind);
        return shared ? shared.open(name, local) : local;
      }
      return storeRows(await storeOf(domain, model.options.storage_instance), domain.name, model);
    },
    check: async (domain, instance) => {
      if (isOwnStorage(instance)) return;
      try {
        await storeOf(domain, instance);
      } catch {
        throw cannotApply('opts.storage_instance', 'the storage cannot be reached');
      }
    },
    [Symbol.asyncDispose]: async () => {
      await shared?.[Symbol.asyncDispose]();
      for (const opening of external.values()) {
        const opened = await opening.catch(() => undefined);
        await opened?.[Symbol.asyncDispose]();
      }
    },
  };
};

/** `postgres://…` of a storage of the domain. */
const urlOf = (domain: Domain, instance: string, secrets: SecretBox): string | undefined => {
  const [id] = domain.find('storage', 'instance', instance);
  const storage: Entity | undefined = id === undefined ? undefined : domain.get('storage', id);
  const params = isObject(storage?.params) ? storage.params : undefined;
  if (storage?.type !== 'postgresql' || !params) return undefined;
  const sealed = typeof params.pwd === 'string' ? params.pwd : '';
  const url = new URL('postgres://localhost');
  const host = String(params.host ?? 'localhost');
  // A folder is where a socket of the same machine lies.
  if (host.startsWith('/')) url.searchParams.set('host', host);
  else url.hostname = host;
  url.port = String(params.port ?? 5432);
  url.username = encodeURIComponent(String(params.login ?? ''));
  url.password = encodeURIComponent(secrets.isSealed(sealed) ? secrets.open(sealed) : sealed);
  url.pathname = `/${encodeURIComponent(String(params.database ?? ''))}`;
  return url.href;
};

const storeRows = (store: Store, domain: string, { kind, options, entity }: ModelClass): Rows => {
  // Nobody follows the rows of a class unless it asks for notifications.
  const quiet = options.notify_transactions !== true && entity.integrity_mode !== 'sync_fast_notify';
  return {
    isDatabase: true,
    get: (id) => store.get<Json>(domain, kind, id),
    query: (query) => store.query<Json>(domain, kind, query),
    count: (where) => store.count(domain, kind, where),
    put: async (id, data, expect) => {
      await store.commit(domain, [{ op: 'put', kind, id, data, expect, quiet }]);
    },
    drop: async (ids) => {
      await store.commit(
        domain,
        ids.map((id) => ({ op: 'drop', kind, id, quiet })),
      );
    },
  };
};

const memoryRows = (rows: Map<string, ItemRow>, domain: string, kind: string): Rows => ({
  isDatabase: false,
  get: async (id) => rows.get(id),
  query: async () => [...rows.values()],
  count: async () => rows.size,
  put: async (id, data, expect) => {
    const version = rows.get(id)?.version ?? 0;
    if (version !== expect) throw new Conflict('version', kind, id);
    rows.set(id, { domain, kind, id, version: version + 1, data });
  },
  drop: async (ids) => {
    for (const id of ids) rows.delete(id);
  },
});
