/**
 * The `filter` parameter: JSON in, a test over documents out, with the conditions a database can take beforehand. Two
 * forms: an object of fields (all must hold), and the prefix form `["and", …]`, `["=", "login", "x"]`. Fields resolve
 * only through the collection's schema; nothing of a filter ever becomes SQL text.
 */
import type { Condition } from '@parley/kit/store/store.ts';
import { badRequest } from '../codes.ts';
import { type Budget, type FilterField, spendLeaf } from './filter-budget.ts';
import { getPath, isObject, type Json } from './json.ts';
import { matcherOf } from './match.ts';
import { compareLeaf } from './prefix-leaf.ts';
import type { PatternCache } from './regex.ts';

/** Undefined when the collection has no such field. */
export type ResolveField = (name: string) => FilterField | undefined;

export type Filter = {
  test(document: Json): boolean;
  /** Conditions that every match fulfils; the test still decides. */
  readonly where: readonly Condition[];
  /** True when the conditions say everything the filter says. */
  readonly isComplete: boolean;
};

const MAX_DEPTH = 6;

export const MATCH_ALL: Filter = { test: () => true, where: [], isComplete: true };

/** Compiles a parsed filter. Throws 400 for unknown fields, forms that make no sense, and anything over the limits. */
export const compileFilter = (filter: unknown, resolve: ResolveField, cache: PatternCache): Filter => {
  const budget: Budget = { leaves: 0, patterns: 0, cache };
  return compileNode(filter, resolve, budget, 1);
};

const compileNode = (node: unknown, resolve: ResolveField, budget: Budget, depth: number): Filter => {
  if (depth > MAX_DEPTH) throw badRequest('filter', `must not be nested deeper than ${MAX_DEPTH}`);
  if (Array.isArray(node)) return compilePrefix(node, resolve, budget, depth);
  if (!isObject(node)) throw badRequest('filter', 'must be an object or a prefix list');
  return allOf(
    Object.entries(node).map(([name, condition]) => {
      if (name === '$and' || name === '$or' || name === '$not')
        return compileGroup(name, condition, resolve, budget, depth);
      return compileField(name, condition, resolve, budget, depth);
    }),
  );
};

const compileGroup = (name: string, parts: unknown, resolve: ResolveField, budget: Budget, depth: number): Filter => {
  const nodes = name === '$not' && !isListOfNodes(parts) ? [parts] : parts;
  if (!Array.isArray(nodes)) throw badRequest('filter', `${name} must hold a list`);
  return combine(
    name.slice(1),
    nodes.map((part) => compileNode(part, resolve, budget, depth + 1)),
  );
};

/** `$not` holds one node or a list of them; a prefix list begins with a word. */
const isListOfNodes = (parts: unknown): boolean => Array.isArray(parts) && typeof parts[0] !== 'string';

const compilePrefix = (list: readonly unknown[], resolve: ResolveField, budget: Budget, depth: number): Filter => {
  const [operator, ...rest] = list;
  if (typeof operator !== 'string') throw badRequest('filter', 'a prefix list must begin with an operator');
  const name = operator.toLowerCase();
  if (name === 'and' || name === 'or' || name === 'not') {
    return combine(
      name,
      rest.map((part) => compileNode(part, resolve, budget, depth + 1)),
    );
  }
  spendLeaf(budget);
  const [fieldName, ...values] = rest;
  if (typeof fieldName !== 'string') throw badRequest('filter', `${operator} needs the name of a field`);
  const field = resolveOrRefuse(fieldName, resolve);
  const test = compareLeaf(name, fieldName, field, values, budget);
  return { test: (document) => test(getPath(document, field.path)), where: [], isComplete: false };
};

const compileField = (
  name: string,
  condition: unknown,
  resolve: ResolveField,
  budget: Budget,
  depth: number,
): Filter => {
  const field = resolveOrRefuse(name, resolve);
  if (isObject(condition) && (field.compares === 'object' || field.compares === 'any')) {
    return compileNested(name, condition, resolve, budget, depth + 1);
  }
  const match = matcherOf(field.compares, condition, name, budget);
  const { path } = field;
  const test =
    path.length === 1 ? readOne(path[0]!, match.test) : (document: Json) => match.test(getPath(document, path));
  const where = match.condition ? [{ path: path.join('.'), ...match.condition }] : [];
  return { test, where, isComplete: match.isComplete === true };
};

const readOne =
  (name: string, test: (value: unknown) => boolean) =>
  (document: Json): boolean =>
    test(document[name]);

/** `{"opts": {"title": "x"}}` is `{"opts.title": "x"}`; an empty object asks nothing. */
const compileNested = (prefix: string, inner: Json, resolve: ResolveField, budget: Budget, depth: number): Filter => {
  if (depth > MAX_DEPTH) throw badRequest('filter', `must not be nested deeper than ${MAX_DEPTH}`);
  return allOf(
    Object.entries(inner).map(([name, condition]) =>
      compileField(`${prefix}.${name}`, condition, resolve, budget, depth),
    ),
  );
};

const resolveOrRefuse = (name: string, resolve: ResolveField): FilterField => {
  const field = resolve(name);
  if (!field) throw badRequest('filter', `there is no field ${JSON.stringify(name.slice(0, 100))}`);
  if (field.compares === 'secret') throw badRequest('filter', `${name} is secret`);
  return field;
};

const allOf = (filters: readonly Filter[]): Filter => {
  if (filters.length === 1) return filters[0]!;
  const tests = filters.map((filter) => filter.test);
  return {
    test: (document) => tests.every((test) => test(document)),
    where: filters.flatMap((filter) => filter.where),
    isComplete: filters.every((filter) => filter.isComplete),
  };
};

const combine = (operator: string, filters: readonly Filter[]): Filter => {
  if (operator === 'and') return allOf(filters);
  const tests = filters.map((filter) => filter.test);
  if (operator === 'or') {
    return { test: (document) => tests.some((test) => test(document)), where: [], isComplete: false };
  }
  return { test: (document) => !tests.every((test) => test(document)), where: [], isComplete: false };
};
