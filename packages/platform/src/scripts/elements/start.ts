/** 101: where a run begins. `inputs` names what it takes: a text each, or `{name, required}`. */
import { type Element, go } from '../element.ts';

export const start: Element = {
  oType: 101,
  name: 'start',
  keys: { inputs: { kind: 'inputs', description: 'Names of variables that may come from outside.' } },
  run: (_context, object) => go(object),
};
