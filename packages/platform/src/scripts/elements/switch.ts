/** 111: goes where the first condition that is true leads; `transfer` where none is. */
import { type Element, go, itemsOf, transferOf } from '../element.ts';

export const choice: Element = {
  oType: 111,
  name: 'switch',
  keys: {
    cases: {
      kind: 'list',
      required: true,
      maxItems: 200,
      items: { cond: { kind: 'expression', required: true }, transfer: { kind: 'transfer', required: true } },
    },
  },
  run: async (context, object) => {
    const cases = itemsOf(object.cases);
    const values = await context.evaluateAll(
      cases.map(({ cond }) => ({ source: String(cond) })),
      { untilTrue: true },
    );
    // Nothing is evaluated after the first that is true, so it is the last there is.
    const isHit = values.length > 0 && Boolean(values.at(-1));
    return isHit ? { kind: 'go', to: transferOf(cases[values.length - 1]!) } : go(object);
  },
};
