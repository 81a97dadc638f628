/** Every text of the pages is there in both languages, and the Russian ones are Russian. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parseSync } from 'vite';
import { WARNING_CODES } from '../../speech/src/core/types.ts';

type Node = { readonly type: string; readonly [key: string]: unknown };

const SOURCE = fileURLToPath(new URL('../src/', import.meta.url));
/** Words that are the same everywhere: names of formats, units and hosts of examples. */
const SAME = /^[\W\d]*$|^(SRT|VTT|TSV|JSON|WAV|Parley|API|CPU|GPU|URL|Id|ID|UUID|IP|LOOKUP|English|ms|s)\W*$/;

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && 'type' in value;

/** All nodes of a tree. */
const nodesOf = function* (node: Node): Generator<Node> {
  yield node;
  for (const value of Object.values(node)) {
    for (const each of Array.isArray(value) ? value : [value]) if (isNode(each)) yield* nodesOf(each);
  }
};

const membersOf = (node: Node): [name: string, value: Node][] =>
  (node.properties as Node[]).flatMap((property) => {
    const key = property.key as { name?: string; value?: unknown } | undefined;
    return key ? [[String(key.name ?? key.value), property.value as Node] as [string, Node]] : [];
  });

/** `{a: {b: 'x'}}` → `a.b`, with what stands there. */
const leavesOf = (node: Node, path = ''): [path: string, value: Node][] => {
  const bare = node.type === 'TSAsExpression' ? (node.expression as Node) : node;
  if (bare.type === 'ObjectExpression') {
    return membersOf(bare).flatMap(([name, value]) => leavesOf(value, path === '' ? name : `${path}.${name}`));
  }
  if (bare.type === 'ArrayExpression') {
    return (bare.elements as Node[]).flatMap((each, at) => leavesOf(each, `${path}.${at}`));
  }
  return [[path, bare]];
};

/** What people read of a text, without what is put into it. */
const wordsOf = (node: Node): string =>
  [...nodesOf(node)]
    .map((each) => {
      if (each.type === 'Literal' && typeof each.value === 'string') return each.value;
      return each.type === 'TemplateElement' ? (each.value as { cooked: string }).cooked : '';
    })
    .join('');

type Table = { readonly place: string; readonly en: Node; readonly ru: Node };

/** The tables that `createTexts` is given, and objects of one text in each language. */
const tablesIn = (file: string): Table[] => {
  const { program, errors } = parseSync(file, readFileSync(file, 'utf8'));
  assert.deepEqual(errors, [], file);
  return [...nodesOf(program as unknown as Node)].flatMap((node) => {
    if (node.type !== 'ObjectExpression') return [];
    const { en, ru } = Object.fromEntries(membersOf(node)) as { en?: Node; ru?: Node };
    if (!en && !ru) return [];
    const place = `${relative(SOURCE, file)}:${node.start}`;
    assert.ok(en && ru, `${place} lacks a language`);
    return [{ place, en, ru }];
  });
};

describe('texts of the pages', () => {
  const tables = globSync(`${SOURCE}**/*.{ts,tsx}`).flatMap(tablesIn);

  it('are the same in both languages, name by name', () => {
    assert.ok(tables.length > 60, `${tables.length} tables`);
    for (const { place, en, ru } of tables) {
      const [english, russian] = [en, ru].map((node) => leavesOf(node).map(([path]) => path));
      // Where the English is empty it comes from the service.
      if (english?.length === 0) continue;
      assert.deepEqual(russian, english, place);
    }
  });

  it('say every warning of the speech service in Russian', () => {
    const warnings = tables.find(({ place }) => place.startsWith('speech/warning-texts'));
    assert.deepEqual(
      leavesOf(warnings!.ru)
        .map(([path]) => path)
        .sort(),
      WARNING_CODES.toSorted(),
    );
  });

  it('are Russian where they say so, and English where they say that', () => {
    const odd = tables
      .filter(({ place }) => !place.startsWith('shared/i18n'))
      .flatMap(({ place, en, ru }) => [
        ...leavesOf(ru)
          .filter(([, node]) => !/[а-яё]/i.test(wordsOf(node)) && !SAME.test(wordsOf(node).trim()))
          .map(([path, node]) => `${place} ru.${path}: ${wordsOf(node)}`),
        ...leavesOf(en)
          .filter(([, node]) => /[а-яё]/i.test(wordsOf(node)))
          .map(([path, node]) => `${place} en.${path}: ${wordsOf(node)}`),
      ]);
    assert.deepEqual(odd, []);
  });
});
