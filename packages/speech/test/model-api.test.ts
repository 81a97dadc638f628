/** Model management over the wire with the real service: load, unload, pin, reload, and every refusal. */
import assert from 'node:assert/strict';
import { cp, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { failOnLeaks } from '@parley/kit/testing/leaks.ts';
import { gist, json, listed, operate, until } from './model-api-stage.ts';
import {
  ADMIN_KEY,
  installFixture,
  startTestSpeech,
  type TestSpeech,
  testdataPath,
  testFile,
} from './start-test-speech.ts';

failOnLeaks();

const CTC = 'demo-ctc-en';
const TRANSDUCER = 'demo-transducer-en';
const REVISION = '2026-11-21';
const OPERATIONS = ['download', 'load', 'unload', 'pin', 'reload'];
type Body = NonNullable<RequestInit['body']>;
const URLENCODED = 'application/x-www-form-urlencoded';

/** A data folder with both fixtures, two more revisions of the CTC one (the second broken), and a detector. */
const createData = async (): Promise<string> => {
  const dataDir = await mkdtemp(join(tmpdir(), 'parley-model-api-'));
  const from = testdataPath('models/offline-ctc');
  const manifest = JSON.parse(await readFile(join(from, 'model.json'), 'utf8'));
  const add = async (id: string, revision: string, more: Record<string, unknown> = {}): Promise<string> => {
    const dir = join(dataDir, 'models', `${id}@${revision}`);
    await cp(from, dir, { recursive: true });
    await writeFile(join(dir, 'model.json'), JSON.stringify({ ...manifest, id, revision, ...more }));
    return dir;
  };
  await mkdir(join(dataDir, 'models'));
  await add(CTC, '2026-11-22');
  await writeFile(join(await add('bad', '1'), 'model.onnx'), 'no network at all');
  await rm(join(await add('bad', '0'), 'tokens.txt'));
  // Of a family that no request uses: its file is no detector.
  await add('detector', '1', { kind: 'vad', family: 'unknown' });
  return dataDir;
};

describe('the model API', () => {
  let dataDir: string;
  let service: TestSpeech;
  before(async () => {
    dataDir = await createData();
    service = await startTestSpeech({ dataDir, settings: { 'asr.max_resident_models': '4' } });
  });
  after(async () => {
    await service.stop();
    await rm(dataDir, { recursive: true, force: true });
  });

  it('is for administrators only', async () => {
    for (const operation of OPERATIONS) {
      const path = `${CTC}/${operation}`;
      const nobody = await operate(service, path, undefined, { key: '' });
      assert.equal(nobody.headers.get('www-authenticate'), 'Bearer realm="parley"');
      assert.equal((await json(nobody)).code, 'unauthorized');
      assert.equal(await gist(operate(service, path, {}, { key: 'sk-wrong' })), '401 unauthorized');
      assert.equal(await gist(service.fetch(`/api/v1/models/${path}`, { method: 'POST' })), '403 forbidden');
      const get = await service.fetch(`/api/v1/models/${path}`, { key: ADMIN_KEY });
      assert.equal(`${get.status} ${get.headers.get('allow')}`, '405 POST');
      await get.text();
    }
  });

  it('knows no model that is not there', async () => {
    for (const operation of OPERATIONS) {
      for (const id of ['nothing', `${CTC}@0`, 'a%2Fb', '..%2F..', '%40', 'x'.repeat(65)]) {
        assert.equal(await gist(operate(service, `${id}/${operation}`)), '404 model_not_found', `${id} ${operation}`);
      }
      assert.equal(await gist(operate(service, `${CTC}/${operation}`, { revision: '0' })), '404 model_not_found');
    }
    assert.equal(await gist(operate(service, `${CTC}/vanish`)), '404 not_found');
  });

  it('names the field that cannot be used', async () => {
    const cases: [string, Record<string, unknown>, string][] = [
      ['pin', { pinned: 'perhaps' }, 'pinned'],
      ['unload', { force: 2 }, 'force'],
      ['download', { load: {} }, 'load'],
      ['load', { revision: 'a/b' }, 'revision'],
      ['load', { strict: 'x' }, 'strict'],
    ];
    for (const [operation, fields, param] of cases) {
      const answer = await operate(service, `${CTC}/${operation}`, fields);
      const body = await json(answer);
      assert.deepEqual([answer.status, body.code, body.param], [400, 'invalid_request', param]);
    }
    const both = await json(operate(service, `${CTC}@1/load`, { revision: '2' }));
    assert.equal(both.param, 'revision');
    assert.equal(await gist(operate(service, `${CTC}@1/load`, { revision: '1' })), '404 model_not_found');
  });

  it('takes fields as JSON, urlencoded, multipart or query, and no body at all', async () => {
    const send = (body?: Body, type?: string, query = ''): Promise<Response> =>
      operate(service, `${CTC}/pin${query}`, undefined, {
        ...(body !== undefined && { body }),
        ...(type !== undefined && { headers: { 'content-type': type } }),
      });
    const form = new FormData();
    form.append('pinned', 'no');
    assert.equal(await gist(send('{"pinned": true}', 'application/json')), '200 pinned');
    assert.equal(await gist(send('pinned=off', URLENCODED)), '200 resident');
    assert.equal(await gist(send(undefined, undefined, '?pinned=1')), '200 pinned');
    assert.equal(await gist(send(form)), '200 resident');
    assert.equal(await gist(send('', 'application/json')), '200 pinned');
    assert.equal(await gist(send()), '200 resident');
    assert.equal(await gist(send('pinned=&pinned=', URLENCODED, '?pinned=')), '200 pinned');
    assert.equal(await gist(send('{"pinned": null}', 'application/json')), '200 resident');
    // What stands in the body counts more than what stands in the address.
    assert.equal(await gist(send('{"pinned": false}', 'application/json', '?pinned=true')), '200 resident');
  });

  it('refuses bodies of another shape', async () => {
    const send = (body: Body, type?: string): Promise<string> =>
      gist(operate(service, `${CTC}/pin`, undefined, { body, ...(type && { headers: { 'content-type': type } }) }));
    const form = new FormData();
    form.append('pinned', new File(['x'], 'x.txt'));
    const many = new FormData();
    for (let count = 0; count < 30; count += 1) many.append(`f${count}`, 'x');
    assert.equal(await send('[1]', 'application/json'), '400 invalid_request');
    assert.equal(await send('"x"', 'application/json'), '400 invalid_request');
    assert.equal(await send('{"a":', 'application/json'), '400 invalid_request');
    assert.equal(await send(form), '400 invalid_request');
    assert.equal(await send(many), '400 invalid_request');
    assert.equal(await send('x', 'multipart/form-data; boundary=y'), '400 invalid_request');
    assert.equal(await send('x', 'application/octet-stream'), '415 unsupported_media_type');
    assert.equal(await send('x', 'text/plain'), '415 unsupported_media_type');
    // Uploads are multipart as before.
    const upload = await service.fetch('/api/v1/transcribe', { method: 'POST', body: new URLSearchParams({ a: '1' }) });
    assert.equal(upload.status, 415);
    await upload.text();
  });

  it('warns of fields it does not know, and refuses them when strict', async () => {
    const answer = await operate(service, `${CTC}/load`, { pinned: true });
    assert.equal(answer.headers.get('x-service-warnings'), 'unknown_parameter');
    assert.deepEqual((await json(answer)).warnings, [
      { code: 'unknown_parameter', message: 'There is no field pinned.', param: 'pinned' },
    ]);
    const headers = { 'content-type': 'application/json', 'x-service-strict': '1' };
    const strict = await operate(service, `${CTC}/load`, undefined, { body: '{"pinned": true}', headers });
    assert.equal((await json(strict)).param, 'pinned');
    assert.equal(strict.status, 400);
    assert.equal(await gist(operate(service, `${CTC}/load`, { odd: 1, strict: true })), '400 invalid_request');
  });

  it('loads, and says so twice', async () => {
    assert.equal(await gist(operate(service, `${TRANSDUCER}/load`)), '200 resident');
    const record = await json(operate(service, `${TRANSDUCER}/load`));
    assert.deepEqual([record.resident, record.pinned, record.ref_count, record.default], [true, false, 0, true]);
    assert.ok(Number(record.rss_mb) > 10);
    const [shown] = await listed(service, 'models', TRANSDUCER);
    assert.equal(shown?.state, 'resident');
  });

  it('shows a model while it is loading', async () => {
    const loading = operate(service, `${CTC}@${REVISION}/load`);
    const state = async () => (await listed(service, 'models', CTC)).find((one) => one.revision === REVISION)?.state;
    const seen = await until(state, (now) => now !== 'installed', 'the model to begin to load');
    assert.equal(seen, 'loading');
    assert.equal(await gist(loading), '200 resident');
  });

  it('unloads every revision, or the one that is named', async () => {
    await json(operate(service, `${CTC}/load`, { revision: REVISION }));
    await json(operate(service, `${CTC}@2026-11-22/load`));
    const states = async () =>
      Object.fromEntries((await listed(service, 'models', CTC)).map((one) => [one.revision, one.state]));
    assert.deepEqual(await states(), { '2026-11-21': 'resident', '2026-11-22': 'resident' });
    assert.equal(await gist(operate(service, `${CTC}@${REVISION}/unload`)), '200 installed');
    assert.deepEqual(await states(), { '2026-11-21': 'installed', '2026-11-22': 'resident' });
    await json(operate(service, `${CTC}@${REVISION}/load`));
    assert.equal(await gist(operate(service, `${CTC}/unload`)), '200 installed');
    assert.deepEqual(await states(), { '2026-11-21': 'installed', '2026-11-22': 'installed' });
    assert.equal(await gist(operate(service, `${CTC}/unload`)), '200 installed');
  });

  it('keeps a pinned model unless forced', async () => {
    assert.equal(await gist(operate(service, `${CTC}/pin`)), '200 pinned');
    assert.equal(await gist(operate(service, `${CTC}/pin`, { pinned: true })), '200 pinned');
    assert.equal(await gist(operate(service, `${CTC}/unload`)), '409 model_pinned');
    assert.equal(await gist(operate(service, `${CTC}/unload`, { force: true })), '200 installed');
    assert.equal(await gist(operate(service, `${CTC}/pin`, { pinned: false })), '200 installed');
  });

  it('says why a model cannot be loaded', async () => {
    const broken = await json(operate(service, 'bad@0/load'));
    assert.match(String(broken.detail), /tokens/);
    assert.equal(broken.status, 503);
    for (const operation of ['load', 'pin', 'reload']) {
      assert.equal(await gist(operate(service, `bad@1/${operation}`)), '503 model_unavailable', operation);
      assert.equal(await gist(operate(service, `detector/${operation}`)), '422 capability_unavailable', operation);
    }
    assert.match(String((await json(operate(service, 'bad@1/load'))).detail), /cannot be (loaded|used): /);
    assert.equal(await gist(operate(service, 'detector/unload')), '200 installed');
  });

  it('puts another revision in service, and keeps the old one when that fails', async () => {
    assert.equal(await gist(operate(service, `${CTC}/reload`, { revision: REVISION })), '200 resident');
    const transcribe = async (): Promise<unknown> =>
      (await json(service.post('/api/v1/transcribe', { model: CTC }, await testFile('speech/account-balance.wav'))))
        .model;
    assert.equal(await transcribe(), `${CTC}@${REVISION}`);
    const newest = await json(operate(service, `${CTC}/reload`));
    assert.deepEqual([newest.revision, newest.state], ['2026-11-22', 'resident']);
    assert.equal(await transcribe(), `${CTC}@2026-11-22`);
    const dir = join(dataDir, 'models', `${CTC}@2026-11-23`);
    await cp(join(dataDir, 'models', `${CTC}@${REVISION}`), dir, { recursive: true });
    const manifest = JSON.parse(await readFile(join(dir, 'model.json'), 'utf8'));
    await writeFile(join(dir, 'model.onnx'), 'nothing a network could be');
    await writeFile(join(dir, 'model.json'), JSON.stringify({ ...manifest, revision: '2026-11-23' }));
    assert.equal(await gist(operate(service, `${CTC}/reload`)), '503 model_unavailable');
    assert.equal(await transcribe(), `${CTC}@2026-11-22`);
    await rm(dir, { recursive: true });
  });

  it('puts nothing in service that it cannot remember', async () => {
    const home = join(dataDir, 'speech');
    const away = join(dataDir, 'speech-away');
    const before = await json(operate(service, `${CTC}/load`));
    // Stands for a full disk: the folder of the choice takes nothing.
    await rename(home, away);
    const answer = await operate(service, `${CTC}/reload`, { revision: REVISION });
    assert.deepEqual(
      [answer.status, (await json(answer)).code, answer.headers.get('retry-after')],
      [503, 'storage_unavailable', '30'],
    );
    await rename(away, home);
    const after = await json(operate(service, `${CTC}/load`));
    assert.equal(after.revision, before.revision);
  });

  it('does one reload of a model at a time, and no load beside it', async () => {
    const both = [0, 1].map(() => gist(operate(service, `${CTC}/reload`)));
    assert.deepEqual((await Promise.all(both)).sort(), ['200 resident', '409 model_busy']);
    const reloading = gist(operate(service, `${CTC}/reload`));
    const loads = until(
      () => gist(operate(service, `${CTC}/load`)),
      (said) => said.startsWith('409'),
      'a refusal',
    );
    assert.deepEqual(await Promise.all([reloading, loads]), ['200 resident', '409 model_busy']);
  });

  it('finishes what was begun when the client leaves', async () => {
    await json(operate(service, `${CTC}/unload`));
    const leaving = new AbortController();
    const load = operate(service, `${CTC}/load`, undefined, { signal: leaving.signal }).catch(() => undefined);
    const states = async () => (await listed(service, 'models', CTC)).map((one) => one.state);
    await until(states, (now) => now.includes('loading'), 'the model to begin to load');
    leaving.abort();
    await load;
    await until(states, (now) => now.includes('resident'), 'the model to be loaded');
  });
});

describe('a model in use', () => {
  let service: TestSpeech;
  before(async () => {
    service = await startTestSpeech({ settings: { 'asr.acquire_timeout': '300ms', 'asr.max_resident_models': '1' } });
  });
  after(() => service[Symbol.asyncDispose]());

  /** The reference recording many times over: enough to be busy until it is told to stop. */
  const makeLong = async (): Promise<File> => {
    const wav = await readFile(testdataPath('audio/words.wav'));
    const at = wav.indexOf('data') + 8;
    const body = Buffer.concat(Array.from({ length: 1500 }, () => wav.subarray(at)));
    const head = Buffer.from(wav.subarray(0, at));
    head.writeUInt32LE(body.length, at - 4);
    head.writeUInt32LE(at - 8 + body.length, 4);
    return new File([head, body], 'long.wav');
  };
  const state = async () => (await listed(service, 'models', TRANSDUCER))[0];

  it('drains before it goes, stays when it is wanted again, and is not counted free before that', async () => {
    await json(operate(service, `${TRANSDUCER}/load`));
    const leaving = new AbortController();
    const body = new FormData();
    body.append('file', await makeLong());
    const busy = service
      .fetch('/api/v1/transcribe', { method: 'POST', body, signal: leaving.signal })
      .catch(() => undefined);
    await until(state, (one) => one?.ref_count === 1, 'the recording to be under way');
    assert.equal(await gist(operate(service, `${TRANSDUCER}/unload`)), '202 draining');
    assert.equal((await state())?.resident, true);
    // One model at a time: there is no room for another one meanwhile.
    assert.equal(await gist(operate(service, `${CTC}/load`)), '503 model_unavailable');
    assert.equal(await gist(operate(service, `${TRANSDUCER}/load`)), '200 resident');
    assert.equal(await gist(operate(service, `${TRANSDUCER}/pin`)), '200 pinned');
    assert.equal(await gist(operate(service, `${TRANSDUCER}/unload`, { force: true })), '202 draining');
    leaving.abort();
    await busy;
    await until(state, (one) => one?.state === 'installed', 'the model to be gone');
    assert.equal(await gist(operate(service, `${CTC}/pin`)), '200 pinned');
    const refused = await operate(service, `${TRANSDUCER}/load`);
    assert.equal(refused.headers.get('retry-after'), '5');
    assert.equal((await json(refused)).code, 'model_unavailable');
  });
});

describe('a service that stops', () => {
  it('does not wait for a model that is loading', async () => {
    const service = await startTestSpeech({ settings: { 'server.shutdown_grace': '100ms' } });
    const load = operate(service, `${CTC}/load`).catch(() => undefined);
    const states = async () => (await listed(service, 'models', CTC)).map((one) => one.state);
    await until(states, (now) => now.includes('loading'), 'the model to begin to load');
    await service[Symbol.asyncDispose]();
    await load;
  });

  it('finds its models again', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'parley-model-api-'));
    await installFixture(dataDir, 'offline-ctc');
    const first = await startTestSpeech({ dataDir, models: ['offline-transducer'] });
    assert.equal(await gist(operate(first, `${CTC}/reload`, { revision: REVISION })), '200 resident');
    await first.stop();
    const second = await startTestSpeech({ dataDir, models: [] });
    assert.equal((await listed(second, 'models', CTC))[0]?.state, 'installed');
    await second.stop();
    await rm(dataDir, { recursive: true, force: true });
  });
});
