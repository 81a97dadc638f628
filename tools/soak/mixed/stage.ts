/**
 * Where the load plays: `npm start` on a folder of its own, as a stranger would start it, with a receiver of callbacks and a mail
 * server beside it. The folder is a small disk of its own where mounting is allowed, so that it can be filled.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { type PostgresServer, startPostgres } from '@parley/kit/testing/postgres-server.ts';
import { mountSmallDisk, type SmallDisk } from '@parley/kit/testing/small-disk.ts';
import { startTestSmtp, type TestSmtp } from '../../../packages/platform/test/start-test-smtp.ts';
import { treeOf } from '../process-tree.ts';
import { type Receiver, SECRET, startReceiver } from '../receiver.ts';
import { testdata } from '../service.ts';
import { createLogScan, type LogScan } from './log-scan.ts';

export const PASSWORD = 'Mixed-Soak-Password-1';
export const KEY = 'sk-soak-mixed-0123456789abcdef';
const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const DISK_BYTES = 512 * 2 ** 20;
const READY_MS = 120_000;
const LOOK_MS = 100;
const MODELS = ['offline-transducer', 'online-transducer'];

export type Stage = AsyncDisposable & {
  readonly platformUrl: string;
  readonly speechUrl: string;
  readonly dataDir: string;
  /** TMPDIR of everything that was started. */
  readonly tempDir: string;
  /** The disk of the data folder, which can be filled; or why there is none. */
  readonly disk: SmallDisk;
  readonly postgres: PostgresServer | undefined;
  readonly receiver: Receiver;
  readonly smtp: TestSmtp;
  readonly logs: LogScan;
  /** Revisions of the offline model. */
  readonly revisions: readonly string[];
  /** Settings by full key. */
  readonly settings: Readonly<Record<string, string>>;
  /** Process id of the supervisor. */
  pid(): number;
  /** Starts the command; it must not be running. */
  start(): Promise<void>;
  /** Resolves when the command is gone, in whatever manner. */
  gone(): Promise<void>;
  /** Both services say that they can work; throws when they never do. */
  ready(): Promise<void>;
  /** SIGTERM, as systemd would. */
  stop(): Promise<void>;
};

export type StageOptions = {
  readonly isPostgres: boolean;
  readonly random: () => number;
  fault(text: string): void;
  /** The supervisor starts a node anew. */
  onRestart(): void;
};

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** A port that stays the same over restarts. */
const findPort = async (): Promise<number> => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
};

/** Fixture models, and of the first one a second revision to swap to. */
const placeModels = async (dataDir: string): Promise<readonly string[]> => {
  const placed: string[] = [];
  for (const [index, name] of MODELS.entries()) {
    const from = testdata(`models/${name}`);
    const manifest = JSON.parse(await readFile(join(from, 'model.json'), 'utf8'));
    for (const revision of index === 0 ? [manifest.revision, 'next'] : [manifest.revision]) {
      const to = join(dataDir, 'models', `${manifest.id}@${revision}`);
      await cp(from, to, { recursive: true });
      await writeFile(join(to, 'model.json'), JSON.stringify({ ...manifest, revision }));
      if (index === 0) placed.push(revision);
    }
  }
  return placed;
};

const isReady = async (url: string): Promise<boolean> => {
  try {
    const answer = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(5000) });
    await answer.arrayBuffer();
    return answer.ok;
  } catch {
    return false;
  }
};

/** The command through npm, its output read line by line. */
const launch = (settings: Readonly<Record<string, string>>, tempDir: string, logs: LogScan): ChildProcess => {
  const flags = Object.entries(settings).map(([key, value]) => `--set=${key}=${value}`);
  const child = spawn('npm', ['start', '--silent', '--', ...flags], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      TMPDIR: tempDir,
      PARLEY_ADMIN_PASSWORD: PASSWORD,
      PARLEY_SPEECH_ADMIN_KEY: KEY,
      npm_config_logs_max: '0',
      npm_config_update_notifier: 'false',
    },
  });
  for (const stream of [child.stdout!, child.stderr!]) createInterface({ input: stream }).on('line', logs.take);
  return child;
};

