/** Attached files on a disk that is full: refused for now, and nothing half written is taken for a file. */
import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { describe, it } from 'node:test';
import type { Problem } from '@parley/kit/problem.ts';
import { mountSmallDisk } from '@parley/kit/testing/small-disk.ts';
import { type Files, openFiles } from '../src/model/files.ts';

const DISK_BYTES = 256 * 1024;
const PLACE = { domain: 'master', classId: 'c', id: 'i', property: 'doc' };

const put = async (files: Files, stream: Readable): Promise<number> => {
  await using staged = await files.stage(PLACE, stream, 'text/plain');
  await staged.place();
  return staged.size;
};

describe('files on a full disk', () => {
  it('are refused with 503, leave nothing, and are taken when there is room again', async (t) => {
    const root = await mkdtemp(join(tmpdir(), 'parley-full-'));
    const disk = await mountSmallDisk(join(root, 'disk'), DISK_BYTES);
    try {
      if ('skipped' in disk) return t.skip(disk.skipped);
      const files = openFiles(join(disk.path, 'files'));
      const refused = { code: 'unavailable', status: 503 } satisfies Partial<Problem>;
      // The one piece fits in part: the system writes that part and calls it a success.
      await assert.rejects(put(files, Readable.from([Buffer.alloc(2 * DISK_BYTES)])), refused);
      const pieces = Array.from({ length: 8 }, () => Buffer.alloc(DISK_BYTES / 4));
      await assert.rejects(put(files, Readable.from(pieces)), refused);
      const entries = await readdir(disk.path, { recursive: true, withFileTypes: true });
      assert.deepEqual(
        entries.filter((entry) => entry.isFile()).map(({ name }) => name),
        [],
      );
      assert.equal(await put(files, Readable.from([Buffer.alloc(DISK_BYTES / 4)])), DISK_BYTES / 4);
    } finally {
      if ('path' in disk) disk.unmount();
      await rm(root, { recursive: true, force: true });
    }
  });
});
