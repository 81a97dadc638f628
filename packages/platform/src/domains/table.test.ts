/** Which kinds leave memory when there are too many rows, and that what is kept of them is never out of date. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Held, IndexedKey } from './collection.ts';
import { createMemoryCap, type MemoryLimits } from './memory-cap.ts';
import { NotLoaded } from './not-loaded.ts';
import { createRowCache } from './row-cache.ts';
import { createTable } from './table.ts';
import type { Kind } from './types.ts';

const LOGIN: IndexedKey = { name: 'login', isUnique: true, valueOf: ({ login }) => String(login) };
const held = (id: string, login = `login-${id}`, version = 1): Held => ({ id, version, entity: { id, login } });

const tablesUnder = (limits: Partial<MemoryLimits>) => {
  const cap = createMemoryCap({ maxRows: 1_000_000, maxBytes: 1_000_000_000, ...limits });
  const gone: Kind[] = [];
  const make = (kind: Kind, isGrowing = true) =>
    createTable({ kind, keys: [LOGIN], isGrowing, cap, onStored: () => gone.push(kind) });
  return { gone, users: make('user'), contacts: make('contact'), roles: make('role', false) };
};

describe('the cap of memory', () => {
  it('sends the largest kind that may go, and only as many as it must', () => {
    const { gone, users, contacts, roles } = tablesUnder({ maxRows: 10 });
    for (let at = 0; at < 4; at++) roles.put(held(`r${at}`));
    for (let at = 0; at < 2; at++) users.put(held(`u${at}`));
    for (let at = 0; at < 4; at++) contacts.put(held(`c${at}`));
    assert.deepEqual(gone, []);
    users.remove('u0');
    users.put(held('u0'));
    users.put(held('u0', 'other', 2));
    assert.deepEqual(gone, []);
    users.put(held('u2'));
    assert.deepEqual(gone, ['contact']);
    for (let at = 0; at < 9; at++) roles.put(held(`more-${at}`));
    assert.deepEqual(gone, ['contact', 'user']);
    assert.equal(roles.size, 13);
    assert.throws(() => users.get('u0'), NotLoaded);
    assert.throws(() => users.size, NotLoaded);
  });

  it('counts bytes as well as rows', () => {
    const { gone, users } = tablesUnder({ maxBytes: 100_000 });
    for (let at = 0; at < 64 && gone.length === 0; at++) users.put(held(`u${at}`, 'x'.repeat(2000)));
    assert.deepEqual(gone, ['user']);
  });
});

describe('the rows used last', () => {
  it('are found by id and key until others were used since', () => {
    const cache = createRowCache([LOGIN], () => 2);
    cache.put(held('a'));
    cache.put(held('b'));
    assert.equal(cache.find('login', 'login-a'), 'a');
    cache.get('a');
    cache.put(held('c'));
    assert.deepEqual(
      [cache.peek('a')?.id, cache.peek('b'), cache.find('login', 'login-b')],
      ['a', undefined, undefined],
    );
    cache.put(held('a', 'renamed', 2));
    assert.deepEqual([cache.find('login', 'login-a'), cache.find('login', 'renamed')], [undefined, 'a']);
  });

  it('do not take in what was read before it changed', () => {
    const cache = createRowCache([LOGIN], () => 8);
    const [first, second, third] = ['a', 'a', 'b'].map((id) => cache.startReading(id));
    cache.endReading(first!, held('a'));
    assert.equal(cache.peek('a')?.version, 1);
    cache.put(held('a', 'new', 2));
    cache.endReading(second!, held('a'));
    assert.equal(cache.peek('a')?.version, 2);
    cache.remove('b');
    cache.endReading(third!, held('b'));
    assert.equal(cache.peek('b'), undefined);
  });
});
