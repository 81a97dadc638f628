/** The e-mail address of an account, which has no field of its own for it. */
import type { User } from '../domains/types.ts';

const ADDRESS = /^[^\s@]+@[^\s@]+$/;

/** `ext.email`, else `opts.email`, else a login that is an address; empty when there is none. */
export const emailOf = ({ ext, opts, login }: User): string => {
  const known = [ext.email, opts.email].find((value) => typeof value === 'string' && value !== '');
  if (typeof known === 'string') return known;
  return ADDRESS.test(login) ? login : '';
};
