/**
 * Lists the licence of every dependency that ships and refuses one that is not free to combine with MIT. A GPL codec
 * may only be an optional package, so that whoever redistributes can leave it out; LGPL and MPL code stays a package of its
 * own that can be exchanged. All must be named in NOTICE.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

type LockEntry = { license?: string; optional?: boolean; dev?: boolean; link?: boolean; version?: string };

const ROOT = new URL('..', import.meta.url);
const FREE =
  /^\(?(0BSD|MIT|MIT-0|ISC|BSD-2-Clause|BSD-3-Clause|Apache-2\.0|BlueOak-1\.0\.0|Unlicense|CC0-1\.0|Python-2\.0|WTFPL|Zlib)(\)?$| (OR|AND) )/;

const read = (path: string): string => readFileSync(new URL(path, ROOT), 'utf8');
const lock: { packages: Record<string, LockEntry> } = JSON.parse(read('package-lock.json'));
const notice = read('NOTICE');

const licenceOf = (path: string, entry: LockEntry): string => {
  if (entry.license) return entry.license;
  try {
    const manifest: { license?: string } = JSON.parse(read(`${path}/package.json`));
    return manifest.license ?? 'unknown';
  } catch {
    // An optional package of another system is not on this disk.
    return entry.optional ? 'not installed' : 'unknown';
  }
};

const faults: string[] = [];
const counts = new Map<string, number>();
for (const [path, entry] of Object.entries(lock.packages)) {
  if (!path.startsWith('node_modules/') || entry.link || entry.dev) continue;
  const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
  const licence = licenceOf(path, entry);
  counts.set(licence, (counts.get(licence) ?? 0) + 1);
  if (FREE.test(licence) || licence === 'not installed') continue;
  const mayStay = entry.optional || /^(LGPL|MPL)-/.test(licence);
  // What is compiled for one system goes by the name of the package it belongs to.
  const family = name.replace(/-(android|darwin|freebsd|linux|win32)-.*$/, '');
  if (mayStay && notice.includes(family)) continue;
  faults.push(`${name}: ${licence}${mayStay ? ' (not named in NOTICE)' : ''}`);
}

for (const [licence, count] of [...counts].sort((a, b) => b[1] - a[1]))
  process.stdout.write(`${String(count).padStart(4)}  ${licence}\n`);
if (faults.length > 0) {
  process.stderr.write(`Licences that may not be here:\n  ${faults.join('\n  ')}\n`);
  process.exitCode = 1;
} else {
  process.stdout.write(
    `Every licence is free (${fileURLToPath(new URL('NOTICE', ROOT)).split('/').at(-1)} names the optional rest).\n`,
  );
}
