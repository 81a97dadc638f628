/** What a measure was taken on: machine, versions, time, and how busy the machine was. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { arch, cpus, loadavg, release, totalmem, type } from 'node:os';

const ROOT = new URL('../../', import.meta.url);
/** Libraries whose version changes figures. */
const LIBRARIES = ['fastify', 'sherpa-onnx-node', 'pg'];

const versionOf = (path: string): string | undefined => {
  try {
    return (JSON.parse(readFileSync(new URL(path, ROOT), 'utf8')) as { version: string }).version;
  } catch {
    // Not installed on this system.
    return undefined;
  }
};

const commitOf = (): string => {
  const git = (...args: string[]): string =>
    execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  try {
    const changed =
      git('status', '--porcelain', '--untracked-files=no', '--', 'packages') === '' ? '' : ' with changes';
    return ` (${git('rev-parse', '--short', 'HEAD')}${changed})`;
  } catch {
    // An unpacked archive has no history.
    return '';
  }
};

/** One line of what does not change during a run. */
export const describeMachine = (): string => {
  const processors = cpus();
  const libraries = LIBRARIES.flatMap((name) => {
    const version = versionOf(`node_modules/${name}/package.json`);
    return version === undefined ? [] : [`${name} ${version}`];
  });
  return [
    `${processors.length} × ${processors[0]?.model.trim() ?? arch()}`,
    `${(totalmem() / 2 ** 30).toFixed(0)} GiB`,
    `${type()} ${release()}`,
    `Node ${process.versions.node}, SQLite ${process.versions.sqlite}, ${libraries.join(', ')}`,
    `Parley ${versionOf('package.json')}${commitOf()}`,
  ].join(' · ');
};

/** The time to the minute (UTC) and the load of the last minute. */
export const describeMoment = (): string =>
  `${new Date().toISOString().slice(0, 16).replace('T', ' ')} UTC, load at the start ${loadavg()[0]?.toFixed(1)}`;
