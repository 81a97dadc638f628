/** The first-start rule: each step falls on to the next, says so, and the choice is kept. */
import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { createSilentLog } from '@parley/kit/log.ts';
import type { Catalog, CatalogModel } from '../src/models/catalog.ts';
import { openChoices } from '../src/models/choices.ts';
import type { DownloadOptions } from '../src/models/download.ts';
import { type FirstStartOptions, takeFirstModel } from '../src/models/first-start.ts';
import { parseManifest } from '../src/models/manifest.ts';
import { type Bench, makeEntry, openBench, serve, sha256, startHost, TAR_BZ2 } from './models-host.ts';

const DEBIAN = makeEntry(
  { debian_package: 'pocketsphinx-en-us', archive: 'deb' },
  { id: 'pocketsphinx-en-us', kind: 'asr', engine: 'pocketsphinx', family: 'pocketsphinx', languages: ['en'] },
);
const catalogOf = (entries: readonly CatalogModel[]): Catalog => ({
  entries: () => entries,
  find: (id) => entries.find((entry) => entry.id === id),
  problem: undefined,
});
const recommended = (id: string, url: string, more: Record<string, unknown> = {}): CatalogModel =>
  makeEntry(
    { url, sha256: sha256(TAR_BZ2), size_bytes: TAR_BZ2.length, archive: 'tar.bz2' },
    { id, kind: 'asr', family: 'nemo_ctc', languages: ['en'], recommended: true, ...more },
  );

/** What Debian's packages would give, without them. */
const buildDebian: DownloadOptions['buildDebian'] = async (_entry, work) => {
  await writeFile(join(work.dir, 'lm'), 'x');
  return parseManifest({ ...DEBIAN.manifest, revision: '0.8', files: { lm: 'lm' } });
};
const noDebian: DownloadOptions['buildDebian'] = () => Promise.reject(new Error('no network'));

const start = async (bench: Bench, entries: readonly CatalogModel[], more: Partial<FirstStartOptions> = {}) => {
  const told: string[] = [];
  const choices = await openChoices(bench.dataDir);
  const first = await takeFirstModel({
    installed: bench.installed,
    catalog: catalogOf([...entries, DEBIAN]),
    downloads: bench.downloads,
    choices,
    log: createSilentLog(),
    signal: new AbortController().signal,
    mode: 'auto',
    tell: (line) => told.push(line),
    ...more,
  });
  return { first, told, kept: (await openChoices(bench.dataDir)).first() };
};
const addInstalled = async (bench: Bench, id: string): Promise<void> => {
  const dir = join(bench.modelsDir, `${id}@1`);
  await mkdir(dir, { recursive: true });
  await writeFile(join(dir, 'm.onnx'), 'x');
  const manifest = {
    id,
    revision: '1',
    kind: 'asr',
    family: 'nemo_ctc',
    languages: ['en'],
    files: { model: 'm.onnx' },
  };
  await writeFile(join(dir, 'model.json'), JSON.stringify(manifest));
};

