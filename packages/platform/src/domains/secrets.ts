/**
 * Secrets at rest: AES-256-GCM under one key of the installation. The key comes from a setting, else from a file that
 * is made at the first start and belongs into every backup.
 */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export type SecretBox = { seal(plain: string): string; open(sealed: string): string; isSealed(text: string): boolean };

const MARK = 'sealed:v1:';
const KEY_BYTES = 32;
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** Throws an Error when the key or its file cannot be used. */
export const openSecretBox = (configured: string, dataDir: string): SecretBox => {
  const secretKey = configured === '' ? readOrMakeKey(join(dataDir, 'secret.key')) : parseKey(configured, 'secret_key');
  return {
    isSealed: (text) => text.startsWith(MARK),
    seal: (plain) => {
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv('aes-256-gcm', secretKey, iv);
      const sealed = Buffer.concat([iv, cipher.update(plain, 'utf8'), cipher.final(), cipher.getAuthTag()]);
      return MARK + sealed.toString('base64url');
    },
    open: (sealed) => {
      if (!sealed.startsWith(MARK)) throw new Error('text is not a sealed secret');
      const bytes = Buffer.from(sealed.slice(MARK.length), 'base64url');
      const decipher = createDecipheriv('aes-256-gcm', secretKey, bytes.subarray(0, IV_BYTES));
      decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
      return decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES), undefined, 'utf8') + decipher.final('utf8');
    },
  };
};

const parseKey = (source: string, where: string): Buffer => {
  const trimmed = source.trim();
  const key = /^[0-9a-f]{64}$/i.test(trimmed) ? Buffer.from(trimmed, 'hex') : Buffer.from(trimmed, 'base64');
  if (key.length !== KEY_BYTES) throw new Error(`${where} must be ${KEY_BYTES} bytes as hex or base64`);
  return key;
};

const readOrMakeKey = (path: string): Buffer => {
  mkdirSync(join(path, '..'), { recursive: true, mode: 0o700 });
  try {
    // `wx` fails when another process made it first.
    writeFileSync(path, `${randomBytes(KEY_BYTES).toString('hex')}\n`, { flag: 'wx', mode: 0o600 });
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'EEXIST') throw thrown;
  }
  return parseKey(readFileSync(path, 'utf8'), path);
};
