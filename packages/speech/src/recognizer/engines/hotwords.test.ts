import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { toHotwordList } from './hotwords.ts';

describe('the list of hotwords for one stream', () => {
  it('gives every phrase a score, its own or the common one', () => {
    const list = toHotwordList([{ phrase: 'sails', score: 2.5 }, { phrase: 'dead weight' }], 2);
    assert.equal(list, 'sails :2.50/dead weight :2.00');
  });

  it('spells phrases the way the model spells words', () => {
    assert.equal(toHotwordList([{ phrase: 'Sails' }], 1, 'upper'), 'SAILS :1.00');
    assert.equal(toHotwordList([{ phrase: 'Sails' }], 1, 'lower'), 'sails :1.00');
    assert.equal(toHotwordList([{ phrase: 'Sails' }], 1, 'mixed'), 'Sails :1.00');
  });

  it('takes out what would be read as a separator or an option', () => {
    assert.equal(toHotwordList([{ phrase: 'a/b\n:9 #1 @x c' }], 1), 'a b 9 1 x c :1.00');
  });

  it('is nothing when nothing is left', () => {
    assert.equal(toHotwordList([{ phrase: ' / : ' }]), undefined);
    assert.equal(toHotwordList([]), undefined);
  });
});
