import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createState, type NodeState, toRecord } from './node-state.ts';

it('a node is active while it serves, answers and is not on its way out', () => {
  const spec = { name: 'speech_1', role: 'speech', kind: 'speech', index: 1 } as NodeState['spec'];
  const isActive = (facts: Partial<NodeState>): boolean =>
    toRecord({ ...createState(spec, 'warn'), status: 'active', ...facts }).isActive;
  assert.deepEqual([isActive({}), isActive({ missed: 1 })], [true, true]);
  assert.deepEqual([isActive({ missed: 2 }), isActive({ missed: 3 })], [false, false]);
  assert.deepEqual([isActive({ leaving: 'again' }), isActive({ status: 'restarting' })], [false, false]);
  assert.equal(toRecord(createState(spec, undefined)).status, 'starting');
});
