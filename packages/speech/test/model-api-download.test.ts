/** Downloads through the API: the event stream, refusals before it, hosts and archives that misbehave, kills. */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { failOnLeaks } from '@parley/kit/testing/leaks.ts';
import { KEY, startService } from '../../../tools/soak/service.ts';
import {
  allEvents,
  catalogText,
  type Entry,
  freePort,
  gist,
  json,
  leftIn,
  listed,
  operate,
  packFixture,
  readEvents,
  sourceOf,
  startFiles,
  supporting,
  type Told,
  until,
} from './model-api-stage.ts';
import { makeTarGz, makeZip, serve, startHost } from './models-host.ts';
import { installFixture, startTestSpeech, type TestSpeech } from './start-test-speech.ts';

failOnLeaks();

const ZEROS_BYTES = 90 * 2 ** 20;
const DEMO = 'demo-transducer-en@2026-11-21';

/** The service with a catalog file of ours. */
const startWith = async (
  entries: readonly Entry[],
  settings: Readonly<Record<string, string>> = {},
): Promise<TestSpeech> => {
  const dataDir = await mkdtemp(join(tmpdir(), 'parley-download-'));
  await writeFile(join(dataDir, 'catalog.json'), catalogText(entries));
  const service = await startTestSpeech({
    dataDir,
    models: ['offline-transducer'],
    settings: { 'registry.allow_download': 'true', 'registry.catalog_url': join(dataDir, 'catalog.json'), ...settings },
  });
  return {
    ...service,
    [Symbol.asyncDispose]: async () => {
      await service.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
};

const lastOf = async (response: Response): Promise<Told> => {
  const events = await allEvents(response);
  assert.equal(events.filter(({ data }) => data.done).length, 1, JSON.stringify(events));
  assert.deepEqual(
    events.map(({ id }) => id),
    events.map((_, index) => index + 1),
  );
  return events.at(-1)!;
};
const errorOf = (told: Told): string => {
  assert.equal(told.event, 'failed');
  const { code, message } = told.data.error as { code: string; message: string };
  assert.ok(message.length > 10 && !message.includes('parley-download-'), message);
  return code;
};

/** A latch-like gate: the host sends half, and the rest when it is opened. */
const createHalfHost = async (bytes: Buffer) => {
  const { promise: opened, resolve: open } = Promise.withResolvers<void>();
  const host = await startHost(async (request, response) => {
    if (request.headers.range !== undefined) return serve(bytes, request, response);
    response.writeHead(200, { 'content-length': bytes.length });
    const half = Math.floor(bytes.length / 2);
    response.write(bytes.subarray(0, half));
    await opened;
    response.end(bytes.subarray(half));
  });
  return { host, open };
};

describe('a download', () => {
  it('tells how far it is, installs, loads when asked, and is over at once the second time', async () => {
    const pack = await packFixture('offline-ctc', { id: 'fetched', revision: '7' });
    const { host, open } = await createHalfHost(pack.bytes);
    await using _host = host;
    await using service = await startWith([pack.entry(`${host.url}/a.tar.gz`)]);
    assert.equal((await listed(service, 'catalog', 'fetched'))[0]?.state, 'available');
    const startedMs = performance.now();
    const answer = await operate(service, 'fetched/download', { load: true });
    assert.equal(answer.headers.get('content-type'), 'text/event-stream; charset=utf-8');
    const told: Told[] = [];
    for await (const event of readEvents(answer)) {
      told.push(event);
      if (event.data.state === 'downloading') {
        assert.equal((await listed(service, 'catalog', 'fetched'))[0]?.state, 'downloading');
        assert.deepEqual(await listed(service, 'models', 'fetched'), []);
        open();
      }
    }
    const most = (performance.now() - startedMs) / 250 + 2;
    assert.ok(told.length >= 2 && told.length <= most, `${told.length} events`);
    for (const { event, data } of told.slice(0, -1)) {
      assert.equal(event, 'progress');
      assert.deepEqual([data.model_id, data.done, data.total], ['fetched', false, pack.bytes.length]);
    }
    const { event, data } = told.at(-1)!;
    assert.deepEqual([event, data.done, data.percent, data.state, data.revision], ['done', true, 100, 'resident', '7']);
    assert.equal((await listed(service, 'models', 'fetched'))[0]?.state, 'resident');
    assert.equal((await listed(service, 'catalog', 'fetched'))[0]?.state, 'resident');
    assert.deepEqual(await leftIn(service.dataDir), [DEMO, 'fetched@7']);

    const again = await allEvents(await operate(service, 'fetched@7/download'));
    assert.deepEqual(
      again.map((one) => [one.id, one.event, one.data.percent]),
      [[1, 'done', 100]],
    );
    const local = await allEvents(await operate(service, `${DEMO}/download`));
    assert.deepEqual(
      local.map((one) => [one.event, one.data.state]),
      [['done', 'installed']],
    );
    const forced = await lastOf(await operate(service, 'fetched/download', { force: true, load: true }));
    assert.deepEqual([forced.event, forced.data.state, host.asked.length], ['done', 'resident', 2]);
  });

  it('goes on when every client leaves, and is one for all who ask', async () => {
    const pack = await packFixture('offline-ctc', { id: 'fetched', revision: '7' }, 'zip');
    const { host, open } = await createHalfHost(pack.bytes);
    await using _host = host;
    await using service = await startWith([pack.entry(`${host.url}/a.zip`)]);
    const leaving = new AbortController();
    const clients = [1, 2, 3].map(async () => {
      const response = await operate(service, 'fetched/download', {}, { signal: leaving.signal });
      for await (const { data } of readEvents(response)) if (data.state === 'downloading') break;
    });
    await Promise.all(clients);
    leaving.abort();
    const staying = lastOf(await operate(service, 'fetched/download'));
    open();
    assert.equal((await staying).event, 'done');
    assert.deepEqual(host.asked, ['/a.zip']);
    assert.equal((await listed(service, 'models', 'fetched'))[0]?.state, 'installed');
  });

  it('is finished although nobody is left to hear of it', async () => {
    const pack = await packFixture('offline-ctc', { id: 'fetched', revision: '7' });
    const { host, open } = await createHalfHost(pack.bytes);
    await using _host = host;
    await using service = await startWith([pack.entry(`${host.url}/a`)]);
    const leaving = new AbortController();
    const response = await operate(service, 'fetched/download', { load: true }, { signal: leaving.signal });
    for await (const { data } of readEvents(response)) if (data.state === 'downloading') break;
    leaving.abort();
    open();
    const state = async () => (await listed(service, 'models', 'fetched'))[0]?.state;
    await until(state, (now) => now === 'resident', 'the model to be loaded');
  });

  it('is refused before the stream begins', async () => {
    const bytes = Buffer.from('weights');
    const url = 'http://127.0.0.1:9/a';
    const source = sourceOf(url, bytes, 'none');
    const entries = [
      supporting('thing', source),
      supporting('closed', source, { commercial_use: 'unknown', license: 'somebody’s' }),
      supporting('huge', { ...source, size_bytes: 2 ** 52 }),
    ];
    await using service = await startWith(entries, { 'registry.strict_license': 'true' });
    assert.equal(await gist(operate(service, 'nothing/download')), '404 model_not_found');
    assert.equal(await gist(operate(service, 'thing@2/download')), '404 model_not_found');
    assert.equal(await gist(operate(service, 'closed/download')), '403 download_refused');
    assert.equal(await gist(operate(service, 'huge/download')), '503 storage_unavailable');
    assert.equal(await gist(operate(service, `${DEMO}/download`, { force: true })), '404 model_not_found');
    // A process that lives and is not this one.
    const parts = join(service.dataDir, 'models', '.downloads');
    await mkdir(parts, { recursive: true });
    const lock = join(parts, `thing@1.${String(source.sha256).slice(0, 12)}.part.lock`);
    await writeFile(lock, `${process.ppid} 1`);
    assert.equal(await gist(operate(service, 'thing/download')), '409 model_busy');
    await rm(lock);
    await using closed = await startWith(entries, { 'registry.allow_download': 'false' });
    assert.equal(await gist(operate(closed, 'thing/download')), '403 download_refused');
    assert.equal(await gist(operate(closed, 'nothing/download')), '404 model_not_found');
  });

  it('comes by way of mirrors, from a catalog that has an address of its own', async () => {
    const pack = await packFixture('offline-ctc', { id: 'fetched', revision: '7' });
    const files: Record<string, Buffer> = {
      '/catalog.json': Buffer.from(catalogText([pack.entry('https://models.invalid/x/a.tar.gz')])),
      '/mirror/a.tar.gz': pack.bytes,
    };
    await using host = await startFiles(files);
    await using service = await startWith([], {
      'registry.catalog_url': `${host.url}/catalog.json`,
      'registry.mirrors': `https://models.invalid/x=${host.url}/mirror`,
    });
    assert.equal((await lastOf(await operate(service, 'fetched/download'))).event, 'done');
    assert.deepEqual(host.asked, ['/catalog.json', '/mirror/a.tar.gz']);
  });

  it('of a Debian package we do not know says so', async () => {
    const source = { debian_package: 'some-model', archive: 'deb' };
    await using service = await startWith([supporting('some-model', source)]);
    assert.equal(errorOf(await lastOf(await operate(service, 'some-model/download'))), 'unsupported_system');
    assert.deepEqual(await leftIn(service.dataDir), [DEMO]);
  });
});

describe('a download that goes wrong', () => {
  it('ends as failed with its reason and leaves nothing half-installed', async () => {
    const good = await makeTarGz([{ name: 'top/model.onnx', content: 'weights' }]);
    const archives: Record<string, [string, Buffer, string]> = {
      climbs: ['tar.gz', await makeTarGz([{ name: '../../escaped', content: 'x' }]), 'hostile_archive'],
      absolute: ['tar.gz', await makeTarGz([{ name: '/tmp/escaped', content: 'x' }]), 'hostile_archive'],
      link: ['tar.gz', await makeTarGz([{ name: 'a', type: 'symlink', linkname: '/etc' }]), 'hostile_archive'],
      zipclimbs: ['zip', makeZip([{ name: '../escaped', content: Buffer.from('x') }]), 'hostile_archive'],
      ziplink: ['zip', makeZip([{ name: 'a', content: Buffer.from('/etc'), mode: 0o120777 }]), 'hostile_archive'],
      bomb: [
        'tar.gz',
        await makeTarGz([{ name: 'model.onnx', content: Buffer.alloc(ZEROS_BYTES) }]),
        'hostile_archive',
      ],
      torn: ['tar.gz', good.subarray(0, good.length - 20), 'bad_archive'],
      empty: ['tar.gz', await makeTarGz([]), 'model_unusable'],
    };
    const files = Object.fromEntries(Object.entries(archives).map(([name, [, bytes]]) => [`/${name}`, bytes]));
    const broken = await packFixture('offline-ctc', {
      id: 'fetched',
      revision: '7',
      files: { model: 'tokens.txt', tokens: 'tokens.txt' },
    });
    await using host = await startFiles({ ...files, '/good': good, '/broken': broken.bytes });
    const at = (path: string, bytes: Buffer, archive: string, more = {}) => ({
      ...sourceOf(`${host.url}${path}`, bytes, archive),
      ...more,
    });
    const entries = [
      ...Object.entries(archives).map(([name, [kind, bytes]]) => supporting(name, at(`/${name}`, bytes, kind))),
      supporting('digest', at('/good', good, 'tar.gz', { sha256: '0'.repeat(64) })),
      supporting('size', at('/good', good, 'tar.gz', { size_bytes: good.length + 5 })),
      supporting('gone', at('/nowhere', good, 'tar.gz')),
      broken.entry(`${host.url}/broken`),
    ];
    await using service = await startWith(entries);
    const expected: Record<string, string> = {
      ...Object.fromEntries(Object.entries(archives).map(([name, [, , code]]) => [name, code])),
      digest: 'digest_mismatch',
      size: 'size_mismatch',
      gone: 'not_found',
      fetched: 'model_unusable',
    };
    const seen: Record<string, string> = {};
    for (const id of Object.keys(expected)) {
      seen[id] = errorOf(await lastOf(await operate(service, `${id}/download`)));
    }
    assert.deepEqual(seen, expected);
    assert.deepEqual(await leftIn(service.dataDir), [DEMO]);
    assert.equal((await listed(service, 'catalog', 'climbs'))[0]?.state, 'available');
  });

  it('is told of when the service stops, and goes on where it was the next time', async () => {
    const pack = await packFixture('offline-ctc', { id: 'fetched', revision: '7' });
    const { host } = await createHalfHost(pack.bytes);
    await using _host = host;
    await using service = await startWith([pack.entry(`${host.url}/a`)]);
    const events = readEvents(await operate(service, 'fetched/download'));
    let last: Told | undefined;
    let stopped: Promise<void> | undefined;
    for await (const event of events) {
      last = event;
      if (event.data.state === 'downloading' && Number(event.data.downloaded) > 0) stopped ??= service.stop();
    }
    assert.equal(errorOf(last!), 'draining');
    await stopped;
    assert.ok((await leftIn(service.dataDir)).some((name) => name.endsWith('.part')));
    const again = await startTestSpeech({
      dataDir: service.dataDir,
      models: [],
      settings: {
        'registry.allow_download': 'true',
        'registry.catalog_url': join(service.dataDir, 'catalog.json'),
      },
    });
    assert.equal((await lastOf(await operate(again, 'fetched/download'))).event, 'done');
    assert.match(host.asked[1] ?? '', /^\/a bytes=\d+-$/);
    await again.stop();
  });

  it('is resumed after kill -9, with nothing half-installed between', async () => {
    const pack = await packFixture('offline-ctc', { id: 'fetched', revision: '7' });
    const { host } = await createHalfHost(pack.bytes);
    await using _host = host;
    const dataDir = await mkdtemp(join(tmpdir(), 'parley-download-'));
    await installFixture(dataDir, 'offline-transducer');
    await writeFile(join(dataDir, 'catalog.json'), catalogText([pack.entry(`${host.url}/a`)]));
    const settings = { 'speech.registry.catalog_url': join(dataDir, 'catalog.json'), 'speech.log.level': 'fatal' };
    const asAdmin = (url: string) => ({
      fetch: (path: string, { key: _key, ...init }: RequestInit & { key?: string } = {}) =>
        fetch(`${url}${path}`, { ...init, headers: { ...init.headers, authorization: `Bearer ${KEY}` } }),
    });
    const first = await startService(dataDir, settings);
    const events = readEvents(await operate(asAdmin(first.url), 'fetched/download', {}));
    await assert.rejects(async () => {
      for await (const { data } of events) if (Number(data.downloaded) > 0) await first.kill();
    });
    assert.ok((await leftIn(dataDir)).some((name) => name.endsWith('.part')));
    const second = await startService(dataDir, settings);
    const { data } = (await json(asAdmin(second.url).fetch('/api/v1/models'))) as { data?: { id: string }[] };
    assert.deepEqual(
      data?.map(({ id }) => id),
      ['demo-transducer-en'],
    );
    assert.ok(!(await leftIn(dataDir)).some((name) => name.startsWith('.staging')));
    const done = await lastOf(await operate(asAdmin(second.url), 'fetched/download', {}));
    assert.equal(done.event, 'done');
    assert.match(host.asked[1] ?? '', /^\/a bytes=\d+-$/);
    assert.deepEqual(await leftIn(dataDir), [DEMO, 'fetched@7']);
    const manifest = JSON.parse(await readFile(join(dataDir, 'models', 'fetched@7', 'model.json'), 'utf8'));
    assert.equal(manifest.id, 'fetched');
    await second.stop();
    await rm(dataDir, { recursive: true, force: true });
  });

  it('is told from a host that is not there', async () => {
    const source = sourceOf(`http://127.0.0.1:${await freePort()}/a`, Buffer.from('x'), 'none');
    await using service = await startWith([supporting('thing', source)]);
    assert.equal(errorOf(await lastOf(await operate(service, 'thing/download'))), 'unreachable');
  });
});
