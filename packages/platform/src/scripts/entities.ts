/** Entities by collection, and what the elements 130-133 share. */
import { Problem } from '@parley/kit/problem.ts';
import type { Caller, Domain } from '../domains/types.ts';
import { isObject, type Json } from '../rest/json.ts';
import { type ElementContext, type ScriptObject, type Step, transferOf } from './element.ts';
import { ScriptFault } from './fault.ts';

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

export const entitiesOf = ({ services }: ElementContext): ScriptEntities => {
  if (!services.entities) throw new ScriptFault('element', 'entities are not to be had here');
  return services.entities;
};

export const actorOf = async (context: ElementContext, object: ScriptObject): Promise<Actor> =>
  context.acting(await context.render(object.domain));

/** The collection without its base and slashes at the ends. */
export const collectionOf = async (context: ElementContext, object: ScriptObject): Promise<string> =>
  (await context.renderText(object.collection)).replace(/^\/?(rest\/v1\/)?/, '').replace(/\/$/, '');

export const fieldsOf = async (context: ElementContext, object: ScriptObject): Promise<Json> => {
  const fields = await context.render(object.fields);
  if (!isObject(fields)) throw new ScriptFault('element', 'fields must be an object');
  return fields;
};

export const saveItem = (context: ElementContext, object: ScriptObject, item: Json): void => {
  if (object.save !== undefined) context.variables.set(String(object.save), item);
};

const isConflict = (thrown: unknown): boolean =>
  thrown instanceof Problem && (thrown.status === 409 || thrown.details?.reason === 'referenced');

/** What `body` says, or the way for conflicts where there is one. */
export const orConflict = async (object: ScriptObject, body: () => Promise<Step>): Promise<Step> => {
  try {
    return await body();
  } catch (thrown) {
    if (object.transfer_conflict === undefined || !isConflict(thrown)) throw thrown;
    return { kind: 'go', to: transferOf(object, 'transfer_conflict') };
  }
};
