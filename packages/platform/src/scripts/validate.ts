/**
 * What a script must be to be saved: unique objects of known types, exactly one start, transfers that exist, keys as
 * their elements want them, variables with proper names and types, expressions that compile. A script without any
 * object is a draft. Whatever is refused names the object.
 */
import { cannotApply, problem } from '../codes.ts';
import { isObject, type Json } from '../rest/json.ts';
import type { Element, ScriptObject } from './element.ts';
import { ScriptFault } from './fault.ts';
import { checkKeys, keysOf, type Source, sourcesOf, transfersOf } from './keys.ts';
import type { Sandbox } from './sandbox.ts';
import { objectsOf, START_TYPE } from './script.ts';
import { fitsType, isVariableName, LOCATIONS, VARIABLE_TYPES } from './variables.ts';

const FIELD = 'scriptdata.objects';
const VARIABLES_FIELD = 'scriptdata.variables';
/** Objects a warning names. */
const MAX_NAMED = 50;

export type ScriptChecks = {
  /** Throws 422 with `oId`; answers a warning, or nothing. `draft`: the whole script. */
  check(draft: Json): string | undefined;
  /** Throws 422 with `oId` when an expression of these objects does not compile. */
  compile(scriptdata: unknown): Promise<void>;
};

type ElementsByType = ReadonlyMap<number, Element>;

export const createScriptChecks = (elements: readonly Element[], sandbox: Sandbox): ScriptChecks => {
  const byType: ElementsByType = new Map(elements.map((element) => [element.oType, element]));
  return {
    check: ({ scriptdata, opts }) => {
      const { objects, variables } = isObject(scriptdata) ? scriptdata : { objects: [], variables: [] };
      checkVariables(variables, isObject(opts) && isObject(opts.variables) ? opts.variables : {});
      const checked = checkObjects(Array.isArray(objects) ? objects : [], byType);
      if (checked.length === 0) return undefined;
      checkStart(checked);
      checkTransfers(checked, byType);
      return warningOf(checked, byType);
    },
    compile: async (scriptdata) => {
      const sources = objectsOf(scriptdata).flatMap((object) => {
        const element = byType.get(object.oType);
        return element ? sourcesOf(object, element) : [];
      });
      await compileAll(sandbox, sources);
    },
  };
};

const refuse = (reason: string, oId: unknown, key?: string): never => {
  const where = typeof oId === 'number' ? `object ${oId}${key === undefined ? '' : `, ${key}`}: ` : '';
  throw cannotApply(FIELD, where + reason, { oId: oId ?? null, ...(key === undefined ? {} : { key }) });
};

const checkObjects = (objects: readonly unknown[], byType: ElementsByType): ScriptObject[] => {
  const seen = new Set<number>();
  for (const object of objects) {
    if (!isObject(object)) return refuse('every object must be an object with oId and oType', null);
    const { oId, oType } = object;
    if (!Number.isSafeInteger(oId) || Number(oId) < 1) refuse('oId must be a whole number from 1', oId ?? null, 'oId');
    if (seen.has(Number(oId))) refuse('oId is used twice', oId, 'oId');
    seen.add(Number(oId));
    const element = byType.get(oType as number);
    if (!element) return refuse(`there is no element of type ${JSON.stringify(oType) ?? 'none'}`, oId, 'oType');
    const fault = checkKeys(object, keysOf(element)) ?? element.check?.(object as ScriptObject);
    if (fault) refuse(fault.reason, oId, fault.key);
  }
  return objects as ScriptObject[];
};

const checkStart = (objects: readonly ScriptObject[]): void => {
  const starts = objects.filter(({ oType }) => oType === START_TYPE);
  if (starts.length === 0) refuse('there is no start', objects[0]?.oId, 'oType');
  if (starts.length > 1) refuse('there is more than one start', starts[1]!.oId, 'oType');
};

const checkTransfers = (objects: readonly ScriptObject[], byType: ElementsByType): void => {
  const known = new Set(objects.map(({ oId }) => oId));
  for (const object of objects) {
    for (const { key, to } of transfersOf(object, byType.get(object.oType)!)) {
      if (to !== 0 && !known.has(to)) refuse(`there is no object ${to}`, object.oId, key);
    }
  }
};

const warningOf = (objects: readonly ScriptObject[], byType: ElementsByType): string | undefined => {
  const byId = new Map(objects.map((object) => [object.oId, object]));
  const reached = new Set(objects.filter(({ oType }) => oType === START_TYPE).map(({ oId }) => oId));
  for (const oId of reached) {
    const object = byId.get(oId)!;
    for (const { to } of transfersOf(object, byType.get(object.oType)!)) if (to !== 0) reached.add(to);
  }
  const lost = objects
    .filter(({ oId, oType }) => !reached.has(oId) && !byType.get(oType)!.isNote)
    .map(({ oId }) => oId);
  if (lost.length === 0) return undefined;
  const more = lost.length > MAX_NAMED ? ` and ${lost.length - MAX_NAMED} more` : '';
  return `unreachable objects: ${lost.slice(0, MAX_NAMED).join(', ')}${more}`;
};

const isOneOf = (value: unknown, numbers: Readonly<Record<string, number>>): boolean =>
  value === undefined || value === null || Object.values(numbers).includes(value as number);

const checkVariables = (variables: unknown, defaults: Json): void => {
  const seen = new Set<unknown>();
  for (const [at, each] of (Array.isArray(variables) ? variables : []).entries()) {
    const variable = isObject(each) ? each : {};
    const { name } = variable;
    const reason = seen.has(name) ? 'name is used twice' : variableFault(variable);
    if (reason !== undefined) {
      throw cannotApply(`${VARIABLES_FIELD}[${at}]`, reason, isVariableName(name) ? { name } : {});
    }
    seen.add(name);
    if (!fitsType(Number(variable.type ?? 0), defaults[String(name)])) {
      throw cannotApply(`opts.variables.${name}`, 'does not fit the type of the variable');
    }
  }
};

const variableFault = ({ name, type, location }: Json): string | undefined => {
  if (!isVariableName(name)) return 'name must be letters, digits and _, at most 64';
  if (!isOneOf(type, VARIABLE_TYPES)) return 'type must be a number from 1 to 6';
  return isOneOf(location, LOCATIONS) ? undefined : 'location must be a number from 1 to 4';
};

const compileAll = async (sandbox: Sandbox, sources: readonly Source[]): Promise<void> => {
  let faults: readonly (string | undefined)[];
  try {
    faults = await sandbox.compile(sources);
  } catch (thrown) {
    if (!(thrown instanceof ScriptFault)) throw thrown;
    if (thrown.reason === 'busy') throw problem('unavailable', { retryAfterSec: 1 });
    throw cannotApply(FIELD, thrown.message);
  }
  for (const [at, fault] of faults.entries()) {
    if (fault === undefined) continue;
    const { oId, key } = sources[at]!;
    refuse(`does not compile: ${fault}`, oId, key);
  }
};
