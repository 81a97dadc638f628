/**
 * Passwords of database accounts: made here, and turned into what PostgreSQL keeps of them (RFC 5802, RFC 7677) before
 * anything is sent, so that no server log and no trace of statements ever holds one in clear.
 */
import { createHash, createHmac, pbkdf2, randomBytes, randomInt } from 'node:crypto';
import { promisify } from 'node:util';

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** 190 bits: nobody guesses it from the verifier, wherever that is seen. */
const PASSWORD_LENGTH = 32;
/** PostgreSQL's own. More would only slow sign-in: there is nothing to guess in a random password. */
const ITERATIONS = 4096;
const KEY_BYTES = 32;
const SALT_BYTES = 16;

const derive = promisify(pbkdf2);

const hmac = (key: Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();

/** 32 random letters and digits. */
export const createPassword = (): string =>
  Array.from({ length: PASSWORD_LENGTH }, () => BASE62[randomInt(BASE62.length)]).join('');

/**
 * `SCRAM-SHA-256$<iterations>:<salt>$<StoredKey>:<ServerKey>`, as `pg_authid.rolpassword` holds it. `password`: ASCII,
 * which SASLprep leaves as it is.
 */
export const toScramVerifier = async (password: string, salt: Buffer = randomBytes(SALT_BYTES)): Promise<string> => {
  const salted = await derive(password, salt, ITERATIONS, KEY_BYTES, 'sha256');
  const storedKey = createHash('sha256').update(hmac(salted, 'Client Key')).digest('base64');
  const serverKey = hmac(salted, 'Server Key').toString('base64');
  return `SCRAM-SHA-256$${ITERATIONS}:${salt.toString('base64')}$${storedKey}:${serverKey}`;
};
