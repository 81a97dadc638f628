/**
 * 140: login and password, through the same check and the same ban as `iam/sessions`: `transfer_ok` or `transfer_bad`.
 * A banned login ends the run with 429.
 */
import { Problem } from '@parley/kit/problem.ts';
import { emailOf } from '../../auth/email.ts';
import type { SignedIn } from '../../auth/sign-in.ts';
import type { User } from '../../domains/types.ts';
import { type Element, go } from '../element.ts';
import { ScriptFault } from '../fault.ts';

/** Longer texts are no names; they cost a check all the same. */
const MAX_NAME = 256;

export const checkPassword: Element = {
  oType: 140,
  name: 'check password',
  keys: {
    domain: { kind: 'template', description: 'Domain of the account; the own one when empty.' },
    login: { kind: 'template', required: true },
    pwd: { kind: 'template', required: true },
    save: { kind: 'variable', description: 'The account that proved itself: id, login, name, domain, email, phone.' },
    transfer_ok: { kind: 'transfer', required: true },
    transfer_bad: { kind: 'transfer', required: true },
  },
  isEnd: true,
  run: async (context, object) => {
    const { signIn } = context.services;
    if (!signIn) throw new ScriptFault('element', 'passwords cannot be checked here');
    const login = await context.renderText(object.login);
    const pwd = await context.renderText(object.pwd);
    const domain = domainOf(context.domain, await context.renderText(object.domain));
    context.hide(pwd);
    try {
      const account = await signIn({
        domain,
        login: login.slice(0, MAX_NAME),
        pwd,
        address: context.address,
        host: '',
      });
      if (typeof object.save === 'string') context.variables.set(object.save, show(account));
    } catch (thrown) {
      if (thrown instanceof Problem && thrown.status === 401) return go(object, 'transfer_bad');
      throw thrown;
    }
    return go(object, 'transfer_ok');
  },
};

/** What the account's holder may know anyway. */
const show = ({ home, user }: SignedIn) => ({
  id: user.id,
  login: user.login,
  name: user.name,
  domain: home.name,
  email: emailOf(user),
  phone: phoneOf(user),
});

/** `ext.phone`, else `opts.phone`; empty when there is none. */
const phoneOf = ({ ext, opts }: User): string => {
  const known = [ext.phone, opts.phone].find((value) => typeof value === 'string' && value !== '');
  return typeof known === 'string' ? known : '';
};

/**
 * A script of a working domain knows the accounts of its own alone. Any other name is one that no domain can have, so
 * that it takes as long as, and counts as, a wrong password.
 */
const domainOf = ({ name, isMaster }: { name: string; isMaster: boolean }, wanted: string): string => {
  const asked = wanted.trim().toLowerCase() || name;
  return isMaster || asked === name ? asked.slice(0, MAX_NAME) : `${name}/${asked}`.slice(0, MAX_NAME);
};
