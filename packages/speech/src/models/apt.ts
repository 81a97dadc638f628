/**
 * apt-get with lists, cache and sources of our own, so that Debian packages can be fetched without root and without
 * touching the system. apt checks the signatures; nothing is installed: packages are unpacked with dpkg-deb.
 */
import { execFile } from 'node:child_process';
import { access, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Log } from '@parley/kit/log.ts';
import { pickSources, publicSources, readDistribution, type SourceFiles, type SystemSource } from './apt-sources.ts';
import { DownloadFault } from './fault.ts';
import { waitForLock } from './lock.ts';

/** Where the system keeps what apt goes by; another only in tests. */
export type AptSystem = { readonly etcApt: string; readonly osRelease: string; readonly dpkgStatus: string };
export const APT_SYSTEM: AptSystem = {
  etcApt: '/etc/apt',
  osRelease: '/etc/os-release',
  dpkgStatus: '/var/lib/dpkg/status',
};

export type AptOptions = {
  /** Folder that is ours. */
  readonly dir: string;
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly system?: AptSystem;
};

/** Holds our apt folder until disposed: two fetches at once, also of two processes, take turns. */
export type Apt = AsyncDisposable & {
  /** Version apt would take, and the one installed; undefined for none. */
  policy(packages: readonly string[]): Promise<ReadonlyMap<string, { candidate?: string; installed?: string }>>;
  /** These packages and what they depend on, without what the system has installed. */
  missing(packages: readonly string[]): Promise<readonly string[]>;
  /** Fetches packages into an empty folder and unpacks them into another. */
  unpack(packages: readonly string[], into: string): Promise<void>;
};

type Tool = (command: string, args: readonly string[], timeoutMs: number, cwd?: string) => Promise<string>;

const UPDATE_TIMEOUT_MS = 45_000;
const DOWNLOAD_TIMEOUT_MS = 240_000;
const LOCAL_TIMEOUT_MS = 60_000;
/** Seconds apt waits for a connection or a byte. */
const APT_TIMEOUT_SEC = 10;
const MAX_OUTPUT_BYTES = 16 * 2 ** 20;
const run = promisify(execFile);

/** The one line of a tool's complaints that says most. */
const reasonOf = (stderr: string): string =>
  (
    stderr.split('\n').find((line) => line.startsWith('E:')) ??
    stderr.split('\n').find((line) => line.startsWith('W:')) ??
    stderr
  )
    .trim()
    .slice(0, 300);

const createTool =
  (signal: AbortSignal): Tool =>
  async (command, args, timeout, cwd) => {
    try {
      // `env` sets the language apt speaks; the rest of the environment (proxies) is inherited.
      const { stdout } = await run('env', ['LC_ALL=C', command, ...args], {
        signal,
        timeout,
        maxBuffer: MAX_OUTPUT_BYTES,
        ...(cwd !== undefined && { cwd }),
      });
      return stdout;
    } catch (cause) {
      signal.throwIfAborted();
      const { code, killed, stderr = '' } = cause as { code?: unknown; killed?: boolean; stderr?: string };
      if (code === 127 || code === 'ENOENT') {
        throw new DownloadFault('unsupported_system', `This system has no ${command}: it is not Debian or Ubuntu.`, {
          cause,
        });
      }
      const why = killed === true ? `no answer within ${timeout / 1000} s` : reasonOf(stderr);
      throw new DownloadFault('unreachable', `${command} failed: ${why}`, { cause });
    }
  };

