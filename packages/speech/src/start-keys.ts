/** Composition of who may come in: where keys are kept, what each may ask for, and what a first start issues. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Log } from '@parley/kit/log.ts';
import type { Store } from '@parley/kit/store/store.ts';
import { ensureKeys } from './keys/issue.ts';
import { keyFileBook } from './keys/key-file.ts';
import { openKeys } from './keys/keys.ts';
import { isShared, keysPathOf } from './keys/place.ts';
import { createRateLimiter } from './keys/rate.ts';
import type { GuardParts } from './keys/require-key.ts';
import { openSharedKeys, sharedBook } from './keys/shared-book.ts';
import { createSharedRateLimiter } from './keys/shared-rate.ts';
import type { Terminal } from './models/progress.ts';
import type { SpeechSettings } from './settings.ts';
import { dataDirOf } from './start-models.ts';

export type KeysHouse = {
  readonly store: Store;
  readonly log: Log;
  /** Where a person reads new keys. */
  readonly terminal: Terminal | undefined;
};

const LOOPBACK: ReadonlySet<string> = new Set(['127.0.0.1', '::1', 'localhost']);
const PRIVATE_FOLDER = 0o700;

/** Opens the keys, issuing those of a first start. What must be closed goes on the stack. */
export const openGuards = async (
  settings: SpeechSettings,
  { store, log, terminal }: KeysHouse,
  stack: AsyncDisposableStack,
): Promise<GuardParts> => {
  const { values } = settings;
  if (values['auth.mode'] === 'open') {
    if (!LOOPBACK.has(values.host)) throw new Error('auth.mode open needs a loopback address in host.');
    log.warn('auth.mode is open: every local caller is an administrator');
    return { mode: 'open' };
  }
  const dir = join(dataDirOf(settings), 'speech');
  await mkdir(dir, { recursive: true, mode: PRIVATE_FOLDER });
  const path = keysPathOf(dataDirOf(settings), values['auth.keys_file']);
  const shared = isShared(values['storage.url'], values['auth.keys_file']);
  await ensureKeys({
    book: shared ? sharedBook(store, path) : keyFileBook(path),
    firstKeysPath: join(dir, 'first-keys'),
    adminSecret: values['auth.admin_key'],
    userSecret: values['auth.user_key'],
    otherSecrets: values['auth.keys'],
    // Secrets are for eyes only: output that is kept in a log gets none.
    ...(terminal?.isTTY ? { tell: (text: string) => terminal.write(text) } : {}),
  });
  const onFault = (thrown: unknown): void =>
    log.error({ err: thrown }, 'keys file cannot be used; the keys stay as they were');
  return {
    mode: 'apikey',
    keys: shared ? stack.use(await openSharedKeys(store, Date.now, log)) : openKeys({ path, now: Date.now, onFault }),
    rates:
      store.driver === 'postgres'
        ? createSharedRateLimiter(store, Date.now, log)
        : createRateLimiter(() => performance.now()),
  };
};
