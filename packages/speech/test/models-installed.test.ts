/** The folder of models as it is found, the catalog, and the records made of both. */
import assert from 'node:assert/strict';
import { cp, mkdir, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createSilentLog } from '@parley/kit/log.ts';
import { openCatalog, parseCatalog } from '../src/models/catalog.ts';
import { openChoices } from '../src/models/choices.ts';
import { createDownloads } from '../src/models/download.ts';
import { isUsable, openInstalled } from '../src/models/installed.ts';
import { createModels } from '../src/models/models.ts';
import { createPool } from '../src/models/pool.ts';
import { startHost } from './models-host.ts';

const FIXTURE = fileURLToPath(new URL('../../../testdata/models/offline-transducer', import.meta.url));
const log = createSilentLog();
const signal = new AbortController().signal;
let dataDir = '';
let modelsDir = '';

const describeModel = (id: string, revision: string, more: Record<string, unknown> = {}): string =>
  JSON.stringify({
    id,
    revision,
    kind: 'asr',
    family: 'transducer',
    languages: ['en'],
    files: { model: 'm.onnx' },
    ...more,
  });
const addModel = async (
  name: string,
  manifest: string | undefined,
  files: Record<string, string> = { 'm.onnx': 'x' },
) => {
  await mkdir(join(modelsDir, name), { recursive: true });
  for (const [file, content] of Object.entries(files)) await writeFile(join(modelsDir, name, file), content);
  if (manifest !== undefined) await writeFile(join(modelsDir, name, 'model.json'), manifest);
};
const open = () => openInstalled({ modelsDir, dataDir, log });

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'parley-installed-'));
  modelsDir = join(dataDir, 'models');
});
afterEach(() => rm(dataDir, { recursive: true, force: true }));

describe('installed models', () => {
  it('are listed with the reason when they cannot be used', async () => {
    await addModel('good@1', describeModel('good', '1'));
    await addModel('no-manifest@1', undefined);
    await addModel('no-json@1', '{');
    await addModel('wrong@1', describeModel('wrong', '1', { kind: 'x' }));
    await addModel('other@1', describeModel('another', '1'));
    await addModel('no-file@1', describeModel('no-file', '1'), {});
    await addModel('empty-file@1', describeModel('empty-file', '1'), { 'm.onnx': '' });
    await addModel('no-revision', describeModel('x', '1'));
    await addModel('.staging-1-x@1', describeModel('x', '1'));
    const problems = Object.fromEntries((await open()).list().map((model) => [model.id, model.problem]));
    assert.deepEqual(problems, {
      good: undefined,
      'no-manifest': 'model.json is missing',
      'no-json': 'model.json is not JSON',
      wrong: problems.wrong,
      other: 'model.json says another@1',
      'no-file': 'the model file m.onnx is missing',
      'empty-file': 'the model file m.onnx is empty',
      'no-revision': 'the folder must be named {id}@{revision}',
    });
    assert.match(problems.wrong ?? '', /^kind must be/);
  });

  it('are seen when they come and go', async () => {
    const installed = await open();
    assert.deepEqual(installed.list(), []);
    await addModel('a@1', describeModel('a', '1'));
    await installed.refresh();
    assert.equal(installed.find('a')?.sizeBytes, 1 + describeModel('a', '1').length);
    await installed.remove('a', '1');
    assert.equal(installed.find('a'), undefined);
  });

  it('are whole again after an installation was killed in the middle', async () => {
    const gone = 2 ** 22 + 1;
    await addModel(`.old-${gone}-a@1`, describeModel('a', '1'));
    await addModel('b@1', describeModel('b', '1'));
    await addModel(`.old-${gone}-b@1`, describeModel('b', '1'));
    await addModel(`.staging-${gone}-c@1`, undefined);
    await addModel('.staging-1-d@1', undefined);
    assert.deepEqual(
      (await open()).list().map((model) => [model.id, model.problem]),
      [
        ['a', undefined],
        ['b', undefined],
      ],
    );
    assert.deepEqual((await readdir(modelsDir)).sort(), ['.staging-1-d@1', 'a@1', 'b@1']);
  });

  it('serve their newest usable revision, numbers counted as numbers', async () => {
    for (const revision of ['2', '10', '9']) await addModel(`a@${revision}`, describeModel('a', revision));
    await addModel('a@11', describeModel('a', '11'), {});
    const installed = await open();
    assert.deepEqual(installed.revisions('a'), ['11', '10', '9', '2']);
    assert.equal(installed.find('a')?.revision, '10');
    assert.equal(installed.find('a', '2')?.revision, '2');
    assert.equal(installed.find('a', '3'), undefined);
  });

  it('stay quarantined over a restart until they are replaced', async () => {
    await addModel('a@1', describeModel('a', '1'));
    await (await open()).quarantine('a', '1', 'it killed the engine twice');
    const again = await open();
    assert.equal(again.find('a')?.problem, 'it killed the engine twice');
    assert.equal(isUsable(again.find('a')), false);
    await utimes(join(modelsDir, 'a@1', 'model.json'), new Date(), new Date(Date.now() + 5000));
    await again.refresh();
    assert.equal(again.find('a')?.problem, undefined);
  });
});

