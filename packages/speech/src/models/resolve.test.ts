import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { InstalledModel } from './installed.ts';
import { parseManifest } from './manifest.ts';
import { baseLanguageOf, type ResolveRules, resolveLiveModel, resolveModel } from './resolve.ts';

const make = (id: string, more: Record<string, unknown> = {}, sizeBytes = 1000): InstalledModel => {
  const manifest = parseManifest({
    id,
    revision: '1',
    kind: 'asr',
    family: 'transducer',
    files: {},
    languages: ['en'],
    ...more,
  });
  return {
    id,
    revision: manifest.revision,
    dir: `/m/${id}@${manifest.revision}`,
    sizeBytes,
    installedAt: '',
    manifest,
  };
};
const RULES: ResolveRules = {
  defaultModel: '',
  defaultModels: {},
  firstChoice: undefined,
  servingRevision: () => undefined,
};
const pick = (
  models: readonly InstalledModel[],
  model?: string,
  language?: string,
  rules: Partial<ResolveRules> = {},
): string => {
  const found = resolveModel(models, model, language, { ...RULES, ...rules });
  return `${found.id}@${found.revision}`;
};

const en = make('en-large', {}, 9000);
const small = make('en-small', {}, 100);
const ru = make('ru', { languages: ['ru'] }, 500);
const demo = make('demo', { demonstration: true }, 99_999);
const all = [demo, en, small, ru, make('vad', { kind: 'vad' }), make('live', { streaming: true, languages: ['fr'] })];

describe('model resolution', () => {
  it('takes a named model whatever the language', () => {
    assert.equal(pick(all, 'ru', 'en'), 'ru@1');
    assert.equal(pick(all, 'ru@1'), 'ru@1');
    assert.equal(pick(all, ' en-small '), 'en-small@1');
  });

  it('refuses what is not there, is not for recordings, or is broken', () => {
    for (const name of ['none', 'ru@2', 'a/b', '../x', '@1', 'x'.repeat(5000)]) {
      assert.throws(() => pick(all, name), { code: 'model_not_found', param: 'model' });
    }
    assert.throws(() => pick(all, 'vad'), { code: 'capability_unavailable' });
    assert.throws(() => pick(all, 'live'), { code: 'capability_unavailable' });
    assert.throws(() => pick([{ ...en, problem: 'it kills' }], 'en-large'), {
      code: 'model_unavailable',
      message: /it kills/,
    });
  });

  it('follows the language: its own default, else the general one that lists it, else the largest', () => {
    assert.equal(pick(all, undefined, 'ru-RU'), 'ru@1');
    assert.equal(pick(all, undefined, 'EN_us'), 'en-large@1');
    assert.equal(pick(all, undefined, 'en', { defaultModel: 'en-small' }), 'en-small@1');
    assert.equal(pick(all, undefined, 'en', { defaultModels: { 'en-GB': 'en-small' } }), 'en-small@1');
    assert.equal(pick(all, undefined, 'fr'), 'en-large@1');
  });

  it('falls to the default: the setting, else the first choice, else a real model before the demonstration one', () => {
    assert.equal(pick(all), 'en-large@1');
    assert.equal(pick(all, '', 'auto', { defaultModel: 'ru@1', firstChoice: 'en-small@1' }), 'ru@1');
    assert.equal(pick(all, undefined, undefined, { firstChoice: 'en-small@1' }), 'en-small@1');
    assert.equal(pick(all, undefined, undefined, { defaultModel: 'gone', firstChoice: 'vad' }), 'en-large@1');
    assert.equal(pick([demo, small], undefined, undefined, { firstChoice: 'demo@1' }), 'en-small@1');
    assert.equal(pick([demo], undefined, 'ru'), 'demo@1');
  });

  it('answers only without any transcription model that there is none', () => {
    assert.throws(() => pick([all[4]!]), { code: 'invalid_request', param: 'model' });
  });

  it('takes the revision in service, else the newest', () => {
    const two = [make('a', { revision: '2' }), make('a', { revision: '1' })];
    assert.equal(pick(two, 'a'), 'a@2');
    assert.equal(pick(two, 'a', undefined, { servingRevision: () => '1' }), 'a@1');
    assert.equal(pick(two, undefined, 'en', { servingRevision: () => '1' }), 'a@1');
    assert.equal(pick(two, 'a', undefined, { servingRevision: () => 'gone' }), 'a@2');
  });

  it('reads a language without its region', () => {
    assert.deepEqual(['ru-RU', 'EN', 'zh_Hans', 'auto', '', ' '].map(baseLanguageOf), [
      'ru',
      'en',
      'zh',
      undefined,
      undefined,
      undefined,
    ]);
  });
});

describe('the model of a realtime session', () => {
  const live = make('live', { streaming: true }, 50);
  const liveDemo = make('live-demo', { streaming: true, demonstration: true }, 60);
  const vad = make('vad', { kind: 'vad', languages: ['multi'] });
  const broken = { ...make('broken', { streaming: true }), problem: 'its tokens are missing' };
  const pickLive = (models: readonly InstalledModel[], model?: string, preferred = ''): string =>
    resolveLiveModel(models, model, preferred, RULES).id;

  it('is the one it names, streaming or not', () => {
    assert.equal(pickLive([en, live], 'en-large'), 'en-large');
    assert.equal(pickLive([en, live], 'live@1'), 'live');
    assert.throws(() => pickLive([en], 'nobody'), { code: 'model_not_found', param: 'model' });
    assert.throws(() => pickLive([en, vad], 'vad'), { code: 'model_not_found' });
    assert.throws(() => pickLive([en, broken], 'broken'), { code: 'model_unavailable' });
  });

  it('is the preferred one, else a streaming one, else the default, demonstration models last', () => {
    assert.equal(pickLive([en, live, small], undefined, 'en-small'), 'en-small');
    assert.equal(pickLive([en, live], undefined, 'nobody'), 'live');
    assert.equal(pickLive([en, live, liveDemo, broken]), 'live');
    assert.equal(pickLive([en, liveDemo]), 'en-large');
    assert.equal(pickLive([demo, liveDemo]), 'live-demo');
    assert.equal(pickLive([demo]), 'demo');
    assert.throws(() => pickLive([vad, broken]), { code: 'not_implemented', status: 501 });
  });
});
