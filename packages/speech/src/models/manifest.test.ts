import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isInnerPath, parseManifest, toEngineModel } from './manifest.ts';

const GOOD = { id: 'a', revision: '1', kind: 'asr', family: 'transducer', files: { encoder: 'e.onnx' } };

describe('a manifest', () => {
  it('is filled up with careful defaults', () => {
    const manifest = parseManifest(GOOD);
    assert.equal(manifest.display_name, 'a');
    assert.equal(manifest.sample_rate, 16_000);
    assert.equal(manifest.commercial_use, 'unknown');
    assert.equal(manifest.capabilities.word_timestamps, false);
    assert.equal(manifest.demonstration, false);
  });

  it('names the field at fault', () => {
    const cases: readonly (readonly [Record<string, unknown>, RegExp])[] = [
      [{ id: '../x' }, /^id must match/],
      [{ revision: 'a b' }, /^revision must match/],
      [{ kind: 'asrr' }, /^kind must be equal to one of the allowed values \(asr, vad/],
      [{ sample_rate: 'x' }, /^sample_rate must be/],
      [{ files: { encoder: '../e.onnx' } }, /^files\.encoder must be a path inside/],
      [{ files: { encoder: '/e.onnx' } }, /^files\.encoder must be a path inside/],
      [{ files: { 'a b': 'e.onnx' } }, /is not a role name/],
      [{ library_paths: ['/usr/lib'] }, /^library_paths/],
      [{ capabilities: { streaming: 'yes' } }, /^capabilities\.streaming/],
    ];
    for (const [wrong, message] of cases) {
      assert.throws(() => parseManifest({ ...GOOD, ...wrong }), { name: 'ManifestFault', message });
    }
    for (const value of [null, 7, [], 'x']) assert.throws(() => parseManifest(value), { name: 'ManifestFault' });
  });

  it('becomes absolute paths for the engine', () => {
    const model = toEngineModel(parseManifest({ ...GOOD, library_paths: ['lib'] }), '/models/a@1');
    assert.deepEqual(model.files, { encoder: '/models/a@1/e.onnx' });
    assert.deepEqual(model.libraryPaths, ['/models/a@1/lib']);
  });
});

describe('an inner path', () => {
  it('stays inside its folder', () => {
    for (const path of ['a', 'a/b.onnx', 'a..b', '...']) assert.equal(isInnerPath(path), true, path);
    for (const path of ['', '/a', '..', 'a/../b', '../a', 'a\\b', 'C:/a', 'a\0'])
      assert.equal(isInnerPath(path), false, path);
  });
});
