/** The list of elements: what is not named here no script can hold. */
import type { Element } from '../element.ts';
import { assign } from './assign.ts';
import { ban } from './ban.ts';
import { callScript } from './call-script.ts';
import { checkPassword } from './check-password.ts';
import { code } from './code.ts';
import { comment } from './comment.ts';
import { create } from './create.ts';
import { createSession } from './create-session.ts';
import { find } from './find.ts';
import { forEach } from './for-each.ts';
import { form } from './form.ts';
import { http } from './http.ts';
import { javascript } from './javascript.ts';
import { jwtVerification } from './jwt-verify.ts';
import { log } from './log.ts';
import { mail } from './mail.ts';
import { refuse } from './refuse.ts';
import { remove } from './remove.ts';
import { returnValues } from './return.ts';
import { sleep } from './sleep.ts';
import { sms } from './sms.ts';
import { start } from './start.ts';
import { choice } from './switch.ts';
import { update } from './update.ts';

export const ELEMENTS: readonly Element[] = [
  start,
  http,
  mail,
  sms,
  returnValues,
  comment,
  assign,
  choice,
  forEach,
  callScript,
  sleep,
  find,
  create,
  update,
  remove,
  log,
  javascript,
  checkPassword,
  createSession,
  ban,
  form,
  refuse,
  code,
  jwtVerification,
];
