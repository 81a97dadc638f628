/** A voice activity model that is none must not take the service with it. */
import assert from 'node:assert/strict';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { startTestSpeech, testdataPath, testFile } from './start-test-speech.ts';

it('refuses requests with a reason when the installed Silero model is another network, and ends no process', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'parley-silero-'));
  try {
    const dir = join(dataDir, 'models', 'silero-vad@1');
    await mkdir(dir, { recursive: true });
    await cp(testdataPath('models/offline-ctc/model.onnx'), join(dir, 'model.onnx'));
    const manifest = {
      id: 'silero-vad',
      revision: '1',
      display_name: 'Not Silero',
      kind: 'vad',
      engine: 'sherpa',
      family: 'silero',
      languages: ['multi'],
      sample_rate: 16_000,
      files: { model: 'model.onnx' },
      license: 'MIT',
      commercial_use: 'yes',
    };
    await writeFile(join(dir, 'model.json'), JSON.stringify(manifest));
    await using speech = await startTestSpeech({ dataDir });
    const response = await speech.post('/api/v1/transcribe', {}, await testFile('speech/close-menu.wav'));
    const body = (await response.json()) as { code: string; detail: string };
    assert.deepEqual([response.status, body.code], [503, 'model_unavailable']);
    assert.match(body.detail, /no Silero/);
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
});
