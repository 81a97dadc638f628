import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type CutOptions, createCutter, type Span } from './cut.ts';

const SHERPA: CutOptions = {
  frameSec: 0.03,
  maxSec: 20,
  pauseSec: 0.3,
  padSec: 0.2,
  minSilenceSec: 0.3,
  minSpeechSec: 0.24,
};
const POCKETSPHINX: CutOptions = { ...SHERPA, maxSec: 60, pauseSec: 1 };

/** Runs [seconds, speech, level?] stretches through a cutter. */
const cut = (options: CutOptions, stretches: readonly (readonly [number, boolean, number?])[]) => {
  const cutter = createCutter(options);
  const pieces: Span[] = [];
  for (const [seconds, speech, level = speech ? 1000 : 1] of stretches)
    for (let i = 0; i < Math.round(seconds / options.frameSec); i++) {
      pieces.push(...cutter.push(speech, level));
      for (const piece of pieces.slice(-1)) assert.ok(piece.start >= 0);
    }
  pieces.push(...cutter.flush());
  const toSec = (span: Span) =>
    [span.start * options.frameSec, span.end * options.frameSec].map((s) => Number(s.toFixed(2)));
  return { pieces: pieces.map(toSec), speech: cutter.speech.map(toSec) };
};

const check = (pieces: readonly (readonly number[])[], maxSec: number): void => {
  for (const [i, [start, end]] of pieces.entries()) {
    assert.ok(end! > start!, 'a piece has a length');
    assert.ok(end! - start! <= maxSec + 1e-9, `no longer than ${maxSec}: ${end! - start!}`);
    if (i > 0) assert.ok(start! >= pieces[i - 1]![1]! - 1e-9, 'pieces do not overlap');
  }
};

describe('createCutter', () => {
  it('gives nothing for silence', () => {
    assert.deepEqual(cut(SHERPA, [[10, false]]), { pieces: [], speech: [] });
  });

  it('pads speech on both sides and keeps within the recording', () => {
    const { pieces, speech } = cut(SHERPA, [
      [0.09, false],
      [1.2, true],
      [0.06, false],
    ]);
    assert.deepEqual(speech, [[0.09, 1.29]]);
    assert.deepEqual(pieces, [[0, 1.35]]);
  });

  it('leaves out a click', () => {
    assert.deepEqual(
      cut(SHERPA, [
        [1, false],
        [0.09, true],
        [1, false],
      ]).pieces,
      [],
    );
  });

  it('bridges short pauses and ends a piece in a long one', () => {
    const { pieces, speech } = cut(SHERPA, [
      [0.6, true],
      [0.39, false],
      [0.6, true],
      [1.5, false],
      [0.6, true],
      [0.3, false],
    ]);
    assert.equal(speech.length, 3);
    assert.equal(pieces.length, 2);
    check(pieces, 20);
  });

  it('ends a piece at the first good pause once it is long enough', () => {
    const { pieces } = cut(SHERPA, [
      [6, true],
      [0.36, false],
      [3, true],
    ]);
    assert.equal(pieces.length, 2);
    assert.ok(pieces[0]![1]! <= 6.36 && pieces[1]![0]! >= pieces[0]![1]!);
  });

  it('never gives more than the limit, and cuts where it is quietest', () => {
    const { pieces } = cut(SHERPA, [
      [15, true],
      [0.09, true, 10],
      [30, true],
    ]);
    check(pieces, 20);
    assert.ok(Math.abs(pieces[0]![1]! - 15.05) < 0.1, `cut at ${pieces[0]![1]}`);
    assert.equal(pieces.at(-1)![1], 45.09);
  });

  it('keeps whole utterances for an engine that wants them', () => {
    const stretches = Array.from(
      { length: 12 },
      () =>
        [
          [4, true],
          [0.6, false],
        ] as const,
    ).flat();
    const { pieces } = cut(POCKETSPHINX, stretches);
    check(pieces, 60);
    assert.equal(pieces.length, 1);
    assert.ok(cut(SHERPA, stretches).pieces.length > 4);
  });

  it('takes the longest pause when an utterance outgrows the limit', () => {
    const { pieces } = cut(POCKETSPHINX, [
      [20, true],
      [0.9, false],
      [25, true],
      [0.36, false],
      [30, true],
    ]);
    check(pieces, 60);
    assert.ok(pieces[0]![1]! > 20 && pieces[0]![1]! < 20.9);
  });

  it('covers everything where all counts as speech', () => {
    const { pieces } = cut({ ...SHERPA, minSilenceSec: 20, minSpeechSec: 0 }, [[47.1, true]]);
    check(pieces, 20);
    assert.equal(pieces[0]![0], 0);
    assert.equal(pieces.at(-1)![1], 47.1);
    for (const [i, piece] of pieces.entries()) if (i > 0) assert.equal(piece[0], pieces[i - 1]![1]);
  });

  it('does not ask for old samples for ever', () => {
    const cutter = createCutter(SHERPA);
    let oldest = 0;
    for (let i = 0; i < 100_000; i++) {
      cutter.push(i % 50 < 30, 1000);
      assert.ok(cutter.oldestNeeded() >= oldest);
      oldest = cutter.oldestNeeded();
      assert.ok(i - oldest < 21 / 0.03);
    }
  });
});
