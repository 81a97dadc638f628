import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { EngineRefusal } from './engine.ts';
import { readOnnxFacts } from './onnx-metadata.ts';

const MODEL = fileURLToPath(new URL('../../../../../testdata/models/offline-transducer/decoder.onnx', import.meta.url));
const STEP = 997;

describe('the metadata of an ONNX file', () => {
  let dir: string;
  let path: string;
  before(async () => {
    dir = await mkdtemp(join(tmpdir(), 'parley-onnx-'));
    path = join(dir, 'model.onnx');
  });
  after(() => rm(dir, { recursive: true, force: true }));

  const isRefused = async (content: Uint8Array): Promise<boolean> => {
    await writeFile(path, content);
    return await readOnnxFacts(path, 'model').then(
      () => false,
      (thrown: unknown) => thrown instanceof EngineRefusal,
    );
  };

  it('is read without the graph', async () => {
    const { metadata, opset } = await readOnnxFacts(MODEL, 'decoder');
    assert.equal(metadata.get('vocab_size'), '59');
    assert.ok(opset !== undefined && opset > 6);
  });

  it('is refused when the file is missing, empty, junk or cut anywhere inside the graph', async () => {
    await assert.rejects(readOnnxFacts(join(dir, 'none'), 'model'), /cannot be read \(ENOENT\)/);
    const whole = await readFile(MODEL);
    const graphEnd = whole.indexOf('vocab_size') - 200;
    for (let length = 0; length < graphEnd; length += STEP) assert.ok(await isRefused(whole.subarray(0, length)));
  });

  it('is read or refused, whatever the bytes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), async (bytes) => {
        await writeFile(path, bytes);
        await readOnnxFacts(path, 'model').catch((thrown: unknown) => assert.ok(thrown instanceof EngineRefusal));
      }),
    );
  });
});
