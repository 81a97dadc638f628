/** 131: makes an entity as POST on its collection does. A key that is taken leads to `transfer_conflict`. */
import { type Element, go } from '../element.ts';
import { actorOf, collectionOf, entitiesOf, fieldsOf, orConflict, saveItem } from '../entity-element.ts';

export const create: Element = {
  oType: 131,
  name: 'create',
  keys: {
    collection: { kind: 'template', required: true },
    id: { kind: 'template' },
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
      const made = await entitiesOf(context).create(actor, collection, id === '' ? fields : { ...fields, id });
      saveItem(context, object, made);
      return go(object);
    });
  },
};
