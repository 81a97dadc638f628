/**
 * The file of API keys: JSON, mode 0600, replaced atomically. It keeps SHA-256 digests only: the secrets are 256 random
 * bits, so a slow password hash would protect nothing and cost every request. Digests of removed keys stay, so that an
 * environment variable which still names one does not bring it back.
 */
import { randomBytes } from 'node:crypto';
import { chmod, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeNamedFolder } from '@parley/kit/folder.ts';
import { sha256Hex } from '@parley/kit/ids.ts';
import type { Priority } from '../core/types.ts';

export type KeyRecord = {
  /** Random, stable over rotation; the owner of jobs. */
  readonly id: string;
  readonly name: string;
  /** `sha256:` and 64 hexadecimal digits. */
  readonly key: string;
  readonly admin: boolean;
  /** Requests a second; 0 is unlimited. */
  readonly rps: number;
  readonly priority: Priority;
  /** Globs of model ids. */
  readonly models: readonly string[];
  readonly disabled: boolean;
  readonly created_at: string;
  readonly expires_at?: string;
};

export type KeyFile = {
  readonly keys: readonly KeyRecord[];
  /** Digests of keys that were removed or rotated away. */
  readonly removed: readonly string[];
  /** True when secrets stood in the file in the clear; they are hashed when it is next written. */
  readonly hadPlainKeys?: boolean;
};

export const MIN_SECRET_CHARS = 16;
const DIGEST = /^sha256:[0-9a-f]{64}$/;
const MAX_LOCK_AGE_MS = 10_000;
const LOCK_RETRY_MS = 50;
const LOCK_ATTEMPTS = 100;

export const digestOf = (secret: string): string => `sha256:${sha256Hex(secret)}`;

export const createKeyId = (): string => `key_${randomBytes(9).toString('hex')}`;

/** What is in the file. An absent file is `undefined`. */
export const readKeyFile = async (path: string): Promise<KeyFile | undefined> => {
  let content: string;
  try {
    content = await readFile(path, 'utf8');
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw thrown;
  }
  return parseKeyFile(content, path);
};

/** Reads the file's text. An Error names the file and what is wrong, never a secret. */
export const parseKeyFile = (content: string, path: string): KeyFile => {
  let tree: unknown;
  try {
    tree = JSON.parse(content);
  } catch {
    // The parser's own message quotes the text around the fault, which may be a secret.
    throw new Error(`${path} is not JSON.`);
  }
  const { keys, removed } = (Array.isArray(tree) ? { keys: tree } : (tree ?? {})) as Record<string, unknown>;
  if (!Array.isArray(keys)) throw new Error(`${path} must hold a list of keys.`);
  const records = keys.map((entry, at) => toRecord(entry as Record<string, unknown>, `${path}, key ${at + 1}`));
  for (const member of ['id', 'name', 'key'] as const) {
    const twice = records.findIndex(
      (record, at) => records.findIndex((other) => other[member] === record[member]) < at,
    );
    if (twice >= 0) throw new Error(`${path}, key ${twice + 1}: another key has the same ${member}.`);
  }
  return {
    keys: records,
    removed: Array.isArray(removed) ? removed.filter((digest) => DIGEST.test(String(digest))).map(String) : [],
    hadPlainKeys: keys.some((entry) => !DIGEST.test(String((entry as Record<string, unknown>).key))),
  };
};

const toRecord = (entry: Record<string, unknown> | null, where: string): KeyRecord => {
  if (entry === null) throw new Error(`${where} is empty.`);
  const { key, name, expires_at: expires } = entry;
  if (typeof key !== 'string' || key.length < MIN_SECRET_CHARS) {
    throw new Error(`${where}: key must be a digest or a secret of at least ${MIN_SECRET_CHARS} characters.`);
  }
  if (typeof name !== 'string' || name === '') throw new Error(`${where}: name is missing.`);
  if (expires !== undefined && Number.isNaN(Date.parse(String(expires)))) {
    throw new Error(`${where}: expires_at is not a time.`);
  }
  const digest = DIGEST.test(key) ? key : digestOf(key);
  return {
    // A list written by hand has no ids; one from the digest holds still until the file is rewritten with it.
    id: textOr(entry.id, `key_${digest.slice(7, 25)}`),
    name,
    key: digest,
    admin: entry.admin === true,
    rps: typeof entry.rps === 'number' && entry.rps > 0 ? entry.rps : 0,
    priority: entry.priority === 'interactive' ? 'interactive' : 'batch',
    models: Array.isArray(entry.models) ? entry.models.map(String) : ['*'],
    disabled: entry.disabled === true,
    created_at: textOr(entry.created_at, new Date(0).toISOString()),
    ...(expires !== undefined && { expires_at: String(expires) }),
  };
};

const textOr = (value: unknown, fallback: string): string => (typeof value === 'string' ? value : fallback);

/** Where keys are kept: a file, or a row that several processes share (shared-book.ts). */
export type KeyBook = {
  /** Undefined before the first change. */
  read(): Promise<KeyFile | undefined>;
  /**
   * Reads, changes and replaces the keys while no other process does. `change` gets no keys when there are none yet,
   * and returns nothing when there is nothing to write; it may run again when another process was quicker.
   */
  change<T>(change: (file: KeyFile, isNew: boolean) => Changed<T>): Promise<T>;
};

export type Changed<T> = { readonly file?: KeyFile; readonly result: T };

/** Keys in a file, held against other processes by a lock beside it. */
export const keyFileBook = (path: string): KeyBook => ({
  read: () => readKeyFile(path),
  change: async (change) => {
    await makeNamedFolder('auth.keys_file', dirname(path));
    const unlock = await lock(`${path}.lock`);
    try {
      const current = await readKeyFile(path);
      const { file, result } = change(current ?? { keys: [], removed: [] }, current === undefined);
      if (file)
        await writePrivateFile(path, `${JSON.stringify({ keys: file.keys, removed: file.removed }, null, 2)}\n`);
      return result;
    } finally {
      await unlock();
    }
  },
});

/** Writes a file only its owner can read, beside the target, then moves it there. */
export const writePrivateFile = async (path: string, content: string): Promise<void> => {
  const draft = `${path}.${randomBytes(6).toString('hex')}.tmp`;
  const handle = await open(draft, 'wx', 0o600);
  try {
    await handle.writeFile(content);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await chmod(draft, 0o600);
  await rename(draft, path);
};

const lock = async (path: string): Promise<() => Promise<void>> => {
  for (let attempt = 0; attempt < LOCK_ATTEMPTS; attempt += 1) {
    try {
      await (await open(path, 'wx', 0o600)).close();
      return () => rm(path, { force: true });
    } catch (thrown) {
      if ((thrown as NodeJS.ErrnoException).code !== 'EEXIST') throw thrown;
    }
    const found = await stat(path).catch(() => undefined);
    // Whoever held it died: writing takes milliseconds.
    if (found && Date.now() - found.mtimeMs > MAX_LOCK_AGE_MS) await rm(path, { force: true });
    else await sleep(LOCK_RETRY_MS);
  }
  throw new Error(`${path} is held by another process.`);
};
