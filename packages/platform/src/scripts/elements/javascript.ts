/**
 * 190: JavaScript statements; `return` gives an object. `in` says what they see (absent: nothing), `out` are expressions over
 * the members of what they returned. Off unless setting `scripts.code` allows it.
 */
import type { Json } from '../../rest/json.ts';
import { isObject } from '../../rest/json.ts';
import { type Element, go, valuesOf } from '../element.ts';
import { ScriptFault } from '../fault.ts';

export const javascript: Element = {
  oType: 190,
  name: 'code',
  keys: {
    source: { kind: 'source', required: true },
    in: { kind: 'expressions' },
    out: { kind: 'expressions' },
  },
  run: async (context, object) => {
    if (!context.services.allowsCode) throw new ScriptFault('rights', 'code is switched off (setting scripts.code)');
    const result = await context.execute(String(object.source), await valuesOf(context, object.in));
    const out = Object.entries((object.out as Record<string, string> | undefined) ?? {});
    if (out.length === 0) return go(object);
    const scope: Json = isObject(result) ? result : { result };
    const values = await context.evaluateIn(
      scope,
      out.map(([, source]) => source),
    );
    for (const [at, [name]] of out.entries()) context.variables.set(name, values[at]);
    return go(object);
  },
};
