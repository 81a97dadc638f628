/**
 * 112: goes to `body` once for each item of `list`, with the item in a variable, then to `transfer`. A pass ends where
 * its chain ends (0) or comes back here; whoever goes to the object at `transfer` from within leaves the loop.
 */
import { type Element, transferOf } from '../element.ts';
import { ScriptFault } from '../fault.ts';

export const forEach: Element = {
  oType: 112,
  name: 'for each',
  keys: {
    list: { kind: 'expression', required: true },
    item: { kind: 'variable', required: true },
    body: { kind: 'transfer', required: true },
  },
  run: async (context, object) => {
    const list = await context.evaluate(String(object.list));
    if (!Array.isArray(list)) throw new ScriptFault('element', 'list must be an array');
    const [item, body, transfer] = [String(object.item), transferOf(object, 'body'), transferOf(object)];
    return { kind: 'loop', list, item, body, transfer };
  },
};
