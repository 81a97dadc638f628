/** 113: runs another script of the domain. `in` gives its inputs; `out` are expressions over what it returned. */

import type { Json } from '../../rest/json.ts';
import { type Element, transferOf, valuesOf } from '../element.ts';

export const callScript: Element = {
  oType: 113,
  name: 'call script',
  keys: { code: { kind: 'template', required: true }, in: { kind: 'expressions' }, out: { kind: 'expressions' } },
  run: async (context, object) => ({
    kind: 'call',
    code: await context.renderText(object.code),
    input: await valuesOf(context, object.in),
    out: ((object.out as Json | undefined) ?? {}) as Record<string, string>,
    transfer: transferOf(object),
  }),
};
