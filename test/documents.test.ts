/** Pages of docs/ that are written by hand, held against the code they tell about. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { createSilentLog } from '@parley/kit/log.ts';
import { isObject } from '@parley/platform/rest/json.ts';
import type { Key } from '@parley/platform/scripts/element.ts';
import { ELEMENTS } from '@parley/platform/scripts/elements/all.ts';
import { FAULT_REASONS } from '@parley/platform/scripts/fault.ts';
import * as limits from '@parley/platform/scripts/limits.ts';
import { SAMPLES } from '@parley/platform/scripts/samples/all.ts';
import { createSandbox } from '@parley/platform/scripts/sandbox-pool.ts';
import { createScriptChecks } from '@parley/platform/scripts/validate.ts';

const read = (name: string): string => readFileSync(new URL(`../docs/${name}`, import.meta.url), 'utf8');

describe('docs/scripts.md', () => {
  const page = read('scripts.md');
  const sections = new Map(
    page.split('\n### ').flatMap((section) => {
      const [, oType, name, text] = /^(\d+) ([^\n]+)\n([\s\S]*?)(?:\n## |$)/.exec(section) ?? [];
      return oType === undefined ? [] : [[Number(oType), { name, text: text ?? '' }]];
    }),
  );

  it('has every element with every key it takes, and no other', () => {
    assert.deepEqual(
      [...sections].map(([oType, { name }]) => [oType, name]).toSorted(),
      ELEMENTS.map(({ oType, name }) => [oType, name]).toSorted(),
    );
    for (const { oType, keys } of ELEMENTS) {
      for (const { name, key } of namesOf(keys)) {
        const shown = new RegExp(`[\`"]${name}[\`":]`);
        assert.match(sections.get(oType)!.text, shown, `${oType} does not tell ${name}`);
        for (const word of key.words ?? []) assert.ok(sections.get(oType)!.text.includes(word), `${oType} ${word}`);
      }
    }
  });

  it('tells the limits as they are, the reasons of failures and the ready scripts', () => {
    const { MAX_STEPS, MAX_CALL_DEPTH, MAX_LOOP_DEPTH, MAX_RUNS, MAX_TEMPLATE_EXPRESSIONS, MAX_LOG_LINES } = limits;
    const rows: readonly (readonly [string, number])[] = [
      ['steps', MAX_STEPS],
      ['time', limits.MAX_WALL_MS / 1000],
      ['processor', limits.MAX_CPU_MS / 1000],
      ['variables', limits.MAX_VARIABLES_BYTES],
      ['bytes in and out of evaluations', limits.MAX_MOVED_BYTES],
      ['memory of an evaluation', limits.MAX_SANDBOX_BYTES],
      ['scripts that call each other', MAX_CALL_DEPTH],
      ['loops in each other', MAX_LOOP_DEPTH],
      ['expressions of one template', MAX_TEMPLATE_EXPRESSIONS],
      ['log', MAX_LOG_LINES],
      ['runs at once on a node', MAX_RUNS],
    ];
    for (const [name, limit] of rows) {
      const [, said] = new RegExp(`^\\| ${name} \\| ([\\d,]+)`, 'm').exec(page) ?? [];
      assert.equal(Number(said?.replaceAll(',', '')), limit, name);
    }
    for (const reason of FAULT_REASONS) assert.ok(page.includes(`\`${reason}\``), reason);
    for (const { name } of SAMPLES) assert.ok(page.includes(`| \`${name}\` |`), name);
  });

  it('shows a first script that can be saved', async () => {
    await using sandbox = createSandbox({ log: createSilentLog() });
    const { check, compile } = createScriptChecks(ELEMENTS, sandbox);
    const script: unknown = JSON.parse(/```json\n([\s\S]*?)```/.exec(page)![1]!);
    assert.ok(isObject(script));
    assert.equal(check(script), undefined);
    await compile(script.scriptdata);
  });
});

const namesOf = (keys: Readonly<Record<string, Key>>): { readonly name: string; readonly key: Key }[] =>
  Object.entries(keys).flatMap(([name, key]) => [{ name, key }, ...namesOf(key.items ?? {})]);
