/** The list of elements: what is not named here no script can hold. */
import type { Element } from '../element.ts';
import { ban } from './ban.ts';
import { checkPassword } from './check-password.ts';
import { code } from './code.ts';
import { createSession } from './create-session.ts';
import { form } from './form.ts';
import { jwtVerification } from './jwt-verify.ts';
import { log } from './log.ts';
import { refuse } from './refuse.ts';
import { start } from './start.ts';

export const ELEMENTS: readonly Element[] = [
  start,
  log,
  checkPassword,
  createSession,
  ban,
  form,
  refuse,
  code,
  jwtVerification,
];
