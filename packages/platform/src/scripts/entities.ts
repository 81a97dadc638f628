/** Entities by collection, as scripts reach them. */
import type { Caller, Domain } from '../domains/types.ts';
import type { Json } from '../rest/json.ts';

/** The script as it acts in a domain. */
export type Actor = { readonly domain: Domain; readonly caller: Caller };

/** Collections as REST knows them (`iam/users`, `model/crm/Deals`), under the actor's rights. Throws Problems. */
export type ScriptEntities = {
  find(actor: Actor, collection: string, query: FindQuery): Promise<Json[]>;
  create(actor: Actor, collection: string, fields: Json): Promise<Json>;
  update(actor: Actor, collection: string, id: string, fields: Json): Promise<Json>;
  remove(actor: Actor, collection: string, id: string): Promise<void>;
};

export type FindQuery = {
  /** As the `filter` parameter, parsed. */
  readonly filter?: unknown;
  /** As the `mask` parameter; empty is that of lists. */
  readonly mask: string;
  readonly limit: number;
};

/** The query as the parameters of a list. */
export const toRawQuery = ({ filter, mask, limit }: FindQuery): Json => ({
  ...(filter === undefined || filter === null || filter === '' ? {} : { filter: JSON.stringify(filter) }),
  ...(mask === '' ? {} : { mask }),
  limit: String(limit),
});