describe('the catalog', () => {
  const options = { catalogUrl: '', mirrors: {}, signal, log };
  const own = { id: 'own', revision: '1', kind: 'asr', family: 'nemo_ctc', files: { model: 'm.onnx' }, license: 'MIT' };
  const source = { url: 'https://models.example/a.tar.bz2', sha256: 'a'.repeat(64), archive: 'tar.bz2' };

  it('that is built in is whole: every entry is pinned or Debian’s, none verified, and a first start finds something', async () => {
    const catalog = await openCatalog(options);
    const entries = catalog.entries();
    assert.equal(entries.length, 30);
    assert.equal(
      entries.some((entry) => entry.verified),
      false,
    );
    assert.equal(new Set(entries.map((entry) => `${entry.id}@${entry.revision}`)).size, entries.length);
    assert.ok(entries.some((entry) => entry.recommended && entry.kind === 'asr' && !entry.streaming));
    assert.deepEqual(catalog.find('pocketsphinx-en-us')?.source, {
      debian_package: 'pocketsphinx-en-us',
      archive: 'deb',
    });
  });

  it('leaves out an entry without digest or licence and names it', () => {
    const faults: number[] = [];
    const models = [
      { ...own, source },
      { ...own, source: { ...source, sha256: '' } },
      { ...own, source, license: '' },
      7,
    ];
    const entries = parseCatalog(JSON.stringify({ models }), (index) => faults.push(index));
    assert.equal(entries.length, 1);
    assert.deepEqual(faults, [1, 2, 3]);
  });

  it('of the operator comes by file or URL and stands before the built-in one', async () => {
    const text = JSON.stringify({
      models: [
        { ...own, source },
        { ...own, id: 'silero-vad', revision: '99', kind: 'vad', source },
      ],
    });
    const file = join(dataDir, 'catalog.json');
    await writeFile(file, text);
    await using host = await startHost((_request, response) => void response.end(text));
    for (const catalogUrl of [file, `${host.url}/catalog.json`]) {
      const catalog = await openCatalog({ ...options, catalogUrl });
      assert.equal(catalog.entries()[0]?.id, 'own');
      assert.equal(catalog.find('silero-vad')?.revision, '99');
      assert.equal(catalog.problem, undefined);
    }
  });

  it('of the operator that cannot be read leaves the built-in one and says why', async () => {
    await using host = await startHost((_request, response) => void response.writeHead(500).end());
    for (const catalogUrl of [join(dataDir, 'none.json'), host.url]) {
      const catalog = await openCatalog({ ...options, catalogUrl });
      assert.equal(catalog.entries().length, 30);
      assert.match(catalog.problem ?? '', /cannot be read/);
    }
  });
});

