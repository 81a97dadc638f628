/** Who may import whom, as data, and the test that holds it. What is not written here is refused. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** Place → places it may import besides itself. A place is a path prefix below packages, without `/src`. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  'kit/problem': [],
  'kit/ids': [],
  'kit/clock': [],
  'kit/limit': ['kit/clock'],
  'kit/semaphore': [],
  'kit/settings': [],
  'kit/setting-kinds': ['kit/settings'],
  'kit/log': [],
  'kit/command-line': ['kit/settings'],
  'kit/store': ['kit/problem', 'kit/ids', 'kit/log', 'kit/clock'],
  'kit/http': ['kit'],
  'kit/service': ['kit'],
  'kit/outbound': ['kit'],
  'kit/testing': ['kit'],
  'speech/core': ['kit/problem'],
  'speech/formats': ['speech/core'],
  'speech/dialects': ['speech/core', 'speech/formats', 'kit/http', 'kit/problem', 'kit/ids'],
  'speech/keys': ['speech/core', 'kit'],
  'speech/recognizer': ['speech/core', 'kit/problem', 'kit/log'],
  'speech/audio': ['speech/core', 'kit/problem', 'kit/log'],
  'speech/models': ['speech/core', 'speech/recognizer', 'kit'],
  'speech/pipeline': [
    'speech/core',
    'speech/audio',
    'speech/models/pool',
    'speech/recognizer',
    'kit/semaphore',
    'kit/log',
  ],
  'speech/jobs': ['speech/core', 'kit'],
  // Sessions decode, resample and detect speech in this process: pure parts of audio, and WebAssembly.
  'speech/realtime': [
    'speech/core',
    'speech/recognizer',
    'speech/audio/pcm',
    'speech/audio/resample',
    'speech/audio/voice-activity',
    'speech/audio/cut',
    'speech/pipeline/scheduler',
    'speech/pipeline/words',
    'kit/ids',
    'kit/problem',
    'kit/log',
  ],
  'speech/start-realtime': ['speech', 'kit'],
  'speech/server': ['speech', 'kit'],
  'speech/settings': ['kit'],
  'speech/speech': ['speech', 'kit'],
  'speech/start': ['speech', 'kit'],
  'speech/start-models': ['speech', 'kit'],
  'speech/start-support': ['speech', 'kit'],
  'speech/start-jobs': ['speech', 'kit'],
  'speech/run-job': ['speech'],
  'speech/main': ['speech', 'kit'],
  'speech/endpoints': ['speech', 'kit'],
  platform: ['kit'],
  parley: ['kit', 'speech', 'platform'],
};

const isBelow = (place: string, prefix: string): boolean => place === prefix || place.startsWith(`${prefix}/`);

/** `packages/speech/src/audio/pcm.ts` → `speech/audio/pcm`. */
const placeOf = (file: string): string =>
  relative(resolve(ROOT, 'packages'), file).replace('/src/', '/').replace(/\.ts$/, '');

const importsOf = (file: string): string[] =>
  [...readFileSync(file, 'utf8').matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)]
    .map((match) => match[1]!)
    .flatMap((specifier) => {
      if (specifier.startsWith('.')) return [placeOf(resolve(dirname(file), specifier))];
      if (specifier.startsWith('@parley/')) return [specifier.slice('@parley/'.length).replace(/\.ts$/, '')];
      return [];
    });

const refusalsOf = (place: string, imported: readonly string[]): string[] => {
  const rule = Object.keys(MAY_IMPORT)
    .filter((prefix) => isBelow(place, prefix))
    .sort((a, b) => b.length - a.length)[0];
  if (rule === undefined) return [`${place}: no rule says what it may import`];
  const allowed = [rule, ...MAY_IMPORT[rule]!];
  return imported
    .filter((other) => !allowed.some((prefix) => isBelow(other, prefix)))
    .map((other) => `${place} imports ${other}`);
};

describe('layers', () => {
  it('lets nobody import what the table does not allow', () => {
    const files = globSync('packages/*/src/**/*.ts', { cwd: ROOT }).filter((file) => !file.endsWith('.test.ts'));
    assert.ok(files.length > 10, 'the house has moved; mend the glob');
    const refusals = files.flatMap((file) => refusalsOf(placeOf(resolve(ROOT, file)), importsOf(resolve(ROOT, file))));
    assert.deepEqual(refusals, []);
  });

  it('would notice a dialect that reaches for the pool', () => {
    assert.deepEqual(refusalsOf('speech/dialects/native/routes', ['speech/models/pool', 'kit/http/upload']), [
      'speech/dialects/native/routes imports speech/models/pool',
    ]);
  });
});
