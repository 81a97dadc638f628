import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Comparison } from './field.ts';
import { compileFilter } from './filter.ts';
import { createPatternCache } from './regex.ts';

const FIELDS: Readonly<Record<string, Comparison>> = {
  s: 'text',
  n: 'number',
  b: 'boolean',
  u: 'uuid',
  at: 'date',
  t: 'time',
  list: 'list',
  opts: 'object',
  pwd: 'secret',
};
const resolve = (name: string) => {
  const [head = '', ...rest] = name.split('.');
  const compares = FIELDS[head];
  if (!compares) return undefined;
  return rest.length === 0 ? { path: [head], compares } : { path: [head, ...rest], compares: 'any' as const };
};
const cache = createPatternCache();
const matches = (filter: unknown, document: Record<string, unknown>): boolean =>
  compileFilter(filter, resolve, cache).test(document);

/** filter | documents that match | documents that do not */
const TABLE: readonly [filter: unknown, yes: readonly object[], no: readonly object[]][] = [
  [{}, [{}, { s: 'x' }], []],
  [{ s: 'ab' }, [{ s: 'ab' }], [{ s: 'AB' }, { s: 'abc' }, {}]],
  [{ s: 'a%' }, [{ s: 'a' }, { s: 'abc' }], [{ s: 'ba' }]],
  [{ s: '%b%d' }, [{ s: 'abcd' }, { s: 'bd' }], [{ s: 'dbc' }]],
  [{ s: 'a|b' }, [{ s: 'a' }, { s: 'b' }], [{ s: 'a|b' }]],
  [{ s: 'a\\|b' }, [{ s: 'a' }, { s: 'b' }], [{ s: 'a|b' }]],
  [{ s: '100\\%' }, [{ s: '100%' }], [{ s: '1000' }]],
  [{ s: 'a\\\\b' }, [{ s: 'a\\b' }], [{ s: 'ab' }]],
  [{ s: '|x' }, [{ s: '' }, {}, { s: 'x' }], [{ s: 'y' }]],
  [{ s: '/reg/^a.c$' }, [{ s: 'abc' }], [{ s: 'ABC' }, { s: 'xabc' }]],
  [{ s: '/reg/i/B' }, [{ s: 'abc' }], [{ s: 'ac' }]],
  [{ s: ['/reg/x', 'a%'] }, [{ s: '/reg/x' }, { s: 'a%' }], [{ s: 'ab' }]],
  [{ s: null }, [{}, { s: '' }, { s: null }], [{ s: 'x' }]],
  [{ n: 5 }, [{ n: 5 }], [{ n: 6 }, {}]],
  [{ n: '5' }, [{ n: 5 }], [{ n: 50 }]],
  [{ n: '1~3' }, [{ n: 1 }, { n: 3 }], [{ n: 3.5 }, { n: 0 }]],
  [{ n: '1~3;7;9~' }, [{ n: 2 }, { n: 7 }, { n: 100 }], [{ n: 8 }]],
  [{ n: '~0' }, [{ n: -5 }], [{ n: 1 }]],
  [{ n: '5~1' }, [], [{ n: 3 }]],
  [{ n: [1, '2'] }, [{ n: 1 }, { n: 2 }], [{ n: 3 }]],
  [{ b: 'TRUE' }, [{ b: true }], [{ b: false }, {}]],
  [{ b: 0 }, [{ b: false }, {}], [{ b: true }]],
  [{ u: 'AB' }, [{ u: 'ab' }], [{ u: 'abc' }]],
  [
    { at: '2026-01-05' },
    [{ at: '2026-01-05T23:59:59.999999Z' }, { at: '2026-01-05' }],
    [{ at: '2026-01-06T00:00:00.000000Z' }],
  ],
  [
    { at: '2026-01-05T12:00:00+02:00~' },
    [{ at: '2026-01-05T10:00:00.000000Z' }],
    [{ at: '2026-01-05T09:59:59.999999Z' }],
  ],
  [{ t: '08:00~09:30' }, [{ t: '09:30:00' }], [{ t: '09:30:01' }]],
  [{ list: 'a' }, [{ list: ['a', 'b'] }], [{ list: ['b'] }, {}]],
  [{ list: ['a', 'b%'] }, [{ list: ['bc', 'a'] }], [{ list: ['a'] }]],
  [{ list: [] }, [{ list: [] }, {}, { list: ['x'] }], []],
  [{ list: { url: '/x%' } }, [{ list: [{ url: '/xy' }] }], [{ list: [{ url: '/y' }] }]],
  [{ opts: { a: 'x', b: { c: '1~2' } } }, [{ opts: { a: 'x', b: { c: 2 } } }], [{ opts: { a: 'x' } }]],
  [{ 'opts.a': true }, [{ opts: { a: true } }], [{ opts: {} }]],
  [{ s: 'a', n: 1 }, [{ s: 'a', n: 1 }], [{ s: 'a', n: 2 }]],
  [{ $or: [{ s: 'a' }, { n: 1 }] }, [{ s: 'a' }, { n: 1 }], [{ s: 'b', n: 2 }]],
  [{ $not: { s: 'a' } }, [{ s: 'b' }, {}], [{ s: 'a' }]],
  [['and', ['=', 's', 'a%'], ['>', 'n', 1]], [{ s: 'a%', n: 2 }], [{ s: 'ab', n: 2 }]],
  [['or', ['isnull', 's'], ['in', 'n', [1, 2]]], [{}, { s: 'x', n: 2 }], [{ s: 'x', n: 3 }]],
  [['not', ['like', 's', 'a%']], [{ s: 'b' }], [{ s: 'ab' }]],
  [['contains', 'list', 'a'], [{ list: ['a'] }], [{ list: ['ab'] }]],
  [['contains', 's', 'b'], [{ s: 'abc' }], [{ s: 'ac' }]],
  [['regex', 's', '^A', 'i'], [{ s: 'ab' }], [{ s: 'ba' }]],
  [['<', 's', 'b'], [{ s: 'a' }], [{ s: 'b' }, {}]],
  [['>=', 'at', '2026-01-05'], [{ at: '2026-01-05T00:00:00.000000Z' }], [{ at: '2026-01-04T23:59:59.999999Z' }]],
];