describe('a first start', () => {
  it('uses what is installed and asks nobody', async () => {
    await using host = await startHost((request, response) => serve(TAR_BZ2, request, response));
    await using bench = await openBench();
    await addInstalled(bench, 'mine');
    const { first, kept } = await start(bench, [recommended('r', `${host.url}/r`)]);
    assert.equal(first?.origin, 'installed');
    assert.deepEqual([kept?.id, kept?.origin], ['mine', 'installed']);
    assert.deepEqual(host.asked, []);
  });

  it('else pulls the recommended model, and the detector with it', async () => {
    await using host = await startHost((request, response) => serve(TAR_BZ2, request, response));
    await using bench = await openBench({ buildDebian });
    const entries = [
      recommended('live', `${host.url}/live`, { streaming: true }),
      recommended('r', `${host.url}/r`),
      recommended('vad', `${host.url}/vad`, { kind: 'vad', family: 'silero' }),
    ];
    const { first, told, kept } = await start(bench, entries);
    assert.deepEqual([first?.model.id, first?.origin, kept?.id], ['r', 'catalog', 'r']);
    assert.deepEqual(host.asked, ['/r', '/vad']);
    assert.match(told.at(-1) ?? '', /from the catalog/);
    const again = await start(bench, entries);
    assert.equal(again.first, undefined);
    assert.equal(host.asked.length, 2);
  });

  for (const [how, listener, times] of [
    ['refuses', undefined, undefined],
    ['answers 404', 404, undefined],
    ['accepts and never answers', 'silent', { connectMs: 5000, idleMs: 50 }],
  ] as const) {
    it(`else takes Debian's model when the catalog ${how}, after at most two tries`, async () => {
      const host = await startHost((_request, response) => {
        if (listener === 404) response.writeHead(404).end();
      });
      if (listener === undefined) await host[Symbol.asyncDispose]();
      await using bench = await openBench({ buildDebian, ...(times && { times }) });
      const entries = ['r1', 'r2', 'r3'].map((id) => recommended(id, `${host.url}/${id}`));
      const { first, told } = await start(bench, entries);
      assert.deepEqual(
        [first?.model.id, first?.model.revision, first?.origin],
        ['pocketsphinx-en-us', '0.8', 'debian'],
      );
      if (listener !== undefined) assert.deepEqual(host.asked, listener === 404 ? ['/r1', '/r2'] : ['/r1', '/r1']);
      assert.equal(told.filter((line) => line.includes('cannot be fetched')).length, listener === 404 ? 2 : 1);
      assert.match(told.at(-1) ?? '', /Debian archive/);
      if (listener !== undefined) await host[Symbol.asyncDispose]();
    });
  }

  it('goes on with a transfer that broke', async () => {
    await using host = await startHost((request, response) => {
      if (request.headers.range !== undefined) return serve(TAR_BZ2, request, response);
      response.writeHead(200, { 'content-length': TAR_BZ2.length });
      response.write(TAR_BZ2.subarray(0, 50), () => response.destroy());
    });
    await using bench = await openBench({ buildDebian });
    const { first } = await start(bench, [recommended('r', `${host.url}/r`)]);
    assert.equal(first?.origin, 'catalog');
    assert.deepEqual(host.asked, ['/r', '/r bytes=50-']);
  });

  it('else falls on when the fetched model does not load', async () => {
    await using host = await startHost((request, response) => serve(TAR_BZ2, request, response));
    await using bench = await openBench({
      buildDebian,
      probe: async ({ id }) => (id === 'r' ? Promise.reject(new Error('SIGABRT')) : undefined),
    });
    const { first } = await start(bench, [recommended('r', `${host.url}/r`)]);
    assert.equal(first?.origin, 'debian');
    assert.equal(bench.installed.find('r'), undefined);
  });

  it('else takes the demonstration model, says what it is, and does not try the network again', async () => {
    await using bench = await openBench({ buildDebian: noDebian });
    const { first, told, kept } = await start(bench, []);
    assert.equal(first?.origin, 'demonstration');
    assert.equal(first?.model.manifest.demonstration, true);
    assert.match(told.at(-1) ?? '', /no use for real speech.*models pull/);
    assert.equal(kept?.origin, 'demonstration');
    const again = await start(bench, []);
    assert.equal(again.first?.origin, 'demonstration');
    assert.equal(again.told.length, 1);
    await addInstalled(bench, 'mine');
    assert.equal((await start(bench, [])).first?.model.id, 'mine');
  });

  it('takes nothing from the network when told so', async () => {
    await using host = await startHost((request, response) => serve(TAR_BZ2, request, response));
    for (const mode of ['offline', 'demo'] as const) {
      await using bench = await openBench({ buildDebian });
      assert.equal((await start(bench, [recommended('r', `${host.url}/r`)], { mode })).first?.origin, 'demonstration');
    }
    await using closed = await openBench({ buildDebian, allowDownload: false });
    assert.equal((await start(closed, [recommended('r', `${host.url}/r`)])).first?.origin, 'demonstration');
    assert.deepEqual(host.asked, []);
  });

  it('stops in the middle when the service is told to', async () => {
    const controller = new AbortController();
    await using host = await startHost(() => controller.abort(new Error('stopping')));
    await using bench = await openBench({ buildDebian });
    const started = start(bench, [recommended('r', `${host.url}/r`)], { signal: controller.signal });
    await assert.rejects(started, { message: 'stopping' });
    assert.deepEqual(await bench.left(), []);
  });
});
