import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { isNarrowband, NARROWBAND_TRANSFORM, takesNarrowband } from './narrowband.ts';

const DEBIAN = `-lowerf 130
-upperf 6800
-nfilt 25
-transform dct
-lifter 22
-feat 1s_c_d_dd
-svspec 0-12/13-25/26-38
-agc none
-cmn batch
-varnorm no
-model ptm
`;

describe('narrowband speech', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-hmm-'));
  });
  after(() => rm(folder, { recursive: true }));

  it('is sound that ends near 4 kHz', () => {
    assert.deepEqual([0, 3400, 4000, 5512, 8000].map(isNarrowband), [false, true, true, false, false]);
  });

  it('moves only models of the front end that the transform was fitted for', async () => {
    for (const [params, takes] of [
      [DEBIAN, true],
      [DEBIAN.replace('-upperf 6800', '-upperf 3500'), false],
      [DEBIAN.replace('-svspec 0-12/13-25/26-38\n', ''), false],
      ['', false],
    ] as const) {
      await writeFile(join(folder, 'feat.params'), params);
      assert.equal(await takesNarrowband(folder), takes);
    }
  });

  it('comes as one class of three streams of 13 cepstra', async () => {
    for (const path of [NARROWBAND_TRANSFORM, join(import.meta.dirname, 'unmoved.mllr')]) {
      const numbers = (await readFile(path, 'utf8')).split(/\s+/).filter(Boolean).map(Number);
      const stream = 1 + 13 * 13 + 13 + 13;
      assert.equal(numbers.length, 2 + 3 * stream);
      assert.deepEqual(numbers.slice(0, 3), [1, 3, 13]);
      assert.ok(numbers.every(Number.isFinite));
    }
  });
});
