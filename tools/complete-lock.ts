/**
 * `npm run lock`: writes package-lock.json anew and completes it. A registry mirror that carries the packages of some
 * systems only makes npm leave the others out, and `npm ci` then refuses the lock file everywhere. What is missing is
 * an optional package for another system: it is entered by name, version and the system its name tells.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

type Entry = {
  version?: string;
  dev?: boolean;
  optional?: boolean;
  os?: string[];
  cpu?: string[];
  libc?: string[];
  optionalDependencies?: Record<string, string>;
};
type Lock = { packages: Record<string, Entry> };

const SYSTEMS = ['android', 'darwin', 'freebsd', 'linux', 'openharmony', 'win32'];
const PROCESSORS: Readonly<Record<string, string>> = {
  arm: 'arm',
  arm64: 'arm64',
  ia32: 'ia32',
  ppc64: 'ppc64',
  riscv64: 'riscv64',
  s390x: 's390x',
  x64: 'x64',
};

/** `@biomejs/cli-linux-x64-musl` → linux, x64, musl. Undefined when the name tells no system. */
const systemOf = (name: string): Pick<Entry, 'os' | 'cpu' | 'libc'> | undefined => {
  const words = name.slice(name.indexOf('/') + 1).split('-');
  const system = words.find((word) => SYSTEMS.includes(word));
  const processor = words.map((word) => PROCESSORS[word]).find((word) => word !== undefined);
  if (system === undefined || processor === undefined) return undefined;
  const libc = words.some((word) => word.startsWith('musl'))
    ? ['musl']
    : words.some((word) => word.startsWith('gnu'))
      ? ['glibc']
      : undefined;
  return { os: [system], cpu: [processor], ...(libc ? { libc } : {}) };
};

const complete = (lock: Lock): number => {
  let added = 0;
  for (const [path, entry] of Object.entries(lock.packages)) {
    for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
      const place = `node_modules/${name}`;
      if (lock.packages[place] || lock.packages[`${path}/${place}`]) continue;
      const system = systemOf(name);
      if (!system || !/^\d/.test(version))
        throw new Error(`${name}@${version} is missing and its name tells no system.`);
      lock.packages[place] = { version, ...(entry.dev ? { dev: true } : {}), optional: true, ...system };
      added += 1;
    }
  }
  return added;
};

/** In an empty folder: npm must not take what happens to be installed here for what is wanted. */
const writeAnew = (): string => {
  const dir = mkdtempSync(join(tmpdir(), 'parley-lock-'));
  try {
    for (const path of ['package.json', ...globSync('packages/*/package.json')]) {
      mkdirSync(dirname(join(dir, path)), { recursive: true });
      cpSync(path, join(dir, path));
    }
    const { status } = spawnSync(
      'npm',
      ['install', '--package-lock-only', '--ignore-scripts', '--no-audit', '--no-fund'],
      {
        cwd: dir,
        stdio: 'inherit',
      },
    );
    if (status !== 0) throw new Error('npm could not write the lock file.');
    return readFileSync(join(dir, 'package-lock.json'), 'utf8');
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
};

const lock: Lock = JSON.parse(
  process.argv.includes('--complete-only') ? readFileSync('package-lock.json', 'utf8') : writeAnew(),
);
const added = complete(lock);
const sorted = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1)));
writeFileSync('package-lock.json', `${JSON.stringify({ ...lock, packages: sorted }, undefined, 2)}\n`);
process.stdout.write(
  `package-lock.json: ${Object.keys(sorted).length} packages, ${added} of other systems entered by name\n`,
);
