/** The bill of materials against the lock file; `npm run sbom` writes it anew. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import type { Bill, Lock } from '../tools/sbom/shape.ts';
import { refsOfShipped, shippedIn } from '../tools/sbom/shipped.ts';

const read = (path: string): string => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8');

const bill = JSON.parse(read('docs/sbom.cdx.json')) as Bill;
const lock = JSON.parse(read('package-lock.json')) as Lock;

describe('docs/sbom.cdx.json', () => {
  it('has every package that ships, with its version, and no other', () => {
    const named = bill.components.filter(({ purl }) => purl?.startsWith('pkg:npm/')).map((each) => each['bom-ref']);
    assert.ok(named.length > 200);
    assert.deepEqual(named.toSorted(), [...shippedIn(lock)].toSorted());
    assert.equal(bill.metadata.component.version, lock.packages['']?.version);
  });

  it('has a licence for each, and a digest for each that the lock file has one for', () => {
    const digested = new Set(
      Object.entries(lock.packages).flatMap(([path, entry]) =>
        'integrity' in entry ? [`${path.slice(path.lastIndexOf('node_modules/') + 13)}@${entry.version}`] : [],
      ),
    );
    for (const { 'bom-ref': ref, licenses, hashes } of bill.components) {
      assert.ok((licenses ?? []).length > 0, ref);
      if (digested.has(ref)) assert.match(hashes?.[0]?.content ?? '', /^[0-9a-f]{40,128}$/, ref);
    }
  });

  it('says what depends on what, of what ships only', () => {
    const refs = refsOfShipped(lock);
    const root = bill.metadata.component['bom-ref'];
    const dependencies = new Map((bill.dependencies ?? []).map(({ ref, dependsOn = [] }) => [ref, dependsOn]));
    for (const [ref, names] of dependencies) {
      for (const name of [ref, ...names]) assert.ok(name === root || refs.has(name), name);
    }
    assert.ok(
      [...dependencies].some(
        ([ref, names]) => ref.startsWith('@parley/kit@') && names.some((name) => name.startsWith('pg@')),
      ),
    );
  });

  it('names no place of the machine it was made on', () => {
    assert.doesNotMatch(JSON.stringify(bill), /file:|localhost|registry\.|"\//);
  });
});
