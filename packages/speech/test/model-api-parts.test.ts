/** Parts behind the model API: proxies on the way to catalogs and models, and a load that is given up. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createSilentLog } from '@parley/kit/log.ts';
import { failOnLeaks } from '@parley/kit/testing/leaks.ts';
import { openCatalog } from '../src/models/catalog.ts';
import { readManifest, toEngineModel } from '../src/models/manifest.ts';
import { proxyEnvOf } from '../src/models/proxy.ts';
import { startRecognizer } from '../src/recognizer/host.ts';
import { catalogText, sourceOf, startFiles, supporting } from './model-api-stage.ts';
import { openBench } from './models-host.ts';
import { testdataPath } from './start-test-speech.ts';

failOnLeaks();

const log = createSilentLog();
const { signal } = new AbortController();

describe('proxy variables', () => {
  it('are read in capital and in small letters, empty ones as none', () => {
    const env = {
      HTTP_PROXY: 'http://a:1',
      http_proxy: 'http://b:1',
      https_proxy: 'http://c:1',
      NO_PROXY: '',
      PATH: '/',
    };
    assert.deepEqual(proxyEnvOf(env), { HTTP_PROXY: 'http://a:1', HTTPS_PROXY: 'http://c:1' });
    assert.deepEqual(proxyEnvOf({}), {});
  });

  it('lead the way to catalogs and models', async () => {
    const bytes = Buffer.from('weights');
    const entry = supporting('thing', sourceOf('http://models.invalid/a.onnx', bytes, 'none'));
    await using proxy = await startFiles({
      'http://models.invalid/catalog.json': Buffer.from(catalogText([entry])),
      'http://models.invalid/a.onnx': bytes,
    });
    const catalogUrl = 'http://models.invalid/catalog.json';
    const proxyEnv = proxyEnvOf({ http_proxy: proxy.url });
    const catalog = await openCatalog({ catalogUrl, mirrors: {}, signal, log, proxyEnv });
    assert.equal(catalog.problem, undefined);
    await using bench = await openBench({ proxyEnv });
    const model = await bench.downloads.start(catalog.find('thing')!).done;
    assert.equal(model.id, 'thing');
    assert.deepEqual(proxy.asked, [catalogUrl, 'http://models.invalid/a.onnx']);
    const around = proxyEnvOf({ http_proxy: proxy.url, no_proxy: 'models.invalid' });
    const direct = await openCatalog({ catalogUrl, mirrors: {}, signal, log, proxyEnv: around });
    assert.match(direct.problem ?? '', /cannot be (read|reached)/);
  });
});

describe('a recognizer', () => {
  it('is given up while it loads, with the reason, and leaves no process', async () => {
    const dir = testdataPath('models/offline-ctc');
    const model = toEngineModel(await readManifest(dir), dir, 1);
    const reason = new Error('the service stops');
    const early = startRecognizer(model, { log, startTimeoutMs: 60_000, signal: AbortSignal.abort(reason) });
    await assert.rejects(early, reason);
    const stopping = new AbortController();
    const loading = startRecognizer(model, { log, startTimeoutMs: 60_000, signal: stopping.signal });
    setImmediate(() => stopping.abort(reason));
    await assert.rejects(loading, reason);
    const later = new AbortController();
    await using loaded = await startRecognizer(model, { log, startTimeoutMs: 60_000, signal: later.signal });
    later.abort(reason);
    const samples = new Int16Array(16_000);
    const heard = await loaded.recognize({ samples, sampleRate: 16_000, bandHz: 8000 }, {}, signal);
    assert.equal(typeof heard.text, 'string');
  });
});
