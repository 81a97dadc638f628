import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createTurns } from './turns.ts';

/** `#` is a frame of speech; gives what was told as `start of FRAME` and `stop of FRAME`. */
const play = (frames: string, silenceFrames = 5): string[] => {
  const turns = createTurns({ silenceFrames });
  return [...frames].flatMap((frame) => {
    const change = turns.push(frame === '#');
    return change ? `${change.kind} ${change.frame}` : [];
  });
};

describe('turns', () => {
  it('begin at their first frame and stop when the silence is long enough', () => {
    assert.deepEqual(play('...######.....'), ['started 3', 'stopped 13']);
    assert.deepEqual(play('######......######.....'), ['started 0', 'stopped 10', 'started 12', 'stopped 22']);
  });

  it('are not begun by a click, nor ended by a short pause', () => {
    assert.deepEqual(play('.###......##..........'), []);
    assert.deepEqual(play('####....####....'), ['started 0']);
  });

  it('bridge small gaps in a beginning', () => {
    assert.deepEqual(play('..#.#...#.#'), ['started 2']);
    assert.deepEqual(play('..#.#....#.#'), []);
  });

  it('can be ended and assumed from outside', () => {
    const turns = createTurns({ silenceFrames: 2 });
    turns.assume();
    assert.equal(turns.push(false), undefined);
    assert.deepEqual(turns.push(false), { kind: 'stopped', frame: 1 });
    turns.assume();
    turns.reset();
    assert.equal(turns.speaking, false);
    for (const frame of [3, 4, 5]) assert.equal(turns.push(true), undefined, `${frame}`);
    assert.deepEqual(turns.push(true), { kind: 'started', frame: 2 });
  });
});
