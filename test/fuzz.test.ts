/** The short form of `npm run fuzz`: the same parsers and the same inputs each time, in this process. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createRandom } from '../tools/fuzz/random.ts';
import { REGRESSIONS } from '../tools/fuzz/regressions.ts';
import { runTarget } from '../tools/fuzz/target.ts';
import { TARGETS } from '../tools/fuzz/targets.ts';

const SEED = 1;
const INPUTS = 150;

describe('what strangers send', () => {
  for (const target of TARGETS) {
    it(`is taken or refused: ${target.name}`, async () => {
      const to = Math.max(2, Math.round(INPUTS * Math.min(1, target.weight)));
      const { findings } = await runTarget(target, { seed: SEED, from: 0, to }, createRandom);
      assert.deepEqual(findings, []);
    });
  }

  for (const { target: name, seed, no, what } of REGRESSIONS) {
    it(`fails no more: ${name} ${seed} ${no}, ${what}`, async () => {
      const target = TARGETS.find((each) => each.name === name)!;
      const { findings } = await runTarget(target, { seed, from: no, to: no + 1 }, createRandom);
      assert.deepEqual(findings, []);
    });
  }

  it('is the same again for the same seed and number, and different for others', () => {
    const made = (seed: number, no: number): string =>
      JSON.stringify(createRandom(seed, no).list(20, () => createRandom(seed, no).int(1e9)));
    assert.equal(made(1, 5), made(1, 5));
    assert.equal(new Set([made(1, 5), made(1, 6), made(2, 5)]).size, 3);
  });
});
