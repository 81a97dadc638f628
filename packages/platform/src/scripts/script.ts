/** A script as the interpreter walks it, out of the stored entity. */
import type { Domain, Entity } from '../domains/types.ts';
import { isObject, type Json } from '../rest/json.ts';
import type { ScriptObject } from './element.ts';
import { isVariableName, LOCATIONS, type Variable } from './variables.ts';

export type Script = {
  readonly id: string;
  readonly code: string;
  /** How many levels of the run's log are kept: 0 none … 5 all. */
  readonly logLevel: number;
  readonly objects: ReadonlyMap<number, ScriptObject>;
  readonly start: ScriptObject | undefined;
  readonly variables: readonly Variable[];
  readonly defaults: Json;
  /** Names of what may come from outside; `true` where it must. */
  readonly inputs: ReadonlyMap<string, boolean>;
};

export const START_TYPE = 101;
/** Errors, warnings and information. */
const DEFAULT_LOG_LEVEL = 3;

export type Scripts = {
  byCode(domain: Domain, code: string): Script | undefined;
  byId(domain: Domain, id: string): Script | undefined;
};

/** Scripts of domains, parsed once for each version. */
export const createScripts = (): Scripts => {
  const parsed = new WeakMap<Entity, Script>();
  const parse = (entity: Entity | undefined): Script | undefined => {
    if (!entity) return undefined;
    let script = parsed.get(entity);
    if (!script) {
      script = parseScript(entity);
      parsed.set(entity, script);
    }
    return script;
  };
  return {
    byCode: (domain, code) => {
      const [id] = domain.find('svcscript', 'code', code);
      return id === undefined ? undefined : parse(domain.get('svcscript', id));
    },
    byId: (domain, id) => parse(domain.get('svcscript', id)),
  };
};

/** Objects with a number and a type; what is not one is left out. */
export const objectsOf = (scriptdata: unknown): ScriptObject[] => {
  const objects = isObject(scriptdata) ? scriptdata.objects : undefined;
  return (Array.isArray(objects) ? objects : []).filter(isScriptObject);
};

const isScriptObject = (value: unknown): value is ScriptObject =>
  isObject(value) && Number.isSafeInteger(value.oId) && Number.isSafeInteger(value.oType);

const variablesOf = (scriptdata: unknown): Variable[] => {
  const variables = isObject(scriptdata) ? scriptdata.variables : undefined;
  return (Array.isArray(variables) ? variables : [])
    .filter(isObject)
    .flatMap(({ name, type, location }) =>
      isVariableName(name) ? [{ name, type: Number(type ?? 0), location: Number(location ?? LOCATIONS.local) }] : [],
    );
};

/** What the start names, and the variables of that location. */
const inputsOf = (start: ScriptObject | undefined, variables: readonly Variable[]): Map<string, boolean> => {
  const inputs = new Map<string, boolean>();
  for (const { name, location } of variables) if (location === LOCATIONS.input) inputs.set(name, false);
  for (const each of Array.isArray(start?.inputs) ? start.inputs : []) {
    const name = isObject(each) ? each.name : each;
    if (isVariableName(name)) inputs.set(name, isObject(each) && each.required === true);
  }
  return inputs;
};

const parseScript = (entity: Entity): Script => {
  const objects = objectsOf(entity.scriptdata);
  const variables = variablesOf(entity.scriptdata);
  const opts = isObject(entity.opts) ? entity.opts : {};
  const start = objects.find(({ oType }) => oType === START_TYPE);
  return {
    id: String(entity.id),
    code: String(entity.code),
    logLevel: typeof opts.loglevel === 'number' ? opts.loglevel : DEFAULT_LOG_LEVEL,
    objects: new Map(objects.map((object) => [object.oId, object])),
    start,
    variables,
    defaults: isObject(opts.variables) ? opts.variables : {},
    inputs: inputsOf(start, variables),
  };
};
