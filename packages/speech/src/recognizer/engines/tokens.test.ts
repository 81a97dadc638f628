import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { EngineRefusal } from './engine.ts';
import { hasBlank, parseTokens } from './tokens.ts';

describe('a token list', () => {
  it('is read a line a symbol, a bare number being the space', () => {
    const table = parseTokens('<blk> 0\r\n▁a 1\n 2\n<unk>\t3\n\n');
    assert.deepEqual(
      [...table.idOf],
      [
        ['<blk>', 0],
        ['▁a', 1],
        [' ', 2],
        ['<unk>', 3],
      ],
    );
    assert.equal(table.size, 4);
    assert.equal(hasBlank(table), true);
  });

  it('says how it spells words', () => {
    assert.equal(parseTokens('<blk> 0\n▁ab 1').letterCase, 'lower');
    assert.equal(parseTokens('<blk> 0\n▁AB 1').letterCase, 'upper');
    assert.equal(parseTokens('<blk> 0\n▁Ab 1').letterCase, 'mixed');
    assert.equal(parseTokens('<blk> 0\n日 1').letterCase, 'mixed');
  });

  it('is refused by line when it is none', () => {
    assert.throws(() => parseTokens('<blk> 0\nword'), /line 2/);
    assert.throws(() => parseTokens(''), /no symbols/);
  });

  it('is parsed or refused, whatever it is', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (content) => {
        try {
          return parseTokens(content).size > 0;
        } catch (thrown) {
          return thrown instanceof EngineRefusal;
        }
      }),
    );
  });
});
