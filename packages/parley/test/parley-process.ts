/** The parley command as a process of its own: its ready lines, its tree of processes, and its interface as an administrator. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { within } from '@parley/kit/testing/wait.ts';

const BIN = fileURLToPath(new URL('../bin/parley.js', import.meta.url));
const JSON_BODY = { 'content-type': 'application/json' };
/** A node that is started again on a busy machine. */
const ANSWER_MS = 60_000;
export const PASSWORD = 'Administrator-1';
/** A start of a service on a busy machine. */
const START_MS = 60_000;

export type Reply = {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  // biome-ignore lint/suspicious/noExplicitAny: what came back is what the test looks into
  readonly body: any;
};

export type Administrator = {
  call(method: string, path: string, body?: unknown): Promise<Reply>;
  /** What a request of its own needs. */
  readonly headers: Readonly<Record<string, string>>;
  /** The same session at another platform. */
  at(url: string): Administrator;
};

export type ParleyProcess = AsyncDisposable & {
  readonly child: ChildProcess;
  readonly pid: number;
  /** Resolves with the exit code when it has ended. */
  readonly ended: Promise<number | null>;
  /** Where the node of this name, as the ready line shows it, serves. */
  url(name: string): Promise<string>;
  /** Signs in at the platform node that the ready line calls so; `platform` when not given. */
  signIn(name?: string): Promise<Administrator>;
};

/** Asks on a connection of its own: one that is kept may be closed by a node that ends just when it is used again. */
const ask = async (url: string, method: string, headers: Record<string, string>, body?: unknown): Promise<Reply> => {
  const sent = request(url, { method, headers, agent: false, timeout: ANSWER_MS });
  sent.end(body === undefined ? undefined : JSON.stringify(body));
  sent.once('timeout', () => sent.destroy(new Error(`${method} ${url} was not answered.`)));
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  const said = await text(answer);
  return { status: answer.statusCode!, headers: answer.headers, body: said === '' ? undefined : JSON.parse(said) };
};

/** Whether something at the address says that it is well. */
export const isWell = async (url: string): Promise<boolean> => {
  try {
    return (await ask(`${url}/healthz`, 'GET', {})).status === 200;
  } catch {
    return false;
  }
};

/** Calls below `/rest/v1/` with a token. */
const createAdministrator = (url: string, token: string): Administrator => ({
  call: async (method, path, body) => {
    const headers = { authorization: `Bearer ${token}`, ...(body === undefined ? {} : JSON_BODY) };
    return await ask(`${url}/rest/v1/${path}`, method, headers, body);
  },
  headers: { authorization: `Bearer ${token}` },
  at: (other) => createAdministrator(other, token),
});

/** What a sign-in with a password is answered. */
export const trySignIn = (url: string, login: string, pwd: string, domain = 'master'): Promise<Reply> =>
  ask(`${url}/rest/v1/iam/sessions`, 'POST', JSON_BODY, { domain, login, pwd, session_type: 'token' });

/** Signs in at a platform. */
export const signInAt = async (url: string): Promise<Administrator> => {
  const { status, body } = await trySignIn(url, 'admin', PASSWORD);
  if (status !== 200) throw new Error(`sign-in answered ${status} ${JSON.stringify(body)}`);
  return createAdministrator(url, body.session_token);
};

/** Starts the command on a folder of its own, or on one that is there. Settings by full key; `before`: words before it. */
export const startParley = async (
  command: string,
  settings: Readonly<Record<string, string>> = {},
  folder?: string,
  before: readonly string[] = [],
): Promise<ParleyProcess> => {
  const dataDir = folder ?? (await mkdtemp(join(tmpdir(), 'parley-server-')));
  const flags = {
    data_dir: dataDir,
    'platform.port': '0',
    'speech.server.port': '0',
    'speech.registry.first_start': 'demo',
    'speech.log.level': 'fatal',
    'platform.log.level': 'fatal',
    'supervisor.heartbeat': '1s',
    secret_key: '00'.repeat(32),
    ...settings,
  };
  const options = Object.entries(flags).map(([key, value]) => `--set=${key}=${value}`);
  const [program, ...words] = [...before, process.execPath, BIN, command, ...options];
  const child = spawn(program!, words, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, PARLEY_ADMIN_PASSWORD: PASSWORD },
  });
  const urls = new Map<string, PromiseWithResolvers<string>>();
  const urlOf = (name: string): PromiseWithResolvers<string> => {
    const known = urls.get(name) ?? Promise.withResolvers<string>();
    urls.set(name, known);
    known.promise.catch(() => undefined);
    return known;
  };
  let said = '';
  child.stderr!.setEncoding('utf8').on('data', (chunk: string) => {
    said = `${said}${chunk}`.slice(-4000);
  });
  let line = '';
  child.stdout!.setEncoding('utf8').on('data', (chunk: string) => {
    const lines = `${line}${chunk}`.split('\n');
    line = lines.pop()!;
    for (const each of lines) {
      const [, name, url] = /^(\S+) +(http\S+) {2}ready/.exec(each) ?? [];
      if (name !== undefined && url !== undefined) urlOf(name).resolve(url);
    }
  });
  const ended = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)));
  void ended.then((code) => {
    for (const each of urls.values()) each.reject(new Error(`parley ended with ${code}: ${said}`));
  });
  const url = (name: string): Promise<string> => within(urlOf(name).promise, `${name} to serve`, START_MS);
  return {
    child,
    pid: child.pid!,
    ended,
    url,
    signIn: async (name = 'platform') => await signInAt(await url(name)),
    [Symbol.asyncDispose]: async () => {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
      await ended;
      if (folder === undefined) await rm(dataDir, { recursive: true, force: true });
    },
  };
};

export const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

/** Asks until the answer is as wanted; what it was last is in the error when it never is. */
export const eventually = async <T>(
  ask: () => Promise<T> | T,
  isWanted: (seen: T) => boolean,
  what: string,
): Promise<T> => {
  let last: T | undefined;
  let isOver = false;
  const look = async (): Promise<T> => {
    while (!isOver) {
      last = await ask();
      if (isWanted(last)) return last;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    throw new Error(what);
  };
  try {
    return await within(look(), what, START_MS);
  } catch (thrown) {
    throw new Error(`${(thrown as Error).message} Last seen: ${JSON.stringify(last)}`);
  } finally {
    isOver = true;
  }
};
