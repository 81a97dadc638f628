/** docs/security.md: the files it names exist, and every item of levels 1 and 2 of OWASP ASVS 5.0.0 has its place. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';

const ROOT = new URL('../', import.meta.url);
const page = readFileSync(new URL('docs/security.md', ROOT), 'utf8');

/** By chapter the number of items of levels 1 and 2 in each section; those of level 3 stand last but where a list says. */
const ITEMS: Readonly<Record<number, readonly number[]>> = {
  1: [2, 9, 11, 3, 2],
  2: [3, 3, 4, 1],
  3: [0, 2, 4, 6, 5, 0, 2],
  4: [3, 1, 2, 4],
  5: [1, 3, 2, 3],
  6: [3, 12, 4, 4, 5, 3, 0, 4],
  7: [3, 4, 2, 5, 2, 2],
  8: [2, 3, 1, 1],
  9: [3, 4],
  10: [2, 2, 4, 11, 5, 2, 3],
  11: [2, 3, 3, 4, 1, 1],
  12: [3, 2, 4],
  13: [1, 5, 2, 5],
  14: [2, 4, 3],
  15: [3, 3, 7],
  16: [1, 5, 4, 3, 3],
  17: [1, 4, 2],
};

const wanted = Object.entries(ITEMS).flatMap(([chapter, sections]) =>
  sections.flatMap((count, index) => Array.from({ length: count }, (_, no) => `${chapter}.${index + 1}.${no + 1}`)),
);

/** `10.3.1-4` stands for four. */
const spread = (word: string): string[] => {
  const [, head = '', from = '', to = from] = /^(\d+\.\d+\.)(\d+)(?:-(\d+))?$/.exec(word) ?? [];
  return Array.from({ length: Number(to) - Number(from) + 1 }, (_, index) => `${head}${Number(from) + index}`);
};

describe('docs/security.md', () => {
  it('names files that are there', () => {
    const named = [
      ...page.matchAll(/`((?:kit|speech|platform|parley|web)\/[\w./-]+\.ts|(?:test|tools)\/[\w./-]+\.ts)`/g),
    ];
    assert.ok(named.length > 150);
    for (const [, file = ''] of named) {
      const [place = '', ...rest] = file.split('/');
      const inner = rest.join('/');
      const path = /^(?:test|tools)$/.test(place)
        ? file
        : `packages/${place}/${inner.startsWith('test/') ? inner : `src/${inner}`}`;
      assert.ok(existsSync(new URL(path, ROOT)), file);
    }
  });

  it('has every item once: not met, not applying, or held', () => {
    assert.equal(wanted.length, 253);
    const said = [...page.matchAll(/^\| ((?:\d+\.\d+\.\d+(?:-\d+)?(?:, )?)+) \|/gm)].flatMap(([, words = '']) =>
      words.split(', ').flatMap(spread),
    );
    assert.deepEqual(said.toSorted(), wanted.toSorted());
  });

  it('names a test for what is held, or the page that is all there is to it', () => {
    const held = page.slice(page.indexOf('## Held'), page.indexOf('## Cryptography'));
    for (const line of held.split('\n').filter((each) => /^\| \d/.test(each) && !each.startsWith('| 13.1.1 '))) {
      assert.match(line.split(' | ').at(-1)!, /\.test\.ts`/, line);
    }
  });
});