const configText = (dir: string, system: AptSystem): string => {
  if (/["\n]/.test(dir))
    throw new DownloadFault('unsupported_system', 'apt cannot work in a folder with a quote in its name.');
  return `Dir::Etc::sourcelist "/dev/null";
Dir::Etc::sourceparts "${dir}/sources";
Dir::State "${dir}/state";
Dir::State::lists "${dir}/state/lists";
Dir::State::status "${system.dpkgStatus}";
Dir::Cache "${dir}/cache";
Dir::Log "${dir}/log";
APT::Sandbox::User "root";
Acquire::Languages "none";
Acquire::Retries "0";
Acquire::http::Timeout "${APT_TIMEOUT_SEC}";
Acquire::https::Timeout "${APT_TIMEOUT_SEC}";
Acquire::AllowInsecureRepositories "false";
APT::Get::AllowUnauthenticated "false";
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear Acquire::IndexTargets::deb::DEP-11;
#clear Acquire::IndexTargets::deb::DEP-11-icons;
#clear Acquire::IndexTargets::deb::DEP-11-icons-small;
#clear Acquire::IndexTargets::deb::DEP-11-icons-large;
#clear Acquire::IndexTargets::deb::CNF;
`;
};

const readText = (path: string): Promise<string> => readFile(path, 'utf8').catch(() => '');

const readSystemSources = async ({ etcApt }: AptSystem): Promise<SystemSource[]> => {
  const parts = join(etcApt, 'sources.list.d');
  const names = await readdir(parts).catch(() => [] as string[]);
  const files = [join(etcApt, 'sources.list'), ...names.sort().map((name) => join(parts, name))];
  return Promise.all(files.map(async (name) => ({ name, content: await readText(name) })));
};

/** What to try, in order: the system's own archive, then the public one. */
const sourcesToTry = async (system: AptSystem, tool: Tool): Promise<SourceFiles[]> => {
  const distribution = readDistribution(await readText(system.osRelease));
  if (!distribution)
    throw new DownloadFault('unsupported_system', 'This system is neither Debian nor Ubuntu nor made from them.');
  const architecture = (await tool('dpkg', ['--print-architecture'], LOCAL_TIMEOUT_MS)).trim();
  const own = pickSources(await readSystemSources(system), distribution.codename);
  const known = publicSources(distribution, architecture);
  return [...(Object.keys(own).length > 0 ? [own] : []), ...(known ? [known] : [])];
};

const writeSources = async (dir: string, files: SourceFiles): Promise<void> => {
  const folder = join(dir, 'sources');
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  await Promise.all(Object.entries(files).map(([name, content]) => writeFile(join(folder, name), content)));
};

const prepare = async (dir: string, system: AptSystem): Promise<string> => {
  for (const folder of ['state/lists/partial', 'cache/archives/partial', 'log']) {
    await mkdir(join(dir, folder), { recursive: true });
  }
  const config = join(dir, 'apt.conf');
  await writeFile(config, configText(dir, system));
  return config;
};

const parsePolicy = (text: string): Map<string, { candidate?: string; installed?: string }> => {
  const found = new Map<string, { candidate?: string; installed?: string }>();
  for (const block of text.split(/\n(?=\S)/)) {
    const name = /^(\S+):$/m.exec(block)?.[1];
    const installed = /^ {2}Installed: (?!\(none\))(\S+)$/m.exec(block)?.[1];
    const candidate = /^ {2}Candidate: (?!\(none\))(\S+)$/m.exec(block)?.[1];
    if (name) found.set(name, { ...(candidate && { candidate }), ...(installed && { installed }) });
  }
  return found;
};

/** The packages of a simulated installation. */
const parseSimulation = (text: string): string[] =>
  text.split('\n').flatMap((line) => /^Inst (\S+) /.exec(line)?.[1] ?? []);

/** Names of the packages dpkg holds for installed. */
const parseInstalled = (status: string): Set<string> =>
  new Set(
    status
      .split('\n\n')
      .filter((stanza) => /^Status: \S+ ok installed$/m.test(stanza))
      .flatMap((stanza) => /^Package: (\S+)$/m.exec(stanza)?.[1] ?? []),
  );

const createApt = (
  dir: string,
  config: string,
  system: AptSystem,
  tool: Tool,
): Omit<Apt, typeof Symbol.asyncDispose> => ({
  policy: async (packages) =>
    parsePolicy(await tool('apt-cache', ['-c', config, 'policy', ...packages], LOCAL_TIMEOUT_MS)),
  missing: async (packages) => {
    // Asked of an empty system: on the real one apt refuses to plan while anything unrelated is broken or held.
    const empty = join(dir, 'state', 'nothing-installed');
    await writeFile(empty, '');
    const args = [
      '-c',
      config,
      '-o',
      `Dir::State::status=${empty}`,
      '-s',
      '--no-install-recommends',
      'install',
      ...packages,
    ];
    const closure = parseSimulation(await tool('apt-get', args, LOCAL_TIMEOUT_MS));
    const installed = parseInstalled(await readText(system.dpkgStatus));
    return closure.filter((name) => !installed.has(name));
  },
  unpack: async (packages, into) => {
    const folder = join(dir, 'packages');
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { recursive: true });
    await mkdir(into, { recursive: true });
    await tool('apt-get', ['-c', config, '-q', 'download', ...packages], DOWNLOAD_TIMEOUT_MS, folder);
    for (const file of (await readdir(folder)).filter((name) => name.endsWith('.deb'))) {
      await tool('dpkg-deb', ['-x', join(folder, file), into], LOCAL_TIMEOUT_MS);
    }
    await rm(folder, { recursive: true, force: true });
  },
});

/** The lists of the first sources that have one of `wanted`. */
const update = async (wanted: readonly string[], tries: readonly SourceFiles[], tool: Tool, options: AptOptions) => {
  const { dir, signal, log, system = APT_SYSTEM } = options;
  const config = await prepare(dir, system);
  const apt = createApt(dir, config, system, tool);
  let fault: unknown = new DownloadFault('unsupported_system', 'No package archive is known for this system.');
  for (const files of tries) {
    await writeSources(dir, files);
    // One list that fails does not spoil the others: what counts is whether the package is there afterwards.
    const failed = await tool('apt-get', ['-c', config, '-q', 'update'], UPDATE_TIMEOUT_MS).then(
      () => undefined,
      (error: unknown) => error,
    );
    signal.throwIfAborted();
    const known = await apt.policy(wanted);
    if ([...known.values()].some(({ candidate }) => candidate !== undefined)) return apt;
    fault = failed ?? new DownloadFault('not_found', `The package archive has no ${wanted.join(' or ')}.`);
    log.warn({ problem: (fault as Error).message }, 'package archive');
  }
  throw fault;
};

/**
 * Reads the archive's lists into our folder until one of `wanted` can be had. Throws DownloadFault: unsupported_system
 * (no apt, another distribution), unreachable (no archive answers), not_found (none has any of `wanted`).
 */
export const openApt = async (wanted: readonly string[], options: AptOptions): Promise<Apt> => {
  const tool = createTool(options.signal);
  const tries = await sourcesToTry(options.system ?? APT_SYSTEM, tool);
  await mkdir(options.dir, { recursive: true });
  const lock = await waitForLock(join(options.dir, 'lock'), options.signal);
  try {
    const apt = await update(wanted, tries, tool, options);
    return { ...apt, [Symbol.asyncDispose]: () => lock[Symbol.asyncDispose]() };
  } catch (error) {
    await lock[Symbol.asyncDispose]();
    throw error;
  }
};

/** Whether a file or folder is there. */
export const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );
