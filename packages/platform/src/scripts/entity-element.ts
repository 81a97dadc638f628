/** What the elements on entities (130-133) share. */
import { Problem } from '@parley/kit/problem.ts';
import { isObject, type Json } from '../rest/json.ts';
import { type ElementContext, type ScriptObject, type Step, transferOf } from './element.ts';
import type { Actor, ScriptEntities } from './entities.ts';
import { ScriptFault } from './fault.ts';

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
