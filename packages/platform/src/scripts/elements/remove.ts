/** 133: deletes an entity as DELETE does. One that something refers to leads to `transfer_conflict`. */
import { type Element, go } from '../element.ts';
import { actorOf, collectionOf, entitiesOf, orConflict } from '../entity-element.ts';

export const remove: Element = {
  oType: 133,
  name: 'delete',
  keys: {
    collection: { kind: 'template', required: true },
    id: { kind: 'template', required: true },
    domain: { kind: 'template' },
    save: { kind: 'variable' },
    transfer_conflict: { kind: 'transfer' },
  },
  run: async (context, object) => {
    const actor = await actorOf(context, object);
    const collection = await collectionOf(context, object);
    const id = await context.renderText(object.id);
    return orConflict(object, async () => {
      await entitiesOf(context).remove(actor, collection, id);
      if (object.save !== undefined) context.variables.set(String(object.save), true);
      return go(object);
    });
  },
};
