/** Parley's platform as it is measured: the process that the supervisor would start, filled over its own interface. */
import { closeSync, openSync, readSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Child, cacheEnv, startChild } from './child.ts';
import { openLoad } from './load.ts';
import { CLIENTS, toRequest, userOf } from './seed.ts';

export const PASSWORD = 'Bench-Pass-1';
/** Not the one who reads: the oldest sessions of an account end when there are too many. */
export const ADMIN = 'admin';
const CALLER = 'bench-caller';
const MAIN = 'packages/platform/src/main.ts';
const ROOT = new URL('../../../', import.meta.url);

export type ParleyOptions = {
  readonly dataDir: string;
  readonly signal: AbortSignal;
  /** By full key, `platform.…`. */
  readonly settings?: Readonly<Record<string, string>>;
  readonly under?: readonly string[];
  /** Another checkout of Parley, as a file URL that ends in a slash. */
  readonly root?: URL;
};

/** Starts the platform on a data folder, new or used before. */
export const startParley = async ({
  dataDir,
  signal,
  settings = {},
  under = [],
  root = ROOT,
}: ParleyOptions): Promise<Child> => {
  await mkdir(dataDir, { recursive: true });
  const flags = { data_dir: dataDir, 'platform.port': '0', admin_password: PASSWORD, ...settings };
  const args = ['platform', ...Object.entries(flags).map(([key, value]) => `--set=${key}=${value}`)];
  return startChild({
    module: fileURLToPath(new URL(MAIN, root)),
    args,
    env: root === ROOT ? cacheEnv(dataDir) : {},
    under,
    signal,
  });
};

/** Asks once and answers the body; throws when it is refused. */
export const call = async (
  url: string,
  token: string | undefined,
  method: string,
  path: string,
  body?: unknown,
): Promise<{ readonly headers: Headers; readonly text: string }> => {
  const answer = await fetch(`${url}/rest/v1/${path}`, {
    method,
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path} was answered ${answer.status}: ${text.slice(0, 300)}`);
  return { headers: answer.headers, text };
};

/** Signs in and answers the token. */
const signIn = async (url: string, login: string): Promise<string> => {
  const { text } = await call(url, undefined, 'POST', 'iam/sessions', { login, pwd: PASSWORD, session_type: 'token' });
  return (JSON.parse(text) as { session_token: string }).session_token;
};

/** Makes users over the interface, and one more who may read and write them and nothing else. Answers that one's token. */
export const fill = async (url: string, users: number, signal: AbortSignal): Promise<string> => {
  const token = await signIn(url, ADMIN);
  for (const name of ['bench', 'operator']) {
    const routes = [{ methods: ['GET', 'LOOKUP', 'PATCH'], url: '/iam/users*' }];
    await call(url, token, 'POST', 'domain/roles', { name, routes });
  }
  await call(url, token, 'POST', 'iam/users', {
    login: CALLER,
    name: CALLER,
    pwd: PASSWORD,
    opts: { roles: ['bench'] },
  });
  using load = await openLoad(url, CLIENTS * 2, signal);
  let made = 0;
  const headers = { authorization: `Bearer ${token}` };
  const next = (): Buffer => {
    made += 1;
    return toRequest('POST', '/rest/v1/iam/users', headers, JSON.stringify(userOf(made)));
  };
  const { refused, firstRefusal } = await load.run(next, { requests: users });
  if (refused > 0) throw new Error(`${refused} of ${users} users were refused: ${firstRefusal}`);
  return signIn(url, CALLER);
};

export type WriteCounts = { readonly transactions: number; readonly checkpoints: number };

const readAt = (path: string, at: number, length: number): Buffer => {
  const bytes = Buffer.alloc(length);
  const file = openSync(path, 'r');
  try {
    readSync(file, bytes, 0, length, at);
  } finally {
    closeSync(file);
  }
  return bytes;
};

/**
 * What SQLite itself counts (sqlite.org/walformat.html): transactions since the log's index was made, in its second word,
 * and how often the log was begun anew, in its head. With synchronous=FULL a transaction costs one disk sync and a
 * log that is begun anew three (log, database, the new head).
 */
export const readWriteCounts = (dataDir: string): WriteCounts => {
  const file = join(dataDir, 'platform.sqlite');
  return {
    // The index has the byte order of the machine, the log's head is big-endian.
    transactions: readAt(`${file}-shm`, 8, 4).readUInt32LE(),
    checkpoints: readAt(`${file}-wal`, 12, 4).readUInt32BE(),
  };
};
const SYNCS_OF_CHECKPOINT = 3;

/** Disk syncs between two counts. */
export const syncsBetween = (before: WriteCounts, after: WriteCounts): number =>
  after.transactions - before.transactions + SYNCS_OF_CHECKPOINT * (after.checkpoints - before.checkpoints);
