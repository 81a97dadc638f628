/** 101: where a run begins. `inputs` names what it takes: a text each, or `{name, required}`. */
import { isObject } from '../../rest/json.ts';
import { type Element, go, type ScriptObject } from '../element.ts';
import { isVariableName } from '../variables.ts';

const isInput = (input: unknown): boolean => isVariableName(isObject(input) ? input.name : input);

const areInputs = ({ inputs }: ScriptObject): boolean =>
  inputs === undefined || inputs === null || (Array.isArray(inputs) && inputs.every(isInput));

export const start: Element = {
  oType: 101,
  name: 'start',
  keys: {},
  check: (object) =>
    areInputs(object) ? undefined : { key: 'inputs', reason: 'must be names, or objects with a name' },
  run: (_context, object) => go(object),
};
