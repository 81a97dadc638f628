/** What a person sees of a download. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { renderProgress, showProgress } from '../src/models/progress.ts';
import { makeEntry, openBench, serve, sha256, startHost, TAR_BZ2 } from './models-host.ts';

const watch = async (isTTY: boolean): Promise<string[]> => {
  await using host = await startHost((request, response) => serve(TAR_BZ2, request, response));
  await using bench = await openBench();
  const source = { url: `${host.url}/a`, sha256: sha256(TAR_BZ2), size_bytes: TAR_BZ2.length, archive: 'tar.bz2' };
  const written: string[] = [];
  const download = bench.downloads.start(makeEntry(source));
  showProgress(download, { isTTY, write: (text) => written.push(text) });
  await download.done;
  return written;
};

describe('the progress of a download', () => {
  it('is a bar', () => {
    const progress = {
      model_id: 'm',
      revision: '1',
      state: 'downloading',
      downloaded: 2 ** 20,
      total: 2 ** 21,
      percent: 50,
    } as const;
    assert.equal(renderProgress(progress), 'm  ████████████░░░░░░░░░░░░   50 %  1.0 of 2.0 MiB  downloading');
    assert.match(
      renderProgress({ ...progress, total: 0, downloaded: 0, percent: 0 }),
      /░ {2}size unknown {2}downloading$/,
    );
  });

  it('is one line rewritten on a terminal, cleared at the end', async () => {
    const written = await watch(true);
    assert.ok(written.every((text) => text.startsWith('\r\x1b[K') && !text.includes('\n')));
    assert.equal(written.at(-1), '\r\x1b[K');
  });

  it('is a few plain lines elsewhere', async () => {
    const lines = (await watch(false)).map((line) => line.split(',')[0]);
    assert.deepEqual(lines, ['thing: downloading', 'thing: checking', 'thing: unpacking', 'thing: installing']);
  });
});
