/** Ends the sessions of an account whose password changed, which was switched off, or which is gone. */
import type { Log } from '@parley/kit/log.ts';
import type { Changed, Domains, User } from '../domains/types.ts';
import { isDisabled } from './reach.ts';
import type { Sessions } from './sessions.ts';

export type AccountWatch = AsyncDisposable & {
  /** Says that this hash is of the same password as before, so that no session ends for it. */
  expectHash(hash: string): void;
};

/** The session that may stay: the one through which people changed their own password. */
const keptSession = ({ by, domain, id, after }: Changed): string | undefined =>
  after !== undefined && by?.session.kind !== 'system' && by?.userId === id && by.home.name === domain
    ? by.session.id
    : undefined;

/** Only changes made here count: the process that makes one ends the sessions for all. */
export const watchAccounts = (domains: Domains, sessions: Sessions, log: Log): AccountWatch => {
  const expected = new Set<string>();
  const ending = new Set<Promise<void>>();

  const endsSessions = ({ before, after }: Changed): boolean => {
    if (!before) return false;
    if (!after || isDisabled(after as User)) return true;
    const { pwd } = after as User;
    if ((before as User).pwd === pwd) return false;
    return pwd === undefined || !expected.delete(pwd);
  };

  const stop = domains.onChange((changed) => {
    if (changed.kind !== 'user' || !changed.by || !endsSessions(changed)) return;
    const owner = { home: changed.domain, userId: changed.id };
    const ended = sessions
      .endAllOf(owner, keptSession(changed))
      .then(
        (n) => log.info({ domain: changed.domain, user: changed.id, sessions: n }, 'sessions ended with the account'),
        (error) => log.error({ err: error, user: changed.id }, 'sessions of a changed account did not end'),
      )
      .finally(() => ending.delete(ended));
    ending.add(ended);
  });

  return {
    expectHash: (hash) => {
      expected.add(hash);
    },
    [Symbol.asyncDispose]: async () => {
      stop();
      await Promise.all(ending);
    },
  };
};