describe('model records', () => {
  const openAll = async () => {
    const installed = await open();
    const choices = await openChoices(dataDir);
    const catalog = await openCatalog({ catalogUrl: '', mirrors: {}, signal, log });
    const pool = createPool({
      start: async () => ({
        facts: { sampleRate: 16_000 } as never,
        recognize: async () => ({ text: '', tokens: [] }),
        rssBytes: async () => 50 * 2 ** 20,
        pid: 1,
        [Symbol.asyncDispose]: async () => undefined,
      }),
      find: ({ id, revision }) => [installed.find(id, revision)].find(isUsable),
      memoryBytes: 2 ** 30,
      maxResident: 4,
      acquireTimeoutMs: 1000,
      idleMs: 0,
      numThreads: 1,
      log,
    });
    const downloads = createDownloads({
      installed,
      allowDownload: false,
      strictLicense: false,
      mirrors: {},
      concurrency: 1,
      log,
      buildDebian: () => Promise.reject(new Error('no')),
    });
    const models = createModels({
      installed,
      catalog,
      pool,
      downloads,
      choices,
      defaultModel: '',
      defaultModels: {},
      acquireTimeoutMs: 1000,
      signal,
    });
    return { installed, pool, models, choices };
  };

  it('say what is in memory, pinned, the default, and broken', async () => {
    await cp(FIXTURE, join(modelsDir, 'demo-transducer-en@2026-11-21'), { recursive: true });
    await addModel('broken@1', undefined);
    const { models, pool } = await openAll();
    const ref = { id: 'demo-transducer-en', revision: '2026-11-21' };
    assert.equal((await models.record(ref.id)).state, 'installed');
    await pool.pin(ref, true, signal);
    const [broken, demo] = await models.list();
    assert.equal(broken?.problem, 'model.json is missing');
    assert.deepEqual(
      [demo?.state, demo?.resident, demo?.pinned, demo?.default, demo?.rss_mb, demo?.ref_count, demo?.revisions],
      ['pinned', true, true, true, 50, 0, ['2026-11-21']],
    );
    await assert.rejects(models.record('none'), { code: 'model_not_found' });
    await pool[Symbol.asyncDispose]();
  });

  it('put another revision in service, and remember it', async () => {
    for (const revision of ['1', '2']) await addModel(`a@${revision}`, describeModel('a', revision));
    const { models, pool, choices } = await openAll();
    await pool.load({ id: 'a', revision: '2' }, signal);
    assert.equal((await models.reload({ id: 'a', revision: '1' })).state, 'resident');
    assert.equal((await models.resolve('a', undefined)).revision, '1');
    assert.equal((await openChoices(dataDir)).serving('a'), '1');
    assert.equal(choices.serving('a'), '1');
    assert.equal((await models.reload({ id: 'a', revision: undefined })).revision, '2');
    await assert.rejects(models.reload({ id: 'a', revision: '3' }), { code: 'model_not_found' });
    const both = [models.reload({ id: 'a', revision: '1' }), models.reload({ id: 'a', revision: '1' })];
    await assert.rejects(Promise.all(both), { code: 'model_busy' });
    await Promise.allSettled(both);
    await pool[Symbol.asyncDispose]();
  });

  it('say of a catalog entry whether it is installed', async () => {
    await addModel('silero-vad@4', describeModel('silero-vad', '4', { kind: 'vad', family: 'silero' }));
    const { models, pool } = await openAll();
    const entries = await models.catalog();
    assert.equal(entries.find((entry) => entry.id === 'silero-vad')?.state, 'installed');
    assert.equal(entries.find((entry) => entry.id === 'silero-vad-v5')?.state, 'available');
    assert.equal(
      Object.keys(entries[0] ?? {}).some((key) => ['manifest', 'recommended', 'engine'].includes(key)),
      false,
    );
    await pool[Symbol.asyncDispose]();
  });
});
