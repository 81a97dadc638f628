/** Debian's model and the sample recording, fetched for real where this machine has apt-get and an archive answers. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { createSilentLog } from '@parley/kit/log.ts';
import { APT_SYSTEM, openApt } from '../src/models/apt.ts';
import { buildDebianModel, toRevision } from '../src/models/debian.ts';
import { toEngineModel } from '../src/models/manifest.ts';
import { fetchSample, readReference } from '../src/models/sample.ts';
import { startRecognizer } from '../src/recognizer/host.ts';

const run = promisify(execFile);
const log = createSilentLog();
const signal = new AbortController().signal;

/** Why the real fetch cannot be tried here, or false. */
const whySkip = async (): Promise<string | false> => {
  try {
    await run('apt-get', ['--version']);
    await fetch('http://deb.debian.org/debian/dists/bookworm/Release', {
      method: 'HEAD',
      signal: AbortSignal.timeout(5000),
    });
    return false;
  } catch (error) {
    return `no apt-get or no archive: ${(error as Error).message}`;
  }
};
const skip = await whySkip();
let dataDir = '';

before(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'parley-debian-'));
});
after(() => rm(dataDir, { recursive: true, force: true }));

describe('a Debian package', () => {
  it('has a version that serves as a revision', () => {
    assert.equal(toRevision('1:0.8+5prealpha+1-15'), '0.8-5prealpha-1-15');
    assert.equal(toRevision('~~'), 'debian');
  });

  it('of recordings names what is said in each', () => {
    const text = '<s> a b </s> (one)\n<s> c d </s> (two)\n';
    assert.equal(readReference(text, 'two'), 'c d');
    assert.equal(readReference(text, 'three'), undefined);
  });

  it('cannot be had on another system, which is said in one line', async () => {
    const osRelease = join(dataDir, 'os-release');
    await writeFile(osRelease, 'ID=alpine\nVERSION_ID=3.20\n');
    const options = { dir: join(dataDir, 'apt-alpine'), log, signal, system: { ...APT_SYSTEM, osRelease } };
    await assert.rejects(openApt(['pocketsphinx-en-us'], options), {
      code: 'unsupported_system',
      message: /neither Debian nor Ubuntu/,
    });
  });

  it('cannot be had from an archive that refuses, which is said too', { skip }, async () => {
    const etcApt = join(dataDir, 'etc-refused');
    const osRelease = join(dataDir, 'os-release-nowhere');
    await mkdir(etcApt);
    const key = '/usr/share/keyrings/debian-archive-keyring.gpg';
    await writeFile(join(etcApt, 'sources.list'), `deb [signed-by=${key}] http://127.0.0.1:9/debian nowhere main\n`);
    await writeFile(osRelease, 'ID=debian\nVERSION_CODENAME=nowhere\n');
    const options = {
      dir: join(dataDir, 'apt-refused'),
      log,
      signal,
      system: { ...APT_SYSTEM, etcApt, osRelease, dpkgStatus: '/dev/null' },
    };
    await assert.rejects(openApt(['pocketsphinx-en-us'], options), { name: 'DownloadFault' });
  });

  it('gives a model and its libraries without root, sources or lists of the system, and a recording it understands', {
    skip,
  }, async () => {
    const dir = join(dataDir, 'model');
    const etcApt = join(dataDir, 'etc-empty');
    const dpkgStatus = join(dataDir, 'status');
    await mkdir(dir);
    await mkdir(etcApt);
    // As on a fresh machine: nothing of PocketSphinx and what it stands on is installed.
    const ours =
      /^Package: (?:pocketsphinx|libpocketsphinx|libsphinxbase|libblas3|liblapack3|libgfortran5|libquadmath0)/m;
    const status = (await readFile(APT_SYSTEM.dpkgStatus, 'utf8')).split('\n\n').filter((stanza) => !ours.test(stanza));
    await writeFile(dpkgStatus, status.join('\n\n'));
    const system = { ...APT_SYSTEM, etcApt, dpkgStatus, modelDir: '/nowhere' };
    const manifest = await buildDebianModel(dir, { dataDir, log, signal, system });
    assert.equal(manifest.engine, 'pocketsphinx');
    assert.ok(manifest.library_paths.some((path) => path.endsWith('/blas')));
    for (const path of Object.values(manifest.files)) await stat(join(dir, path));

    // Two at once take turns with our apt folder.
    const places = ['samples', 'samples-too'].map((name) => join(dataDir, name));
    const [sample] = await Promise.all(places.map((place) => fetchSample(place, { dataDir, log, signal })));
    assert.ok(sample);
    assert.deepEqual(await fetchSample(places[0] ?? '', { dataDir, log, signal }), sample);
    const wav = await readFile(sample.path);
    assert.equal(wav.toString('latin1', 0, 4), 'RIFF');

    await using recognizer = await startRecognizer(toEngineModel(manifest, dir), { log, startTimeoutMs: 60_000 });
    const samples = new Int16Array(
      wav.buffer.slice(wav.byteOffset + 44, wav.byteOffset + wav.length - (wav.length % 2)),
    );
    const heard = await recognizer.recognize({ samples, sampleRate: 16_000, bandHz: 8000 }, {}, signal);
    const expected = new Set(sample.reference.split(' '));
    const found = heard.text.split(' ').filter((word) => expected.has(word)).length;
    assert.ok(found / expected.size > 0.7, heard.text);
  });
});
