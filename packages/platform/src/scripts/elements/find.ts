/** 130: entities of a collection, by the filter and mask of its REST list. */
import { type Element, go } from '../element.ts';
import { actorOf, collectionOf, entitiesOf } from '../entity-element.ts';

const MAX_FOUND = 100;

export const find: Element = {
  oType: 130,
  name: 'find',
  keys: {
    collection: { kind: 'template', required: true },
    filter: { kind: 'template' },
    mask: { kind: 'template' },
    limit: { kind: 'number', min: 1, max: MAX_FOUND },
    domain: { kind: 'template' },
    save: { kind: 'variable', required: true },
  },
  run: async (context, object) => {
    const actor = await actorOf(context, object);
    const filter = await context.render(object.filter);
    const mask = await context.renderText(object.mask);
    const limit = typeof object.limit === 'number' ? object.limit : MAX_FOUND;
    const found = await entitiesOf(context).find(actor, await collectionOf(context, object), { filter, mask, limit });
    context.variables.set(String(object.save), found);
    return go(object);
  },
};
