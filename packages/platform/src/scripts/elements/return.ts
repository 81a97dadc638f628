/** 102: ends the script with values: `result` gives each a name, output variables come along. */
import { type Element, valuesOf } from '../element.ts';

export const returnValues: Element = {
  oType: 102,
  name: 'return',
  keys: { result: { kind: 'expressions' }, status: { kind: 'template' } },
  isEnd: true,
  run: async (context, object) => {
    const values = await valuesOf(context, object.result);
    const status = await context.render(object.status);
    return { kind: 'return', values, ...(status === undefined ? {} : { status }) };
  },
};
