import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { choice, duration, int, list, map, text } from './setting-kinds.ts';
import { printSettings, readSettings } from './settings.ts';

const read = (env: Record<string, string>, file?: Record<string, unknown>) =>
  readSettings(
    {
      name: text('', 'A name.', { env: ['OLD_NAME', 'OLDER_NAME'] }),
      count: int(3, 'A number.', { min: 1, max: 5 }),
      mode: choice(['a', 'b'], 'a', 'A word.'),
      wait: duration('2s', 'A pause.'),
    },
    { section: 'thing', env, file },
  );

describe('settings', () => {
  it('come from the fixed names first, in their order, and from none that is empty', () => {
    const both = read({ OLDER_NAME: 'older', PARLEY_THING_NAME: 'own' });
    assert.deepEqual([both.values.name, both.sources.name], ['older', 'env']);
    assert.equal(read({ OLD_NAME: 'old', OLDER_NAME: 'older', PARLEY_THING_NAME: 'own' }).values.name, 'old');
    assert.equal(read({ OLD_NAME: '', PARLEY_THING_NAME: 'own' }).values.name, 'own');
    const empty = read({ OLD_NAME: '', PARLEY_THING_COUNT: '' }, { thing: { count: 4 } });
    assert.deepEqual([empty.values.count, empty.sources.count, empty.sources.name], [4, 'file', 'default']);
  });

  it('are within their bounds, the bounds among them', () => {
    assert.equal(read({ PARLEY_THING_COUNT: '1' }).values.count, 1);
    assert.equal(read({ PARLEY_THING_COUNT: '5' }).values.count, 5);
    assert.throws(() => read({ PARLEY_THING_COUNT: '0' }), /PARLEY_THING_COUNT: count must be at least 1/);
    assert.throws(() => read({ PARLEY_THING_COUNT: '6' }), /count must be at most 5/);
    assert.throws(() => read({ PARLEY_THING_COUNT: '2.5', PARLEY_THING_MODE: 'c' }), /whole number[\s\S]*one of a, b/);
    assert.equal(read({ PARLEY_THING_WAIT: '3' }).values.wait, 3000);
  });

  it('are printed without the password of any URL, in lists and mappings too', () => {
    const declaration = {
      place: text('', 'A URL.'),
      places: list([], 'URLs.'),
      mirrors: map({}, 'URLs by name.'),
      key: text('', 'A secret.', { secret: true }),
      keys: list([], 'Secrets.', { secret: true }),
    };
    const url = (host: string): string => `https://me:hidden@${host}/x`;
    const settings = readSettings(declaration, {
      section: 'thing',
      env: { PARLEY_THING_KEY: 'hidden-key' },
      file: { thing: { place: url('a'), places: [url('b'), 'plain'], mirrors: { one: url('c') } } },
    });
    const printed = printSettings(declaration, settings);
    assert.doesNotMatch(JSON.stringify(printed), /hidden/);
    assert.deepEqual(
      { ...printed, _sources: undefined },
      {
        place: 'https://me:redacted@a/x',
        places: ['https://me:redacted@b/x', 'plain'],
        mirrors: { one: 'https://me:redacted@c/x' },
        key: '[redacted]',
        keys: [],
        _sources: undefined,
      },
    );
  });
});