describe('a filter', () => {
  for (const [filter, yes, no] of TABLE) {
    it(`${JSON.stringify(filter)} finds what it says`, () => {
      for (const document of yes)
        assert.equal(matches(filter, document as Record<string, unknown>), true, JSON.stringify(document));
      for (const document of no)
        assert.equal(matches(filter, document as Record<string, unknown>), false, JSON.stringify(document));
    });
  }

  it('hands a database only what every match fulfils', () => {
    const { where, isComplete } = compileFilter({ s: 'a', n: '1~', list: 'x' }, resolve, cache);
    assert.deepEqual(where, [
      { path: 's', op: '=', value: 'a' },
      { path: 'n', op: '>=', value: 1 },
    ]);
    assert.equal(isComplete, false);
    assert.equal(compileFilter({ s: ['a', 'b'] }, resolve, cache).isComplete, true);
    assert.deepEqual(compileFilter({ s: '' }, resolve, cache).where, [], 'absent text counts as empty');
    assert.deepEqual(compileFilter({ $or: [{ s: 'a' }] }, resolve, cache).where, []);
  });

  it('is refused for secrets, unknown fields and forms that make no sense', () => {
    for (const bad of [
      { pwd: 'x' },
      { nope: 1 },
      'x',
      [],
      ['and', 'x'],
      { s: {} },
      { n: 'x' },
      { b: 'maybe' },
      { at: 'x' },
      ['=', 's'],
      ['<', 'list', []],
    ]) {
      assert.throws(() => compileFilter(bad, resolve, cache), { status: 400 }, JSON.stringify(bad));
    }
  });
});