const findSupervisor = async (npm: ChildProcess): Promise<number> => {
  for (;;) {
    const tree = treeOf(npm.pid!);
    const found: number[] = [];
    for (const pid of tree) {
      const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
      if (pid !== npm.pid && line.includes('bin/parley.js')) found.push(pid);
    }
    if (found.length > 0) return found.at(-1)!;
    if (npm.exitCode !== null) throw new Error(`npm start ended with ${npm.exitCode}`);
    await sleep(LOOK_MS);
  }
};

type Beside = Pick<Stage, 'disk' | 'postgres' | 'receiver' | 'smtp'> & {
  readonly root: string;
  readonly place: string;
};

const openBeside = async (stack: AsyncDisposableStack, options: StageOptions): Promise<Beside> => {
  const root = await mkdtemp(join(tmpdir(), 'parley-mixed-'));
  stack.defer(() => rm(root, { recursive: true, force: true }));
  const disk = await mountSmallDisk(join(root, 'disk'), DISK_BYTES);
  stack.defer(() => {
    if ('path' in disk) disk.unmount();
  });
  await mkdir(join(root, 'tmp'));
  const postgres = options.isPostgres ? stack.use(await startPostgres()) : undefined;
  const smtp = stack.use(await startTestSmtp({ refuse: () => (options.random() < 0.1 ? 451 : undefined) }));
  const receiver = await startReceiver(options.random, options.fault);
  stack.defer(() => receiver.close());
  const place = postgres ? await postgres.createDatabase() : '';
  return { root, disk, postgres, smtp, receiver, place };
};

const settingsOf = (dataDir: string, ports: readonly [number, number], { receiver, place }: Beside) => ({
  data_dir: dataDir,
  'platform.port': String(ports[0]),
  'speech.server.port': String(ports[1]),
  'speech.registry.first_start': 'offline',
  'speech.server.body_idle_timeout': '5s',
  'speech.jobs.webhook_allowed_hosts': receiver.host,
  'speech.jobs.webhook_secret': SECRET,
  // So many attempts are cut short here that three would be too few.
  'speech.jobs.max_attempts': '100',
  'speech.jobs.lease': '3s',
  'platform.invite.interval': '0s',
  'platform.mail.retry_after': '1s,2s,5s,10s,10s',
  ...(place === '' ? {} : { 'storage.url': place }),
});

/** Starts everything and waits until both services can work. */
export const openStage = async (options: StageOptions): Promise<Stage> => {
  await using stack = new AsyncDisposableStack();
  const beside = await openBeside(stack, options);
  const [dataDir, tempDir] = [join(beside.root, 'disk', 'data'), join(beside.root, 'tmp')];
  const revisions = await placeModels(dataDir);
  const ports = [await findPort(), await findPort()] as const;
  const settings = settingsOf(dataDir, ports, beside);
  const [platformUrl, speechUrl] = ports.map((port) => `http://127.0.0.1:${port}`) as [string, string];
  const logs = createLogScan([PASSWORD, KEY, SECRET], options.onRestart);
  let npm: ChildProcess | undefined;
  let pid = 0;
  let ended: Promise<unknown> = Promise.resolve();
  const gone = async (): Promise<void> => {
    await ended;
  };
  const start = async (): Promise<void> => {
    npm = launch(settings, tempDir, logs);
    ended = once(npm, 'close');
    pid = await findSupervisor(npm);
  };
  const stop = async (): Promise<void> => {
    if (npm && npm.exitCode === null && npm.signalCode === null) npm.kill('SIGTERM');
    await gone();
  };
  const ready = async (): Promise<void> => {
    const untilMs = performance.now() + READY_MS;
    while (performance.now() < untilMs) {
      const answers = await Promise.all([platformUrl, speechUrl].map(isReady));
      if (answers.every(Boolean)) return;
      await sleep(LOOK_MS);
    }
    throw new Error(`not ready within ${READY_MS / 1000} s. Last lines:\n${logs.last().join('\n')}`);
  };
  stack.defer(stop);
  await start();
  await ready();
  const owned = stack.move();
  return {
    ...beside,
    platformUrl,
    speechUrl,
    dataDir,
    tempDir,
    logs,
    revisions,
    settings,
    pid: () => pid,
    start,
    gone,
    ready,
    stop,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
};
