/** 132: changes fields of an entity as PATCH does. A key that is taken leads to `transfer_conflict`. */
import { type Element, go } from '../element.ts';
import { actorOf, collectionOf, entitiesOf, fieldsOf, orConflict, saveItem } from '../entity-element.ts';

export const update: Element = {
  oType: 132,
  name: 'update',
  keys: {
    collection: { kind: 'template', required: true },
    id: { kind: 'template', required: true },
    fields: { kind: 'template', required: true },
    domain: { kind: 'template' },
    save: { kind: 'variable' },
    transfer_conflict: { kind: 'transfer' },
  },
  run: async (context, object) => {
    const actor = await actorOf(context, object);
    const collection = await collectionOf(context, object);
    const fields = await fieldsOf(context, object);
    const id = await context.renderText(object.id);
    return orConflict(object, async () => {
      saveItem(context, object, await entitiesOf(context).update(actor, collection, id, fields));
      return go(object);
    });
  },
};
