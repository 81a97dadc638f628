/**
 * `npm run sbom [-- --check]`: writes docs/sbom.cdx.json, a bill of materials (CycloneDX 1.5) of everything that ships: npm's own
 * of the lock file, without what only developers install, and what npm does not know of (tools/sbom/other-parts.ts).
 * Times and random numbers are left out, so that the same lock file gives the same file. `--check` only compares.
 * npm's own choice (`npm sbom --omit dev`) cannot be used: it leaves out what developers' tools need as well, pg among it.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { withInnards } from './sbom/innards.ts';
import { otherParts } from './sbom/other-parts.ts';
import type { Bill, Component, Lock } from './sbom/shape.ts';
import { refsOfShipped, shippedIn } from './sbom/shipped.ts';

const DOCUMENT = new URL('../docs/sbom.cdx.json', import.meta.url);
const LOCK = new URL('../package-lock.json', import.meta.url);

/** What a reader of the bill needs; authors and addresses can be looked up by the purl. */
const slim = ({ 'bom-ref': ref, type, group, name, version, scope, purl, hashes, licenses }: Component): Component => ({
  'bom-ref': ref,
  type,
  ...(group === undefined ? {} : { group }),
  name,
  version,
  ...(scope === undefined ? {} : { scope }),
  ...(licenses === undefined ? {} : { licenses }),
  ...(purl === undefined ? {} : { purl }),
  ...(hashes === undefined || hashes.length === 0 ? {} : { hashes }),
});

const makeBill = (): Bill => {
  const lock = JSON.parse(readFileSync(LOCK, 'utf8')) as Lock;
  const args = ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only', '--loglevel=error'];
  const whole = JSON.parse(execFileSync('npm', args, { encoding: 'utf8', maxBuffer: 2 ** 28 })) as Bill;
  const wanted = shippedIn(lock);
  const refs = refsOfShipped(lock);
  const components = whole.components.filter((component) => wanted.has(component['bom-ref'])).map(slim);
  const missing = [...wanted].filter((name) => !components.some((component) => component['bom-ref'] === name));
  if (missing.length > 0) throw new Error(`npm's bill has no ${missing.join(', ')}`);
  const { version = '' } = lock.packages[''] ?? {};
  const root = `parley@${version}`;
  const others = otherParts();
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    version: 1,
    metadata: {
      component: {
        'bom-ref': root,
        type: 'application',
        name: 'parley',
        version,
        licenses: [{ license: { id: 'MIT' } }],
      },
    },
    components: [...components.map(withInnards), ...others],
    dependencies: (whole.dependencies ?? [])
      .filter(({ ref }) => ref === root || refs.has(ref))
      .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter((name) => refs.has(name)) })),
  };
};

/** One component and one dependency a line: small, and a change shows in a diff. */
const render = ({ components, dependencies, ...head }: Bill): string => {
  const lines = (values: readonly unknown[] = []): string =>
    values.map((value) => `  ${JSON.stringify(value)}`).join(',\n');
  const start = JSON.stringify(head, null, 1).slice(0, -2);
  return `${start},\n "components": [\n${lines(components)}\n ],\n "dependencies": [\n${lines(dependencies)}\n ]\n}\n`;
};

const { values } = parseArgs({ options: { check: { type: 'boolean', default: false } } });
const text = render(makeBill());
if (!values.check) writeFileSync(DOCUMENT, text);
else if (readFileSync(DOCUMENT, 'utf8') !== text) {
  process.stderr.write('docs/sbom.cdx.json is not what the lock file says: run npm run sbom.\n');
  process.exitCode = 1;
}
