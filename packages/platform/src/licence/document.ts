/**
 * What a licence says: the fields of the wire, its life, and its smart conditions, which are plain data: when all of
 * `when` holds, `set` changes fields. Everything is checked when a licence is issued and again when it is installed.
 */
import { isObject, type Json } from '../rest/json.ts';
import { toInstant } from '../rest/ranges.ts';

/** The licence as the wire shows it. */
export type Terms = {
  readonly products: string;
  readonly topleveldnpolicy: number;
  /** Limits by item; an item without one is not limited. */
  readonly dql: Readonly<Record<string, number>>;
  readonly sqf: Readonly<Record<string, boolean>>;
};

export type Condition = {
  /** All must hold; times are UTC with six digits of the second. */
  readonly when: {
    readonly before?: string;
    readonly after?: string;
    readonly count?: { readonly item: string; readonly over: number };
  };
  /** `products`, `topleveldnpolicy`, `dql.<item>` and `sqf.<name>` to their new values. */
  readonly set: Readonly<Record<string, unknown>>;
};

export type Licence = Terms & {
  readonly conditions: readonly Condition[];
  readonly issuer: string;
  readonly number: string;
  /** Unix seconds. */
  readonly issuedAt: number;
  readonly notBefore: number | undefined;
  readonly expiresAt: number | undefined;
};

const MAX_TEXT = 4096;
const MAX_ITEMS = 100;
const MAX_CONDITIONS = 50;
const ITEM = /^[a-z][a-z0-9_]{0,63}$/;

/** Why a document is no licence; the field at fault stands first. */
export class MalformedLicence extends Error {
  override name = 'MalformedLicence';
}

const malformed = (field: string, reason: string): MalformedLicence => new MalformedLicence(`${field}: ${reason}`);

const readText = (value: unknown, field: string): string => {
  if (typeof value !== 'string' || value.length > MAX_TEXT) throw malformed(field, 'must be text');
  return value;
};

const readCount = (value: unknown, field: string): number => {
  if (!Number.isSafeInteger(value) || (value as number) < 0) throw malformed(field, 'must be a whole number from 0');
  return value as number;
};

const readInteger = (value: unknown, field: string): number => {
  if (!Number.isSafeInteger(value)) throw malformed(field, 'must be a whole number');
  return value as number;
};

const readSwitch = (value: unknown, field: string): boolean => {
  if (typeof value !== 'boolean') throw malformed(field, 'must be true or false');
  return value;
};

const readItems = <T>(value: unknown, field: string, read: (value: unknown, field: string) => T): Record<string, T> => {
  if (!isObject(value)) throw malformed(field, 'must be an object');
  const entries = Object.entries(value);
  if (entries.length > MAX_ITEMS) throw malformed(field, `must hold at most ${MAX_ITEMS} items`);
  return Object.fromEntries(
    entries.map(([item, inner]) => {
      if (!ITEM.test(item)) throw malformed(field, 'holds a name that is none');
      return [item, read(inner, `${field}.${item}`)];
    }),
  );
};

const readTime = (value: unknown, field: string): string => {
  const at = typeof value === 'string' ? toInstant(value) : undefined;
  if (at === undefined) throw malformed(field, 'must be a time such as 2030-12-31T00:00:00Z');
  return at;
};

const readWhen = (when: unknown, field: string): Condition['when'] => {
  if (!isObject(when)) throw malformed(field, 'must be an object');
  for (const name of Object.keys(when)) {
    if (!['before', 'after', 'count'].includes(name)) throw malformed(`${field}.${name}`, 'is not known');
  }
  const { before, after, count } = when;
  if (count !== undefined && !isObject(count)) throw malformed(`${field}.count`, 'must be an object');
  return {
    ...(before === undefined ? {} : { before: readTime(before, `${field}.before`) }),
    ...(after === undefined ? {} : { after: readTime(after, `${field}.after`) }),
    ...(count === undefined
      ? {}
      : {
          count: {
            item: readText(count.item, `${field}.count.item`),
            over: readCount(count.over, `${field}.count.over`),
          },
        }),
  };
};

const readSet = (set: unknown, field: string): Condition['set'] => {
  if (!isObject(set)) throw malformed(field, 'must be an object');
  const entries = Object.entries(set);
  if (entries.length > MAX_ITEMS) throw malformed(field, `must hold at most ${MAX_ITEMS} items`);
  for (const [path, value] of entries) {
    const [root = '', item, ...rest] = path.split('.');
    const at = `${field}.${path}`;
    if (path === 'products') readText(value, at);
    else if (path === 'topleveldnpolicy') readInteger(value, at);
    else if (item === undefined || rest.length > 0 || !ITEM.test(item)) throw malformed(at, 'names no field');
    else if (root === 'dql') readCount(value, at);
    else if (root === 'sqf') readSwitch(value, at);
    else throw malformed(at, 'names no field');
  }
  return set;
};

const readConditions = (value: unknown): Condition[] => {
  if (value === undefined) return [];
  if (!Array.isArray(value) || value.length > MAX_CONDITIONS) {
    throw malformed('conditions', `must be a list of at most ${MAX_CONDITIONS}`);
  }
  return value.map((each: unknown, at) => {
    if (!isObject(each)) throw malformed(`conditions[${at}]`, 'must be an object');
    return { when: readWhen(each.when, `conditions[${at}].when`), set: readSet(each.set, `conditions[${at}].set`) };
  });
};

const readSeconds = (value: unknown, field: string): number | undefined =>
  value === undefined ? undefined : readCount(value, field);

/** The claims of a licence, checked. Throws MalformedLicence. */
export const readLicence = (claims: unknown): Licence => {
  if (!isObject(claims)) throw malformed('claims', 'must be an object');
  const { products, topleveldnpolicy, dql, sqf, conditions, iss, jti, iat, nbf, exp } = claims;
  return {
    products: readText(products ?? '', 'products'),
    topleveldnpolicy: readInteger(topleveldnpolicy ?? 0, 'topleveldnpolicy'),
    dql: readItems(dql ?? {}, 'dql', readCount),
    sqf: readItems(sqf ?? {}, 'sqf', readSwitch),
    conditions: readConditions(conditions),
    issuer: readText(iss ?? '', 'iss'),
    number: readText(jti, 'jti'),
    issuedAt: readCount(iat, 'iat'),
    notBefore: readSeconds(nbf, 'nbf'),
    expiresAt: readSeconds(exp, 'exp'),
  };
};

export type Counts = Readonly<Record<string, number>>;

const holds = ({ before, after, count }: Condition['when'], now: string, counts: Counts): boolean =>
  (before === undefined || now < before) &&
  (after === undefined || now >= after) &&
  (count === undefined || (counts[count.item] ?? 0) > count.over);

/** The terms after the smart conditions, in their order. `now`: UTC with six digits of the second. */
export const termsAt = (licence: Licence, now: string, counts: Counts): Terms => {
  const terms: Json & { dql: Record<string, number>; sqf: Record<string, boolean> } = {
    products: licence.products,
    topleveldnpolicy: licence.topleveldnpolicy,
    dql: { ...licence.dql },
    sqf: { ...licence.sqf },
  };
  for (const { when, set } of licence.conditions) {
    if (!holds(when, now, counts)) continue;
    for (const [path, value] of Object.entries(set)) {
      const [root = '', item] = path.split('.');
      if (item === undefined) terms[root] = value;
      else (terms[root] as Json)[item] = value;
    }
  }
  return terms as unknown as Terms;
};
