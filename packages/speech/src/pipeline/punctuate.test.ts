/** Laying what a punctuation model wrote along the words it was given. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { attachMarks, replaceWords, toPlainText } from './punctuate.ts';

const attach = (text: string, punctuated: string, language = 'en'): string | undefined =>
  attachMarks(text.split(' '), punctuated, language)?.join(' ');

describe('marks onto words', () => {
  it('become those of the language, with capitals where sentences begin', () => {
    assert.equal(
      attach('hello i want to pay but my account is closed', 'hello，i want to pay，but my account is closed。'),
      'Hello, I want to pay, but my account is closed.',
    );
    assert.equal(attach('what is it thanks', 'what is it？thanks。'), 'What is it? Thanks.');
    assert.equal(attach("yes i'm here", "yes，i'm here。"), "Yes, I'm here.");
  });

  it('keep the capitals a model writes', () => {
    assert.equal(
      attach('how are you john i am fine', 'How are you, John? I am fine.'),
      'How are you, John? I am fine.',
    );
    assert.equal(attach('the usa and nato', 'The USA and NATO.'), 'The USA and NATO.');
  });

  it('find words again when a model joins or parts them', () => {
    assert.equal(attach('привет как дела', 'приветкакдела。', 'ru'), 'Привет как дела.');
    assert.equal(
      attach("don't call u.s.a. twenty-five", "don't call u . s . a . twenty - five。"),
      "Don't call u.s.a. twenty-five.",
    );
  });

  it('add none where a word has its own', () => {
    assert.equal(attach('well, yes. (maybe)', 'well，, yes。. (maybe)。'), 'Well, yes. (Maybe)');
  });

  it('stay full-width in Chinese and Japanese', () => {
    assert.deepEqual(attachMarks(['你', '好', '世', '界'], '你好，世界。', 'zh'), ['你', '好，', '世', '界。']);
  });

  it('are refused when words changed, were lost or came from nowhere', () => {
    assert.equal(attach('one two', 'one three。'), undefined);
    assert.equal(attach('one two', 'one。'), undefined);
    assert.equal(attach('one', 'one two。'), undefined);
    assert.equal(attach('one two', ''), undefined);
  });

  it('are asked for with small letters when everything is in capitals', () => {
    assert.equal(toPlainText(['HELLO', 'WORLD']), 'hello world');
    assert.equal(toPlainText(['Hello', 'NATO']), 'Hello NATO');
    assert.equal(attach('HELLO WORLD', 'hello，world。'), 'Hello, world.');
  });

  it('leave what stands between words', () => {
    assert.equal(replaceWords('你好世界', ['你', '好', '世', '界'], ['你', '好，', '世', '界。']), '你好，世界。');
    assert.equal(replaceWords('one  two', ['one', 'two'], ['One', 'two.']), 'One  two.');
    assert.equal(replaceWords('ab', ['a', 'x'], ['A', 'X']), 'A X');
  });
});
