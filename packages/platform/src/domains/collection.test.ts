import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { createCollection } from './collection.ts';
import type { Entity } from './types.ts';

const byName = {
  name: 'name',
  compare: (left: Entity, right: Entity) =>
    String(left.name).localeCompare(String(right.name)) || String(left.id).localeCompare(String(right.id)),
};

describe('a collection', () => {
  it('keeps keys and sorted lists true through any changes', () => {
    const step = fc.record({
      id: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
      name: fc.option(fc.constantFrom('x', 'y', 'z'), { nil: undefined }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const collection = createCollection([
          { name: 'name', isUnique: false, valueOf: ({ name }) => (typeof name === 'string' ? name : undefined) },
        ]);
        const model = new Map<string, string>();
        for (const [at, { id, name }] of steps.entries()) {
          if (name === undefined) {
            collection.remove(id);
            model.delete(id);
          } else {
            collection.put({ id, version: at, entity: { id, name } });
            model.set(id, name);
          }
          const expected = [...model]
            .sort(([a, x], [b, y]) => x.localeCompare(y) || a.localeCompare(b))
            .map(([key]) => key);
          assert.deepEqual(
            collection.sorted(byName).map(({ id: key }) => key),
            expected,
          );
          for (const value of ['x', 'y', 'z']) {
            assert.deepEqual(
              [...collection.find('name', value)].sort(),
              [...model]
                .filter(([, held]) => held === value)
                .map(([key]) => key)
                .sort(),
            );
          }
          assert.equal(collection.size, model.size);
        }
      }),
    );
  });
});
