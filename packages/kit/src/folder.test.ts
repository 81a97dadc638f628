/** Folders that several want at the same moment. */
import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { makeFolders } from './folder.ts';

it('a path that many make at once is there for each of them', async () => {
  const root = await mkdtemp(join(tmpdir(), 'parley-folders-'));
  try {
    for (let round = 0; round < 50; round++) {
      const above = join(root, `r${round}`, 'a', 'b');
      await Promise.all(Array.from({ length: 8 }, (_, at) => makeFolders(join(above, `c${at % 4}`))));
      assert.deepEqual((await readdir(above)).sort(), ['c0', 'c1', 'c2', 'c3']);
    }
  } finally {
    await rm(root, { recursive: true, force: true });
  }
});
