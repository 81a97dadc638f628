/** The variables of one script in a run: declared with a type and a location, or made by writing them. Kept as JSON text. */
import { isObject, type Json } from '../rest/json.ts';
import { ScriptFault } from './fault.ts';
import { MAX_VARIABLES_BYTES } from './limits.ts';

/** Wire numbers of `scriptdata.variables[].type`. */
export const VARIABLE_TYPES = { string: 1, number: 2, bool: 3, object: 4, array: 5, datetime: 6 } as const;
/** Wire numbers of `scriptdata.variables[].location`. */
export const LOCATIONS = { local: 1, input: 2, output: 3, session: 4 } as const;

export type Variable = { readonly name: string; readonly type: number; readonly location: number };

const NAME = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;
const FORBIDDEN: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);
const IDENTIFIER = /[A-Za-z_][A-Za-z0-9_]*/g;

/** One to 64 letters, digits and underscores, no digit first. */
export const isVariableName = (name: unknown): name is string =>
  typeof name === 'string' && NAME.test(name) && !FORBIDDEN.has(name);

/** Bytes that a run still has for its variables; one budget for all scripts it calls. */
export type Budget = { used: number };

export type Variables = {
  get(name: string): unknown;
  set(name: string, value: unknown): void;
  /** The same with the value as JSON text, which is parsed only where it has to be converted. */
  setText(name: string, text: string): void;
  /** The same, but null where the value does not fit: what a person entered is not the script's fault. */
  offer(name: string, value: unknown): void;
  /** JSON text of an object with those variables the source may mean. */
  scopeFor(source: string): string;
  /** Values of the declared variables of a location. */
  at(location: number): Json;
  /** Names written since this was last asked. */
  takeChanged(): string[];
  /** Gives the bytes back when the script ends. */
  release(): void;
};

/** Variables with their defaults; null where there is none. */
export const createVariables = (declared: readonly Variable[], defaults: Json, budget: Budget): Variables => {
  const types = new Map(declared.map(({ name, type }) => [name, type]));
  const texts = new Map<string, string>();
  let changed = new Set<string>();

  const put = (name: string, text: string): void => {
    const before = texts.get(name);
    const growth = Buffer.byteLength(text) - (before === undefined ? -name.length : Buffer.byteLength(before));
    if (budget.used + growth > MAX_VARIABLES_BYTES) {
      throw new ScriptFault('size', `variables take more than ${MAX_VARIABLES_BYTES} bytes at ${name}`);
    }
    budget.used += growth;
    texts.set(name, text);
    changed.add(name);
  };
  const set = (name: string, value: unknown): void => {
    if (!isVariableName(name)) throw new ScriptFault('variable', `${String(name).slice(0, 64)} is no name`);
    const type = types.get(name);
    const fitting = type === undefined ? value : convert(type, value);
    if (fitting === undefined && value !== undefined) {
      throw new ScriptFault('variable', `${name} cannot take this value as ${typeName(type)}`);
    }
    put(name, JSON.stringify(fitting) ?? 'null');
  };
  for (const { name } of declared) set(name, Object.hasOwn(defaults, name) ? defaults[name] : null);

  return {
    get: (name) => {
      const text = texts.get(name);
      return text === undefined ? undefined : JSON.parse(text);
    },
    set,
    setText: (name, text) => {
      if (isVariableName(name) && isTextOf(types.get(name), text)) put(name, text);
      else set(name, JSON.parse(text));
    },
    offer: (name, value) => {
      const type = types.get(name);
      set(name, (type === undefined ? value : convert(type, value)) ?? null);
    },
    scopeFor: (source) => {
      const members = new Set(source.match(IDENTIFIER));
      const known = [...members].filter((name) => texts.has(name));
      return `{${known.map((name) => `"${name}":${texts.get(name)}`).join()}}`;
    },
    at: (location) => {
      const values: Json = {};
      for (const variable of declared) {
        if (variable.location === location) values[variable.name] = JSON.parse(texts.get(variable.name)!);
      }
      return values;
    },
    takeChanged: () => {
      const names = [...changed];
      changed = new Set();
      return names;
    },
    release: () => {
      for (const [name, text] of texts) budget.used -= Buffer.byteLength(text) + name.length;
      texts.clear();
    },
  };
};

const FIRST_OF: Readonly<Record<number, RegExp>> = {
  [VARIABLE_TYPES.string]: /^"/,
  [VARIABLE_TYPES.number]: /^[-\d]/,
  [VARIABLE_TYPES.bool]: /^[tf]/,
  [VARIABLE_TYPES.object]: /^\{/,
  [VARIABLE_TYPES.array]: /^\[/,
};

/** True when the JSON text is one of the type as it stands. */
const isTextOf = (type: number | undefined, text: string): boolean =>
  type === undefined || text === 'null' || FIRST_OF[type]?.test(text) === true;

const typeName = (type: number | undefined): string =>
  Object.entries(VARIABLE_TYPES).find(([, number]) => number === type)?.[0] ?? 'a value';

const CONVERTERS: Readonly<Record<number, (value: unknown) => unknown>> = {
  [VARIABLE_TYPES.string]: (value) =>
    typeof value === 'number' || typeof value === 'boolean'
      ? String(value)
      : typeof value === 'string'
        ? value
        : undefined,
  [VARIABLE_TYPES.number]: (value) => {
    const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
    return typeof number === 'number' && Number.isFinite(number) ? number : undefined;
  },
  [VARIABLE_TYPES.bool]: (value) => {
    if (value === true || value === 1 || value === '1' || value === 'true') return true;
    return value === false || value === 0 || value === '0' || value === 'false' ? false : undefined;
  },
  [VARIABLE_TYPES.object]: (value) => (isObject(value) ? value : undefined),
  [VARIABLE_TYPES.array]: (value) => (Array.isArray(value) ? value : undefined),
  [VARIABLE_TYPES.datetime]: (value) => {
    const time = typeof value === 'number' ? value : typeof value === 'string' ? Date.parse(value) : Number.NaN;
    return Number.isNaN(new Date(time).getTime()) ? undefined : new Date(time).toISOString();
  },
};

/** The value as a type, when nothing is lost by it; undefined when it does not fit. null fits everywhere. */
const convert = (type: number, value: unknown): unknown => {
  if (value === null || value === undefined) return value;
  const converter = CONVERTERS[type];
  return converter ? converter(value) : value;
};

/** True when a value can be that of a variable of the type. */
export const fitsType = (type: number, value: unknown): boolean =>
  value === undefined || convert(type, value) !== undefined;
