import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Problem } from '@parley/kit/problem.ts';
import { parseListQuery, type RawQuery } from './query.ts';
import { createPatternCache } from './regex.ts';

const parse = (query: RawQuery) =>
  parseListQuery(query, {
    resolve: (name) => ({ path: [name], compares: 'text' }),
    fieldOf: (name) => name,
    idField: 'id',
    limits: { defaultLimit: 1000, maxLimit: 10_000 },
    patterns: createPatternCache(),
  });
const isBad = (thrown: unknown): boolean => thrown instanceof Problem && thrown.status === 400;

describe('the parameters of a list', () => {
  it('lower a limit that is too high, and say so; the highest is none that is lowered', () => {
    const limitOf = (query: RawQuery) => {
      const { limit, isClamped, isCount } = parse(query);
      return [limit, isClamped, isCount];
    };
    assert.deepEqual(limitOf({}), [1000, false, false]);
    assert.deepEqual(limitOf({ limit: '10000' }), [10_000, false, false]);
    assert.deepEqual(limitOf({ limit: '10001' }), [10_000, true, false]);
    assert.deepEqual(limitOf({ limit: '0' }), [0, false, true]);
    for (const limit of ['-1', '1.5', 'x', '1e3', '99999999999999999999']) assert.throws(() => parse({ limit }), isBad);
  });

  it('take a filter of 8 KiB', () => {
    const filterOf = (bytes: number) => `{"a":"${'x'.repeat(bytes - '{"a":""}'.length)}"}`;
    assert.equal(parse({ filter: filterOf(8192) }).filter.test({ a: 'y' }), false);
    assert.throws(() => parse({ filter: filterOf(8193) }), isBad);
    assert.throws(() => parse({ filter: `{"a":"${'ä'.repeat(4093)}"}` }), isBad, 'bytes, not signs');
  });

  it('negate all of what stands under $not together', () => {
    const { filter } = parse({ filter: '{"$not":[{"a":"1"},{"b":"2"}]}' });
    const prefix = parse({ filter: '["not",["=","a","1"],["=","b","2"]]' }).filter;
    for (const { test } of [filter, prefix]) {
      assert.deepEqual(
        [{ a: '1', b: '2' }, { a: '1', b: '3' }, { a: '0', b: '2' }, {}].map((document) => test(document)),
        [false, true, true, true],
      );
    }
  });
});
