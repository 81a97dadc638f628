/** Downloads against a local server that plays the catalog's host, well and badly. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { DownloadFault } from '../src/models/fault.ts';
import { fetchFile } from '../src/models/fetch-file.ts';
import { makeEntry, makeTarGz, makeZip, openBench, serve, sha256, startHost, TAR_BZ2 } from './models-host.ts';

const pinned = (url: string, bytes: Buffer, archive: string, more: Record<string, unknown> = {}) => ({
  url,
  sha256: sha256(bytes),
  size_bytes: bytes.length,
  archive,
  ...more,
});
const rejectsWith = (promise: Promise<unknown>, code: string): Promise<void> =>
  assert.rejects(promise, (error: DownloadFault) => {
    assert.equal(error.code, code, error.message);
    return true;
  });

describe('downloads', () => {
  it('install a tar.bz2, tell how far they are, and leave nothing beside the model', async () => {
    await using host = await startHost((request, response) => serve(TAR_BZ2, request, response));
    await using bench = await openBench();
    const download = bench.downloads.start(makeEntry(pinned(`${host.url}/a.tar.bz2`, TAR_BZ2, 'tar.bz2')));
    const states = new Set<string>();
    download.subscribe((progress) => states.add(progress.state));
    const model = await download.done;
    assert.equal(model.manifest.files.model, 'model.onnx');
    assert.equal(await readFile(join(model.dir, 'model.onnx'), 'utf8'), 'weights');
    assert.deepEqual([...states], ['downloading', 'verifying', 'unpacking', 'installing']);
    assert.deepEqual(await bench.left(), ['thing@1']);
  });

  it('install tar.gz, zip and a bare file', async () => {
    const content = Buffer.from('weights');
    const archives = {
      'tar.gz': await makeTarGz([
        { name: 'top/', type: 'directory' },
        { name: 'top/model.onnx', content: 'weights' },
      ]),
      zip: makeZip([{ name: 'top/model.onnx', content }]),
      none: content,
    };
    for (const [archive, bytes] of Object.entries(archives)) {
      await using host = await startHost((request, response) => serve(bytes, request, response));
      await using bench = await openBench();
      const model = await bench.downloads.start(makeEntry(pinned(`${host.url}/a`, bytes, archive))).done;
      assert.equal(await readFile(join(model.dir, 'model.onnx'), 'utf8'), 'weights', archive);
      assert.deepEqual(await bench.left(), ['thing@1']);
    }
  });

  it('go on by Range where the connection broke', async () => {
    await using host = await startHost((request, response) => {
      if (request.headers.range !== undefined) return serve(TAR_BZ2, request, response);
      response.writeHead(200, { 'content-length': TAR_BZ2.length });
      response.write(TAR_BZ2.subarray(0, 50), () => response.destroy());
    });
    await using bench = await openBench();
    await bench.downloads.start(makeEntry(pinned(`${host.url}/a`, TAR_BZ2, 'tar.bz2'))).done;
    assert.deepEqual(host.asked, ['/a', '/a bytes=50-']);
  });

  it('begin again when the server knows no Range', async () => {
    let first = true;
    await using host = await startHost((_request, response) => {
      response.writeHead(200, { 'content-length': TAR_BZ2.length });
      if (!first) return void response.end(TAR_BZ2);
      first = false;
      response.write(TAR_BZ2.subarray(0, 50), () => response.destroy());
    });
    await using bench = await openBench();
    const model = await bench.downloads.start(makeEntry(pinned(`${host.url}/a`, TAR_BZ2, 'tar.bz2'))).done;
    assert.equal(await readFile(join(model.dir, 'model.onnx'), 'utf8'), 'weights');
  });

  it('take a slow server that keeps sending', async () => {
    await using host = await startHost(async (_request, response) => {
      response.writeHead(200, { 'content-length': TAR_BZ2.length });
      for (const byte of TAR_BZ2) {
        if (!response.write(Buffer.from([byte]))) await once(response, 'drain');
        await new Promise(setImmediate);
      }
      response.end();
    });
    await using bench = await openBench();
    await bench.downloads.start(makeEntry(pinned(`${host.url}/a`, TAR_BZ2, 'tar.bz2'))).done;
  });

  it('follow redirects, but not for ever', async () => {
    await using host = await startHost((request, response) => {
      if (request.url === '/there') return serve(TAR_BZ2, request, response);
      response.writeHead(302, { location: request.url === '/round' ? '/round' : '/there' }).end();
    });
    await using bench = await openBench();
    await rejectsWith(
      bench.downloads.start(makeEntry(pinned(`${host.url}/round`, TAR_BZ2, 'tar.bz2'))).done,
      'download_refused',
    );
    await bench.downloads.start(makeEntry(pinned(`${host.url}/a`, TAR_BZ2, 'tar.bz2'))).done;
  });

  it('refuse a wrong digest and a wrong size and keep nothing of either', async () => {
    await using host = await startHost((request, response) => serve(TAR_BZ2, request, response));
    await using bench = await openBench();
    const url = `${host.url}/a`;
    const wrongDigest = makeEntry(pinned(url, TAR_BZ2, 'tar.bz2', { sha256: '0'.repeat(64) }));
    await rejectsWith(bench.downloads.start(wrongDigest).done, 'digest_mismatch');
    const wrongSize = makeEntry(pinned(url, TAR_BZ2, 'tar.bz2', { size_bytes: TAR_BZ2.length + 1 }));
    await rejectsWith(bench.downloads.start(wrongSize).done, 'size_mismatch');
    assert.deepEqual(await bench.left(), []);
  });

  it('stop a body that is longer than the catalog says although no length was announced', async () => {
    await using host = await startHost((_request, response) => {
      response.writeHead(200);
      response.write(TAR_BZ2);
      response.end(TAR_BZ2);
    });
    await using bench = await openBench();
    await rejectsWith(
      bench.downloads.start(makeEntry(pinned(`${host.url}/a`, TAR_BZ2, 'tar.bz2'))).done,
      'size_mismatch',
    );
    assert.deepEqual(await bench.left(), []);
  });

  it('try anew from the beginning when what an earlier try left was damaged', async () => {
    const bad = Buffer.from(TAR_BZ2);
    bad[10]! ^= 0xff;
    let served = 0;
    await using host = await startHost((request, response) => {
      served += 1;
      if (served > 1) return serve(TAR_BZ2, request, response);
      response.writeHead(200, { 'content-length': TAR_BZ2.length });
      response.write(bad.subarray(0, 50), () => response.destroy());
    });
    await using bench = await openBench();
    await bench.downloads.start(makeEntry(pinned(`${host.url}/a`, TAR_BZ2, 'tar.bz2'))).done;
    assert.deepEqual(host.asked, ['/a', '/a bytes=50-', '/a']);
  });

  it('say what the host said: 404 at once, 503 after some tries', async () => {
    let status = 404;
    await using host = await startHost((_request, response) => void response.writeHead(status).end());
    await using bench = await openBench();
    const entry = makeEntry(pinned(`${host.url}/a`, TAR_BZ2, 'tar.bz2'));
    await rejectsWith(bench.downloads.start(entry).done, 'not_found');
    assert.equal(host.asked.length, 1);
    status = 503;
    await rejectsWith(bench.downloads.start(entry, { attempts: 3 }).done, 'unreachable');
    assert.equal(host.asked.length, 4);
    assert.deepEqual(await bench.left(), []);
  });

  it('give up on a port nobody listens on', async () => {
    const host = await startHost(() => undefined);
    await host[Symbol.asyncDispose]();
    await using bench = await openBench();
    await rejectsWith(
      bench.downloads.start(makeEntry(pinned(`${host.url}/a`, TAR_BZ2, 'tar.bz2')), { attempts: 1 }).done,
      'unreachable',
    );
  });

  it('give up on a server that accepts and never answers', async () => {
    await using host = await startHost(() => undefined);
    await using bench = await openBench({ times: { connectMs: 5000, idleMs: 50 } });
    await rejectsWith(
      bench.downloads.start(makeEntry(pinned(`${host.url}/a`, TAR_BZ2, 'tar.bz2')), { attempts: 1 }).done,
      'unreachable',
    );
  });

  it('give up on a server with which no connection comes about', async () => {
    const sockets = new Set<Socket>();
    const silent = createTcpServer((socket) => sockets.add(socket)).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    await using bench = await openBench({ times: { connectMs: 50, idleMs: 5000 } });
    const entry = makeEntry(pinned(`https://127.0.0.1:${port}/a`, TAR_BZ2, 'tar.bz2'));
    await rejectsWith(bench.downloads.start(entry, { attempts: 1 }).done, 'unreachable');
    for (const socket of sockets) socket.destroy();
    silent.close();
  });

  it('replace the beginning of the address by a mirror', async () => {
    await using host = await startHost((request, response) => serve(TAR_BZ2, request, response));
    await using bench = await openBench({ mirrors: { 'https://models.example': `${host.url}/mirror` } });
    await bench.downloads.start(makeEntry(pinned('https://models.example/x/a', TAR_BZ2, 'tar.bz2'))).done;
    assert.deepEqual(host.asked, ['/mirror/x/a']);
  });

  it('are refused before anything is asked when switched off or when the licence is not cleared', async () => {
    await using closed = await openBench({ allowDownload: false });
    const entry = makeEntry(pinned('http://127.0.0.1:9/a', TAR_BZ2, 'tar.bz2'), { commercial_use: 'unknown' });
    assert.throws(() => closed.downloads.start(entry), { code: 'download_refused' });
    await using strict = await openBench({ strictLicense: true });
    assert.throws(() => strict.downloads.start(entry), { code: 'download_refused' });
  });

  it('are one for all who ask, and over at once for an installed model', async () => {
    await using host = await startHost((request, response) => serve(TAR_BZ2, request, response));
    await using bench = await openBench();
    const entry = makeEntry(pinned(`${host.url}/a`, TAR_BZ2, 'tar.bz2'));
    const [first, second] = [bench.downloads.start(entry), bench.downloads.start(entry)];
    assert.equal(first, second);
    await Promise.all([first.done, second.done]);
    await bench.downloads.start(entry).done;
    assert.equal(host.asked.length, 1);
    await bench.downloads.start(entry, { force: true }).done;
    assert.equal(host.asked.length, 2);
    assert.deepEqual(await bench.left(), ['thing@1']);
  });

  it('can be cancelled, and the rest is fetched the next time', async () => {
    const half = Promise.withResolvers<void>();
    let first = true;
    await using host = await startHost((request, response) => {
      if (!first) return serve(TAR_BZ2, request, response);
      first = false;
      response.writeHead(200, { 'content-length': TAR_BZ2.length });
      response.write(TAR_BZ2.subarray(0, 50));
    });
    await using bench = await openBench();
    const entry = makeEntry(pinned(`${host.url}/a`, TAR_BZ2, 'tar.bz2'));
    const download = bench.downloads.start(entry);
    download.subscribe(({ downloaded }) => downloaded === 50 && half.resolve());
    await half.promise;
    download.cancel();
    await rejectsWith(download.done, 'canceled');
    assert.equal(bench.installed.find('thing'), undefined);
    await bench.downloads.start(entry).done;
    assert.deepEqual(await bench.left(), ['thing@1']);
  });

  it('leave the installed one as it is when the new one fails its probe', async () => {
    await using host = await startHost((request, response) => serve(TAR_BZ2, request, response));
    let works = true;
    await using bench = await openBench({
      probe: async () => (works ? undefined : Promise.reject(new Error('it aborts'))),
    });
    const entry = makeEntry(pinned(`${host.url}/a`, TAR_BZ2, 'tar.bz2'));
    const model = await bench.downloads.start(entry).done;
    works = false;
    await rejectsWith(bench.downloads.start(entry, { force: true }).done, 'model_unusable');
    assert.equal(await readFile(join(model.dir, 'model.onnx'), 'utf8'), 'weights');
    assert.deepEqual(await bench.left(), ['thing@1']);
  });

  it('refuse an archive that lacks a file the catalog names', async () => {
    await using host = await startHost((request, response) => serve(TAR_BZ2, request, response));
    await using bench = await openBench();
    const entry = makeEntry(pinned(`${host.url}/a`, TAR_BZ2, 'tar.bz2'), { files: { model: 'other.onnx' } });
    await rejectsWith(bench.downloads.start(entry).done, 'model_unusable');
    assert.deepEqual(await bench.left(), []);
  });
});

const ZEROS_BYTES = 90 * 2 ** 20;
const link = { mode: 0o120777, content: Buffer.from('/etc/passwd') };

describe('hostile archives', () => {
  const cases: readonly (readonly [string, string, () => Promise<Buffer> | Buffer])[] = [
    ['a tar member above the folder', 'tar.gz', () => makeTarGz([{ name: '../evil', content: 'x' }])],
    ['a tar member hidden above the folder', 'tar.gz', () => makeTarGz([{ name: 'a/../../evil', content: 'x' }])],
    ['an absolute tar member', 'tar.gz', () => makeTarGz([{ name: '/tmp/evil', content: 'x' }])],
    ['a symbolic link', 'tar.gz', () => makeTarGz([{ name: 'model.onnx', type: 'symlink', linkname: '/etc/passwd' }])],
    ['a hard link', 'tar.gz', () => makeTarGz([{ name: 'model.onnx', type: 'link', linkname: '/etc/passwd' }])],
    ['a device', 'tar.gz', () => makeTarGz([{ name: 'model.onnx', type: 'character-device' }])],
    [
      'one name twice',
      'tar.gz',
      () =>
        makeTarGz([
          { name: 'model.onnx', content: 'a' },
          { name: 'model.onnx', content: 'b' },
        ]),
    ],
    [
      'too many members',
      'tar.gz',
      () =>
        makeTarGz(Array.from({ length: 10_001 }, (_, index) => ({ name: `f${index}`, type: 'directory' as const }))),
    ],
    ['a gzip bomb', 'tar.gz', () => makeTarGz([{ name: 'model.onnx', content: Buffer.alloc(ZEROS_BYTES) }])],
    ['a zip member above the folder', 'zip', () => makeZip([{ name: '../evil', content: Buffer.from('x') }])],
    ['an absolute zip member', 'zip', () => makeZip([{ name: '/tmp/evil', content: Buffer.from('x') }])],
    ['a link in a zip', 'zip', () => makeZip([{ name: 'model.onnx', ...link }])],
  ];
  for (const [what, archive, make] of cases) {
    it(`with ${what} are refused and leave nothing`, async () => {
      const bytes = await make();
      await using host = await startHost((request, response) => serve(bytes, request, response));
      await using bench = await openBench();
      await rejectsWith(
        bench.downloads.start(makeEntry(pinned(`${host.url}/a`, bytes, archive))).done,
        'hostile_archive',
      );
      assert.deepEqual(await bench.left(), []);
    });
  }

  it('that are merely damaged are told apart', async () => {
    for (const archive of ['tar.gz', 'tar.bz2', 'zip', 'tar']) {
      const bytes = Buffer.from('this is not an archive at all, whatever its name says '.repeat(40));
      await using host = await startHost((request, response) => serve(bytes, request, response));
      await using bench = await openBench();
      await rejectsWith(bench.downloads.start(makeEntry(pinned(`${host.url}/a`, bytes, archive))).done, 'bad_archive');
    }
  });
});

describe('fetchFile', () => {
  it('stops with the reason of its signal', async () => {
    await using host = await startHost(() => undefined);
    await using bench = await openBench();
    const controller = new AbortController();
    const path = join(bench.dataDir, 'file.part');
    const fetching = fetchFile({ url: `${host.url}/a`, sha256: '', sizeBytes: 1, path, signal: controller.signal });
    controller.abort(new Error('enough'));
    await assert.rejects(fetching, { message: 'enough' });
  });
});
