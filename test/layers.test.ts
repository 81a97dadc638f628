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
  'kit/abort': [],
  'kit/clock': [],
  'kit/limit': ['kit/clock'],
  'kit/semaphore': [],
  'kit/service-fault': [],
  'kit/settings': [],
  'kit/setting-kinds': ['kit/settings'],
  'kit/log': [],
  'kit/s3': [],
  'kit/tracing': ['kit/http', 'kit/store/store', 'kit/log'],
  'kit/metrics': ['kit/http', 'kit/store/store', 'kit/log'],
  'kit/command-line': ['kit/settings'],
  'kit/thread': [],
  'kit/folder': ['kit/service-fault'],
  'kit/compile-cache': ['kit/folder'],
  'kit/store': ['kit/problem', 'kit/ids', 'kit/log', 'kit/clock', 'kit/thread'],
  'kit/http': ['kit'],
  'kit/service': ['kit'],
  'kit/outbound': ['kit'],
  'kit/testing': ['kit'],
  'speech/core': ['kit/problem'],
  'speech/formats': ['speech/core'],
  'speech/dialects': ['speech/core', 'speech/formats', 'kit/http', 'kit/problem', 'kit/ids'],
  'speech/keys': ['speech/core', 'kit'],
  'speech/recognizer': ['speech/core', 'kit/problem', 'kit/log', 'kit/tracing'],
  'speech/audio': ['speech/core', 'kit/problem', 'kit/log'],
  'speech/models': ['speech/core', 'speech/recognizer', 'kit'],
  'speech/pipeline': [
    'speech/core',
    'speech/audio',
    'speech/models/pool',
    'speech/recognizer',
    'kit/semaphore',
    'kit/log',
    'kit/tracing',
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
    'speech/pipeline/finish-text',
    'speech/pipeline/itn',
    'kit/ids',
    'kit/problem',
    'kit/log',
  ],
  'speech/start-realtime': ['speech', 'kit'],
  // A page's folder is all a service knows of the pages; they know it over HTTP only.
  'speech/server': ['speech', 'kit', 'web/built'],
  'speech/metrics': ['speech/core', 'kit/metrics'],
  'speech/start-metrics': ['speech', 'kit'],
  'speech/settings': ['kit'],
  'speech/speech': ['speech', 'kit'],
  'speech/start': ['speech', 'kit'],
  'speech/start-keys': ['speech', 'kit'],
  'speech/start-models': ['speech', 'kit'],
  'speech/start-line': ['speech', 'kit'],
  'speech/start-support': ['speech', 'kit'],
  'speech/start-jobs': ['speech', 'kit'],
  'speech/run-job': ['speech'],
  'speech/service': ['speech', 'kit'],
  'speech/main': ['speech', 'kit'],
  'speech/endpoints': ['speech', 'kit'],
  'platform/codes': ['kit/problem'],
  'platform/http': ['platform/codes', 'platform/rest/json', 'kit/http', 'kit/store/store'],
  // The words of a domain, which no part needs another part for.
  'platform/domains/types': ['kit/store/store'],
  'platform/domains': ['platform/codes', 'kit/store/store', 'kit/log', 'kit/problem'],
  'platform/journal': ['platform/codes', 'platform/domains/types', 'platform/rest/ranges', 'kit/store/store'],
  'platform/auth': ['platform/codes', 'platform/domains/types', 'platform/http/method', 'kit'],
  // Values and their text, below everything else.
  'platform/rest/json': ['platform/codes'],
  'platform/rest/ranges': ['platform/codes'],
  'platform/rest': [
    'platform/codes',
    'platform/http/body',
    'platform/domains',
    'platform/journal/entry',
    'kit/store/store',
    'kit/ids',
    'kit/clock',
  ],
  // A resource cannot open the store: only rest/save.ts commits.
  'platform/resources': [
    'platform/codes',
    'platform/rest',
    'platform/domains/types',
    'platform/domains/rights',
    'platform/auth/password',
    'platform/model/class-options',
    'platform/model/properties',
    'platform/model/file-roots',
    // What a script must be to be saved.
    'platform/scripts/validate',
    'platform/scripts/principal',
    'platform/scripts/script',
    'kit/ids',
  ],
  'platform/model': ['platform/codes', 'platform/http', 'platform/domains', 'platform/rest', 'kit'],
  'platform/licence': [
    'platform/codes',
    'platform/domains',
    'platform/journal/entry',
    'platform/rest/json',
    'platform/rest/ranges',
    'platform/rest/quota',
    'kit',
  ],
  // Databases of others: neither our Store's rows nor our resources.
  'platform/db-accounts': ['platform/codes', 'platform/domains', 'platform/rest/json', 'kit'],
  'platform/mail': [
    'platform/domains',
    'platform/model/model',
    'platform/rest/json',
    'kit/clock',
    'kit/log',
    'kit/store/store',
  ],
  'platform/invites': [
    'platform/codes',
    'platform/domains',
    'platform/auth',
    'platform/mail',
    'platform/model',
    'platform/rest',
    'kit',
  ],
  'platform/start-mail': ['platform', 'kit'],
  'platform/start-scripts': ['platform', 'kit'],
  'platform/start-sign-in': ['platform', 'kit'],
  'platform/nodes': ['kit/log', 'kit/service', 'kit/store/store', 'kit/ids'],
  // Layers write through rest/save alone; what they may write is decided by the resources' own rules.
  'platform/product-layer': [
    'platform/codes',
    'platform/auth/system-caller',
    'platform/domains',
    'platform/model',
    'platform/nodes',
    'platform/resources',
    'platform/rest',
    'kit',
  ],
  'platform/start-layers': ['platform', 'kit'],
  'platform/start-nodes': ['platform/nodes', 'platform/resources', 'platform/domains/types', 'kit/log', 'kit/service'],
  // Elements are handed what they act through; of other parts they know the types.
  'platform/scripts': [
    'platform/codes',
    'platform/domains',
    'platform/rest',
    'platform/auth',
    'platform/model',
    'platform/mail',
    'kit',
  ],
  'platform/endpoints': [
    'platform/codes',
    'platform/nodes',
    'platform/db-accounts',
    'platform/licence/licence',
    'platform/product-layer/orders',
    'platform/http',
    'platform/domains',
    'platform/journal',
    'platform/auth',
    'platform/rest',
    'platform/resources',
    'platform/model',
    'platform/oauth',
    'platform/scripts',
    'platform/invites',
    'kit',
    'web/built',
  ],
  'platform/oauth': [
    'platform/codes',
    'platform/auth',
    'platform/domains',
    'platform/model',
    'platform/rest',
    'platform/scripts/outcome',
    'kit',
  ],
  'platform/settings': ['kit/settings', 'kit/setting-kinds'],
  'platform/first-run': ['platform/auth/system-caller', 'platform/domains', 'platform/rest', 'platform/model'],
  'platform/platform': [
    'platform/auth',
    'platform/domains',
    'platform/rest',
    'platform/resources',
    'platform/licence',
    'platform/model',
    'platform/endpoints',
    'platform/scripts',
    'platform/first-run',
    'platform/settings',
    'kit',
  ],
  'platform/upkeep': [
    'platform/model/orphans',
    'platform/platform',
    'platform/auth/system-caller',
    'platform/resources',
    'platform/rest',
    'kit/clock',
    'kit/log',
  ],
  'platform/metrics': ['platform/auth', 'platform/domains', 'kit'],
  'platform/start-metrics': ['platform/settings', 'kit'],
  'platform/start': ['platform', 'kit'],
  'platform/service': ['platform/settings', 'platform/start', 'kit/service', 'kit/settings', 'kit/compile-cache'],
  'platform/main': ['platform/service', 'kit/service'],
  parley: ['kit', 'speech', 'platform'],
  'web/shared': [],
  // Exports of a corrected transcript are written by the code that writes the service's own.
  'web/speech': ['web/shared', 'speech/formats', 'speech/core/types', 'speech/core/job-record'],
  // What a role allows is told by the code that decides it.
  'web/platform': ['web/shared', 'platform/auth/route-pattern'],
};

const isBelow = (place: string, prefix: string): boolean => place === prefix || place.startsWith(`${prefix}/`);

/** `packages/speech/src/audio/pcm.ts` → `speech/audio/pcm`. */
const placeOf = (file: string): string =>
  relative(resolve(ROOT, 'packages'), file)
    .replace('/src/', '/')
    .replace(/\.tsx?$/, '');

const importsOf = (file: string): string[] =>
  [...readFileSync(file, 'utf8').matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)]
    .map((match) => match[1]!)
    .flatMap((specifier) => {
      if (specifier.startsWith('.')) return [placeOf(resolve(dirname(file), specifier))];
      if (specifier.startsWith('@parley/')) return [specifier.slice('@parley/'.length).replace(/\.tsx?$/, '')];
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
    const files = globSync('packages/*/src/**/*.{ts,tsx}', { cwd: ROOT }).filter((file) => !/\.test\.tsx?$/.test(file));
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
