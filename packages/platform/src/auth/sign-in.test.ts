import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createSilentLog } from '@parley/kit/log.ts';
import { Problem } from '@parley/kit/problem.ts';
import type { Domain, Domains, User } from '../domains/types.ts';
import type { Ban } from './ban.ts';
import { createSignIn, defaultDomain } from './sign-in.ts';

const ANN = { id: '1', login: 'ann', name: 'Ann', pwd: 'old hash', opts: {}, ext: {} } as unknown as User;

type Kept = { readonly outdated: boolean; saveHash(home: Domain, id: string, hash: string): Promise<void> };
const CURRENT: Kept = { outdated: false, saveHash: async () => undefined };

/** A sign-in of Ann, during whose check of the password `meanwhile` happens to her account. */
const signIn = (meanwhile: (user: User) => User | undefined, { outdated, saveHash } = CURRENT) => {
  let account: User | undefined = ANN;
  const rows = { userByLogin: () => account, user: () => account };
  const home = { name: 'master', read: async <T>(act: (each: typeof rows) => T) => act(rows) };
  return createSignIn({
    domains: { open: async () => home, master: home, names: () => ['master'] } as unknown as Domains,
    ban: { attempt: (_attempt: unknown, check: () => Promise<unknown>) => check() } as unknown as Ban,
    passwords: {
      hash: async () => 'new hash',
      verify: async () => {
        account = meanwhile(ANN);
        return { ok: true, outdated };
      },
    },
    log: createSilentLog(),
    aliasOf: () => undefined,
    saveHash,
  })({ domain: 'master', login: 'ann', pwd: 'right', address: '192.0.2.1', host: 'localhost' });
};

describe('a sign-in', () => {
  it('counts only when the password that was checked is still the account’s', async () => {
    const isRefused = (thrown: unknown): boolean => thrown instanceof Problem && thrown.status === 401;
    assert.equal((await signIn((user) => user)).user.id, '1');
    await assert.rejects(
      signIn((user) => ({ ...user, pwd: 'another hash' })),
      isRefused,
    );
    await assert.rejects(
      signIn(() => undefined),
      isRefused,
    );
  });

  it('keeps a stronger hash of the same password, and does not fail for it', async () => {
    const saved: string[] = [];
    const saveHash: Kept['saveHash'] = async (home, id, hash) => void saved.push(`${home.name} ${id} ${hash}`);
    await signIn((user) => user, { outdated: false, saveHash });
    assert.deepEqual(saved, []);
    await signIn((user) => user, { outdated: true, saveHash });
    assert.deepEqual(saved, ['master 1 new hash']);
    const failing = { outdated: true, saveHash: () => Promise.reject(new Error('the disk is full')) };
    assert.equal((await signIn((user) => user, failing)).user.id, '1');
  });

  it('without a domain means what the host stands for, else the only working domain, else the master', () => {
    const domains = (...working: string[]) =>
      ({ names: () => ['master', ...working], master: { name: 'master' } as Domain }) as unknown as Domains;
    const aliasOf = (host: string) => (host === 'sales.example' ? 'sales' : undefined);
    assert.equal(defaultDomain(domains('a', 'b'), aliasOf, 'Sales.Example'), 'sales');
    assert.equal(defaultDomain(domains('a'), aliasOf, 'other'), 'a');
    assert.equal(defaultDomain(domains('a', 'b'), aliasOf, 'other'), 'master');
    assert.equal(defaultDomain(domains(), aliasOf, 'other'), 'master');
  });
});
