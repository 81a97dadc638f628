/** Issuing, listing, rotating and removing keys: what `parley keys` does and what a first start does by itself. */
import { createToken } from '@parley/kit/ids.ts';
import type { Priority } from '../core/types.ts';
import {
  createKeyId,
  digestOf,
  type KeyBook,
  type KeyFile,
  type KeyRecord,
  MIN_SECRET_CHARS,
  writePrivateFile,
} from './key-file.ts';

export type NewKey = {
  readonly name: string;
  readonly admin?: boolean;
  readonly rps?: number;
  readonly priority?: Priority;
  readonly models?: readonly string[];
  readonly expiresAt?: string;
  /** A secret of the caller's own instead of a random one. */
  readonly secret?: string;
};

export type Issued = { readonly record: KeyRecord; readonly secret: string };

const SECRET_BYTES = 32;
const createSecret = (): string => `sk-parley-${createToken(SECRET_BYTES)}`;

const createRecord = (key: NewKey, secret: string): KeyRecord => ({
  id: createKeyId(),
  name: key.name,
  key: digestOf(secret),
  admin: key.admin ?? false,
  rps: key.rps ?? 0,
  priority: key.priority ?? 'batch',
  models: key.models ?? ['*'],
  disabled: false,
  created_at: new Date().toISOString(),
  ...(key.expiresAt !== undefined && { expires_at: key.expiresAt }),
});

/** A key that is not put into any file: its secret, and the record for a file that is kept elsewhere. */
export const draftKey = (key: NewKey): Issued => {
  const secret = key.secret ?? createSecret();
  return { record: createRecord(key, secret), secret };
};

/** Adds a key and returns its secret, the only time it is seen. Errors: name taken, secret too short or in use. */
export const issueKey = (book: KeyBook, key: NewKey): Promise<Issued> =>
  book.change((file) => {
    const secret = key.secret ?? createSecret();
    if (key.name.trim() === '') throw new Error('A key needs a name.');
    if (secret.length < MIN_SECRET_CHARS) throw new Error(`A secret has at least ${MIN_SECRET_CHARS} characters.`);
    if (file.keys.some(({ name }) => name === key.name)) throw new Error(`There is a key named ${key.name} already.`);
    const record = createRecord(key, secret);
    if (file.keys.some((other) => other.key === record.key)) throw new Error('Another key has this secret.');
    return { file: withKey(file, record), result: { record, secret } };
  });

/** Issued on purpose, so a digest that was removed once is welcome again. */
const withKey = (file: KeyFile, record: KeyRecord): KeyFile => ({
  keys: [...file.keys, record],
  removed: file.removed.filter((digest) => digest !== record.key),
});

/** Every key, in the order they were issued. */
export const listKeys = async (book: KeyBook): Promise<readonly KeyRecord[]> => (await book.read())?.keys ?? [];

const findKey = (file: KeyFile, idOrName: string): KeyRecord => {
  const found = file.keys.find(({ id, name }) => id === idOrName || name === idOrName);
  if (!found) throw new Error(`There is no key ${idOrName}.`);
  return found;
};

/** Takes a key out for good; a variable that still names its secret does not bring it back. */
export const removeKey = (book: KeyBook, idOrName: string): Promise<KeyRecord> =>
  book.change((file) => {
    const record = findKey(file, idOrName);
    const keys = file.keys.filter((other) => other !== record);
    return { file: { keys, removed: [...file.removed, record.key] }, result: record };
  });

/** A new secret for a key; id, name and rights stay, the old secret is refused from now on. */
export const rotateKey = (book: KeyBook, idOrName: string): Promise<Issued> =>
  book.change((file) => {
    const old = findKey(file, idOrName);
    const secret = createSecret();
    const record = { ...old, key: digestOf(secret) };
    const keys = file.keys.map((other) => (other === old ? record : other));
    return { file: { keys, removed: [...file.removed, old.key] }, result: { record, secret } };
  });

export type FirstKeys = {
  readonly book: KeyBook;
  /** Where secrets made here are left for the operator, mode 0600. */
  readonly firstKeysPath: string;
  /** Secrets the environment sets; empty when it does not. */
  readonly adminSecret: string;
  readonly userSecret: string;
  /** Further user keys by value. */
  readonly otherSecrets?: readonly string[];
  /** Writes to the operator's terminal; absent when there is none. */
  readonly tell?: (text: string) => void;
};

type Wanted = { readonly name: string; readonly admin: boolean; readonly secret: string; readonly variable: string };

/**
 * Brings the file up to what a start needs: a first start issues an admin and a user key; secrets of the environment
 * are added unless some key has them or had them when it was removed. Secrets made here are shown once.
 */
export const ensureKeys = async (first: FirstKeys): Promise<void> => {
  const wanted: Wanted[] = [
    { name: 'admin', admin: true, secret: first.adminSecret, variable: 'PARLEY_SPEECH_ADMIN_KEY' },
    { name: 'user', admin: false, secret: first.userSecret, variable: 'PARLEY_SPEECH_USER_KEY' },
    ...(first.otherSecrets ?? []).map((secret) => ({ name: 'key', admin: false, secret, variable: 'auth.keys' })),
  ];
  const short = wanted.find(({ secret }) => secret !== '' && secret.length < MIN_SECRET_CHARS);
  if (short) throw new Error(`${short.variable} must have at least ${MIN_SECRET_CHARS} characters.`);
  const made = await first.book.change<readonly string[]>((file, isNew) => {
    const { next, shown } = wanted
      .filter(({ secret }) => isNew || secret !== '')
      .reduce<Progress>(addWanted, { next: file, shown: [] });
    return { ...(next !== file || file.hadPlainKeys ? { file: next } : {}), result: shown };
  });
  if (made.length > 0) await showOnce(first, made);
};

type Progress = { readonly next: KeyFile; readonly shown: readonly string[] };

const addWanted = ({ next, shown }: Progress, { name, admin, secret: given, variable }: Wanted): Progress => {
  const secret = given || createSecret();
  const digest = digestOf(secret);
  if (next.removed.includes(digest) || next.keys.some(({ key }) => key === digest)) return { next, shown };
  const record = createRecord({ name: freeName(next, name), admin }, secret);
  return {
    next: { ...next, keys: [...next.keys, record] },
    shown: given === '' ? [...shown, `${variable}=${secret}`] : shown,
  };
};

const freeName = (file: KeyFile, wanted: string): string => {
  const taken = new Set(file.keys.map(({ name }) => name));
  let name = wanted;
  for (let count = 2; taken.has(name); count += 1) name = `${wanted}-${count}`;
  return name;
};

/** As shell assignments, so that the file can be sourced. */
const showOnce = async (first: FirstKeys, made: readonly string[]): Promise<void> => {
  const note = '# Keys issued at the first start. Only their digests are kept: note them, then delete this file.\n';
  await writePrivateFile(first.firstKeysPath, `${note}${made.join('\n')}\n`);
  first.tell?.(`\nAPI keys, shown this once (also in ${first.firstKeysPath}):\n  ${made.join('\n  ')}\n\n`);
};
