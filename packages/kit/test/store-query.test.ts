/** Conditions and order mean the same in SQLite, in PostgreSQL and in a few lines of JavaScript. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Condition, JsonObject, Query, Scalar, Store } from '@parley/kit/store/store.ts';
import { createSqliteDatabase, openPostgresDriver, type TestDatabase } from '@parley/kit/testing/each-store.ts';
import { failOnLeaks } from '@parley/kit/testing/leaks.ts';
import fc from 'fast-check';

type Document = { id: string; data: JsonObject };

const compareText = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));
const compare = (a: Scalar, b: Scalar): number =>
  typeof a === 'string' ? compareText(a, b as string) : Number(a) - Number(b) || Number(a > b) - Number(a < b);

const valueAt = (data: JsonObject, path: string): Scalar | undefined => {
  let value: unknown = data;
  for (const part of path.split('.')) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
    value = Object.hasOwn(value, part) ? (value as JsonObject)[part] : undefined;
  }
  return ['string', 'number', 'boolean'].includes(typeof value) ? (value as Scalar) : undefined;
};

const holds = (data: JsonObject, condition: Condition): boolean => {
  const value = valueAt(data, condition.path);
  if (value === undefined) return false;
  const isSameType = (other: Scalar): boolean => typeof other === typeof value;
  if (condition.op === 'in') return condition.values.some((other) => isSameType(other) && compare(value, other) === 0);
  if (!isSameType(condition.value)) return false;
  const order = compare(value, condition.value);
  if (condition.op === '=') return order === 0;
  if (condition.op.startsWith('<')) return order < 0 || (condition.op === '<=' && order === 0);
  return order > 0 || (condition.op === '>=' && order === 0);
};

const RANKS = { boolean: 1, number: 2, string: 3 } as Record<string, number>;

const compareInOrder = (a: Scalar | undefined, b: Scalar | undefined): number => {
  const ranks = [a, b].map((value) => RANKS[typeof value] ?? 4) as [number, number];
  return ranks[0] - ranks[1] || (a === undefined || b === undefined ? 0 : compare(a, b));
};

const reference = (documents: readonly Document[], query: Query): Document[] => {
  const idSign = query.idDirection === 'desc' ? -1 : 1;
  const { afterId } = query;
  const found = documents
    .filter(({ data }) => (query.where ?? []).every((condition) => holds(data, condition)))
    .filter(({ id }) => afterId === undefined || compareText(id, afterId) * idSign > 0)
    .sort((a, b) => {
      for (const { path, direction } of query.order ?? []) {
        const order = compareInOrder(valueAt(a.data, path), valueAt(b.data, path));
        if (order !== 0) return direction === 'desc' ? -order : order;
      }
      return compareText(a.id, b.id) * idSign;
    });
  const offset = query.offset ?? 0;
  return found.slice(offset, query.limit === undefined ? undefined : offset + query.limit);
};

const text = fc.oneof(
  fc.constantFrom('', 'a', 'B', 'ä', '\uffee', '😀', '1', 'true', "'", '"', '\\', '%', 'null', 'é', 'e\u0301'),
  fc.string({ unit: 'binary', maxLength: 6 }).filter((each) => !each.includes('\0')),
);
const number = fc.oneof(
  fc.constantFrom(0, 1, -1, 0.1, 0.1 + 0.2, 2 ** 53, 2 ** 53 + 2, 2 ** 62, -(2 ** 63), 2 ** 64, 1e21, 1e308, 5e-324),
  fc.integer({ min: -3, max: 3 }),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
);
const scalar: fc.Arbitrary<Scalar> = fc.oneof(text, number, fc.boolean());
const leaf = fc.oneof(
  { weight: 6, arbitrary: scalar as fc.Arbitrary<unknown> },
  fc.constant(null),
  fc.array(scalar, { maxLength: 2 }),
);
const member = fc.oneof({ weight: 4, arbitrary: leaf }, fc.record({ b: leaf, 'k-1': leaf }, { requiredKeys: [] }));
const data = fc.record({ a: member, b: member, _c: leaf }, { requiredKeys: [] }) as fc.Arbitrary<JsonObject>;
const id = fc.oneof(
  fc.constantFrom('a', 'B', 'é', '😀', '\uffee'),
  text.filter((each) => each !== ''),
);
const documents = fc.uniqueArray(fc.record({ id, data }), { maxLength: 14, selector: (each) => each.id });
const path = fc.constantFrom('a', 'b', '_c', 'a.b', 'b.k-1', 'a.b.c', 'none');
const condition: fc.Arbitrary<Condition> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      path,
      op: fc.constantFrom('=', '<', '<=', '>', '>='),
      value: scalar,
    }) as fc.Arbitrary<Condition>,
  },
  fc.record({ path, op: fc.constant('in' as const), values: fc.array(scalar, { maxLength: 4 }) }),
);
const direction = fc.constantFrom('asc' as const, 'desc' as const);
const paging = { limit: fc.nat({ max: 8 }), offset: fc.nat({ max: 4 }), idDirection: direction };
const where = fc.array(condition, { maxLength: 2 });
const query = fc.oneof(
  fc.record(
    { where, order: fc.array(fc.record({ path, direction }), { maxLength: 2 }), ...paging },
    { requiredKeys: [] },
  ),
  fc.record({ where, afterId: id, ...paging }, { requiredKeys: [] }),
) as fc.Arbitrary<Query>;

/** Values that occur make conditions that hold. */
const withOwnValues = (docs: readonly Document[]): Condition[] =>
  docs.slice(0, 3).flatMap(({ data: own }) =>
    ['a', 'b', 'a.b'].flatMap((at) => {
      const value = valueAt(own, at);
      return value === undefined ? [] : (['=', '<=', '>'] as const).map((op) => ({ path: at, op, value }));
    }),
  );

failOnLeaks();

describe('conditions and order', () => {
  const resources = new AsyncDisposableStack();
  const stores: Store[] = [];

  before(async () => {
    const driver = resources.use(await openPostgresDriver());
    const databases: TestDatabase[] = [await createSqliteDatabase(), await driver.createDatabase()];
    for (const database of databases) stores.push(await resources.use(database).open());
  });

  after(() => resources.disposeAsync());

  it('finds the same rows in the same order everywhere', async () => {
    let run = 0;
    const property = fc.asyncProperty(
      documents,
      fc.array(query, { minLength: 1, maxLength: 6 }),
      async (docs, queries) => {
        run += 1;
        const kind = `k${run}`;
        const plain = JSON.parse(JSON.stringify(docs)) as Document[];
        const puts = docs.map((each) => ({ op: 'put' as const, kind, id: each.id, data: each.data }));
        const all = [...queries, ...withOwnValues(plain).map((each) => ({ where: [each] }))];
        for (const store of stores) {
          await store.commit('d', puts);
          const answers = await Promise.all(all.map((each) => store.query('d', kind, each)));
          const counts = await Promise.all(all.map((each) => store.count('d', kind, each.where)));
          for (const [index, each] of all.entries()) {
            const rows = answers[index]!.map((row) => ({ id: row.id, data: row.data }));
            assert.deepEqual(rows, reference(plain, each), `${store.driver} ${JSON.stringify(each)}`);
            assert.equal(counts[index], reference(plain, each.where ? { where: each.where } : {}).length, store.driver);
          }
        }
      },
    );
    await fc.assert(property, { numRuns: 120 });
  });
});
