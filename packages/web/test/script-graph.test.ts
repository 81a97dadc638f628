import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ElementType } from '../src/platform/scripts/declared.ts';
import {
  heightOf,
  NODE_WIDTH,
  newObject,
  placesOf,
  transfersOf,
  withoutObject,
  withTransfer,
} from '../src/platform/scripts/graph.ts';

const transfer = { kind: 'transfer' } as const;
const START: ElementType = { oType: 101, name: 'start', keys: { transfer }, is_end: false, is_note: false };
const CHOICE: ElementType = {
  oType: 111,
  name: 'switch',
  keys: { transfer, cases: { kind: 'list', items: { cond: { kind: 'expression' }, transfer } } },
  is_end: false,
  is_note: false,
};
const TYPES = new Map([START, CHOICE].map((type) => [type.oType, type]));
const start = { oId: 1, oType: 101, transfer: 2 };
const choice = { oId: 2, oType: 111, cases: [{ cond: 'a', transfer: 3 }, { cond: 'b' }], transfer: 1 };

describe('the graph of a script', () => {
  it('finds, sets and takes away ways on, those within lists too', () => {
    assert.deepEqual(transfersOf(choice, CHOICE.keys), [
      { path: 'transfer', to: 1 },
      { path: 'cases[0].transfer', to: 3 },
      { path: 'cases[1].transfer', to: 0 },
    ]);
    assert.equal((withTransfer(choice, 'cases[1].transfer', 4).cases[1] as { transfer?: number }).transfer, 4);
    assert.deepEqual(withTransfer(choice, 'cases[0].transfer', undefined).cases[0], { cond: 'a' });
    assert.deepEqual(withTransfer(start, 'transfer', undefined), { oId: 1, oType: 101 });
    assert.deepEqual(withoutObject([start, choice], 1, TYPES), [withTransfer(choice, 'transfer', undefined)]);
  });

  it('places what nobody placed beside what somebody did', () => {
    const objects = [
      { ...start, oLeft: 0, oTop: 0 },
      choice,
      { oId: 3, oType: 101 },
      { oId: 4, oType: 111, oLeft: 10, oTop: 100 },
    ];
    const made = newObject(objects, CHOICE, TYPES, 1);
    assert.equal(made.oId, 5);
    const all = [...objects, made];
    const places = placesOf(all, TYPES);
    for (const one of all) {
      for (const other of all) {
        const [a, b] = [places.get(one.oId)!, places.get(other.oId)!];
        const isApart = Math.abs(a.x - b.x) >= NODE_WIDTH || a.y + heightOf(one, TYPES.get(one.oType)) <= b.y;
        const isOver = b.y + heightOf(other, TYPES.get(other.oType)) <= a.y;
        assert.ok(one === other || isApart || isOver, `${one.oId} and ${other.oId}`);
      }
    }
  });
});
