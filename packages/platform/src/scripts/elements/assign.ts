/** 110: sets variables, one after the other: each expression sees what those before it set. */
import { type Element, go, itemsOf } from '../element.ts';

export const assign: Element = {
  oType: 110,
  name: 'assign',
  keys: {
    assign: {
      kind: 'list',
      required: true,
      maxItems: 200,
      items: { name: { kind: 'variable', required: true }, expr: { kind: 'expression', required: true } },
    },
  },
  run: async (context, object) => {
    const items = itemsOf(object.assign);
    await context.assign(items.map(({ name, expr }) => ({ name: String(name), source: String(expr) })));
    return go(object);
  },
};
