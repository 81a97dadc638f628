/**
 * Passwords: argon2id as a PHC string, hashed off the event loop and few at a time, so that a storm of sign-ins leaves
 * room for everything else; and the policy for passwords that people choose, with its codes.
 */
import { argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { problem } from '../codes.ts';

/** Costs of argon2id (RFC 9106); the default is OWASP's least recommended one. */
type Costs = { readonly memoryKib: number; readonly passes: number; readonly lanes: number };

type Verdict = {
  readonly ok: boolean;
  /** The hash was made with lower costs than those in force: store a new one. */
  readonly outdated: boolean;
};

export type Passwords = {
  /** PHC string of a new hash. */
  hash(password: string): Promise<string>;
  /** Without a hash the work is done all the same, so that an unknown login takes as long as a wrong password. */
  verify(phc: string | undefined, password: string): Promise<Verdict>;
};

export type PasswordOptions = {
  /** Hashes computed at the same time. */
  readonly atOnce?: number;
  /** Longest wait for a turn before 503. */
  readonly maxWaitMs?: number;
  readonly costs?: Costs;
};

const OWASP_COSTS: Costs = { memoryKib: 19_456, passes: 2, lanes: 1 };
const SALT_BYTES = 16;
const TAG_BYTES = 32;
const MAX_WAITING = 256;
const DEFAULT_MAX_WAIT_MS = 5000;
/** Bounds on a hash that was brought in from elsewhere, so that it cannot be made to cost minutes. */
const MAX_IMPORTED: Costs = { memoryKib: 262_144, passes: 10, lanes: 8 };

/** Longest password that is ever looked at (characters). */
export const MAX_PASSWORD = 256;

type Phc = { readonly costs: Costs; readonly salt: Buffer; readonly tag: Buffer };

const PHC = /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,3}),p=(\d{1,2})\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{16,86})$/;

const parsePhc = (text: string): Phc | undefined => {
  const parts = PHC.exec(text);
  if (!parts) return undefined;
  const [, memory, passes, lanes, salt = '', tag = ''] = parts;
  const costs = { memoryKib: Number(memory), passes: Number(passes), lanes: Number(lanes) };
  const fits =
    costs.memoryKib <= MAX_IMPORTED.memoryKib &&
    costs.passes >= 1 &&
    costs.passes <= MAX_IMPORTED.passes &&
    costs.lanes >= 1 &&
    costs.lanes <= MAX_IMPORTED.lanes &&
    costs.memoryKib >= 8 * costs.lanes;
  return fits ? { costs, salt: Buffer.from(salt, 'base64'), tag: Buffer.from(tag, 'base64') } : undefined;
};

/** True for a hash that sign-in can check: a PHC string of argon2id within the bounds. */
export const isPasswordHash = (text: string): boolean => parsePhc(text) !== undefined;

const writePhc = ({ costs, salt, tag }: Phc): string => {
  const bare = (bytes: Buffer) => bytes.toString('base64').replaceAll('=', '');
  return `$argon2id$v=19$m=${costs.memoryKib},t=${costs.passes},p=${costs.lanes}$${bare(salt)}$${bare(tag)}`;
};

const derive = (password: string, salt: Buffer, costs: Costs, tagLength: number): Promise<Buffer> => {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const { memoryKib: memory, passes, lanes: parallelism } = costs;
  argon2('argon2id', { message: password, nonce: salt, memory, passes, parallelism, tagLength }, (error, tag) => {
    if (error) reject(error);
    else resolve(tag);
  });
  return promise;
};

/** Runs a few tasks at a time; the others wait in order, not for ever and not in any number. */
const createTurns = (atOnce: number, maxWaitMs: number) => {
  const waiting: (() => void)[] = [];
  let running = 0;
  const busy = () => problem('unavailable', { message: 'Too many sign-ins at once', retryAfterSec: 1 });

  const turn = (): Promise<void> => {
    if (running < atOnce) {
      running += 1;
      return Promise.resolve();
    }
    if (waiting.length >= MAX_WAITING) throw busy();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const start = () => {
      clearTimeout(timer);
      resolve();
    };
    const timer = setTimeout(() => {
      waiting.splice(waiting.indexOf(start), 1);
      reject(busy());
    }, maxWaitMs);
    waiting.push(start);
    return promise;
  };

  return async <T>(task: () => Promise<T>): Promise<T> => {
    await turn();
    try {
      return await task();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else running -= 1;
    }
  };
};

/** The hasher of one process. */
export const createPasswords = (options: PasswordOptions = {}): Passwords => {
  const costs = options.costs ?? OWASP_COSTS;
  const atOnce = options.atOnce ?? Math.max(1, availableParallelism() - 1);
  const inTurn = createTurns(atOnce, options.maxWaitMs ?? DEFAULT_MAX_WAIT_MS);
  const nobody: Phc = { costs, salt: randomBytes(SALT_BYTES), tag: randomBytes(TAG_BYTES) };

  const isBelow = (found: Costs) =>
    found.memoryKib < costs.memoryKib || found.passes < costs.passes || found.lanes < costs.lanes;

  return {
    hash: async (password) => {
      const salt = randomBytes(SALT_BYTES);
      return writePhc({ costs, salt, tag: await inTurn(() => derive(password, salt, costs, TAG_BYTES)) });
    },
    verify: async (phc, password) => {
      const known = phc === undefined || password.length > MAX_PASSWORD ? undefined : parsePhc(phc);
      const { costs: found, salt, tag } = known ?? nobody;
      const given = await inTurn(() => derive(password.slice(0, MAX_PASSWORD), salt, found, tag.length));
      const ok = timingSafeEqual(given, tag) && known !== undefined;
      return { ok, outdated: ok && isBelow(found) };
    },
  };
};
