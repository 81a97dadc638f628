/** Which archive of a folder is the one to take. */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { findArchive } from './archive.ts';

it('the archive of a prefix is the one whose name is the greatest by code points', async () => {
  const root = await mkdtemp(join(tmpdir(), 'parley-archives-'));
  try {
    for (const [names, greatest] of [
      // By UTF-16 units the second would be greater: the first begins with a surrogate.
      [['shop-\u{1F600}.zip', 'shop-\uFF5E.zip'], 'shop-\u{1F600}.zip'],
      // By the rules of a language the second would be.
      [['shop-a.tgz', 'shop-B.tgz'], 'shop-a.tgz'],
      [['shop-9.zip', 'shop-10.tar.gz'], 'shop-9.zip'],
      [['shop-1.zip', 'shop-2.rar', 'stop-3.zip'], 'shop-1.zip'],
      [['stop-1.zip'], undefined],
    ] as const) {
      const folder = await mkdtemp(join(root, 'set-'));
      for (const name of names) await writeFile(join(folder, name), '');
      await mkdir(join(folder, 'shop-z.zip'));
      assert.equal(await findArchive(folder, 'shop'), greatest, names.join());
    }
    assert.equal(await findArchive(join(root, 'none'), 'shop'), undefined);
  } finally {
    await rm(root, { recursive: true, force: true });
  }
});
