import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Domain, Domains, User } from '../domains/types.ts';
import { isDisabled, isReachable, reachableOf, rolesIn } from './reach.ts';

/** Below the master `a` and `b`; below `a` also `a1`. */
const PARENTS: Readonly<Record<string, string>> = { a: 'master', b: 'master', a1: 'a' };
const isBelow = (name: string, above: string): boolean => {
  const parent = PARENTS[name];
  return parent !== undefined && (parent === above || isBelow(parent, above));
};
const domains = { names: () => ['master', 'a', 'b', 'a1'], isBelow } as unknown as Domains;
const domain = (name: string, roles: readonly string[] = []): Domain =>
  ({
    name,
    isMaster: name === 'master',
    roleByName: (role: string) => (roles.includes(role) ? {} : undefined),
    rights: { deepRolesOf: () => roles },
  }) as unknown as Domain;
const user = (opts: object): User => ({ id: '1', opts }) as unknown as User;

describe('where an account may go', () => {
  it('is its home and what it lists below it, `*` being everything in the master alone', () => {
    const reach = (home: string, listed?: readonly string[]) =>
      reachableOf(domains, domain(home), user(listed ? { domains: listed } : {}));
    assert.deepEqual(reach('master'), ['master']);
    assert.deepEqual(reach('master', ['b', 'a', 'a', 'gone']), ['master', 'a', 'b']);
    assert.deepEqual(reach('master', ['*']), ['master', 'a', 'a1', 'b']);
    assert.deepEqual(reach('a', ['*']), ['a']);
    assert.deepEqual(reach('a', ['master', 'b', 'a1', 'a']), ['a', 'a1']);
    assert.equal(isReachable(domains, domain('a'), user({ domains: ['b'] }), 'b'), false);
    assert.equal(isReachable(domains, domain('a'), user({}), 'a'), true);
  });

  it('has of its roles those that are there', () => {
    const home = domain('a', ['editor', 'reader']);
    assert.deepEqual(rolesIn(home, home, '1'), ['editor', 'reader']);
    assert.deepEqual(rolesIn(domain('a1', ['reader', 'admin']), home, '1'), ['reader']);
  });

  it('ends when it is switched off', () => {
    assert.deepEqual(
      [{ disabled: true }, { disabled: 'true' }, {}].map((opts) => isDisabled(user(opts))),
      [true, false, false],
    );
  });
});
