/**
 * 141: names the account that gets a session. It is made when the run returns, by who started it, after the ban was
 * asked once more; only runs of external sign-in and of OAuth make one.
 */
import type { SessionKind } from '../../auth/session-rows.ts';
import { type Element, go } from '../element.ts';
import { ScriptFault } from '../fault.ts';

export const createSession: Element = {
  oType: 141,
  name: 'create session',
  keys: {
    domain: { kind: 'template', description: 'Domain of the account; the own one when empty.' },
    login: { kind: 'template', required: true },
    kind: { kind: 'word', words: ['cookie', 'token'], description: 'cookie when absent' },
  },
  run: async (context, object) => {
    if (context.entry === 'integration') throw new ScriptFault('element', 'sessions are made at sign-in only');
    const { domain } = await context.acting(await context.renderText(object.domain));
    const login = await context.renderText(object.login);
    const user = await domain.read((read) => read.userByLogin(login));
    if (!user) throw new ScriptFault('element', 'there is no such account');
    const kind = (object.kind as SessionKind | undefined) ?? 'cookie';
    context.leave('session', { kind, domain: domain.name, login: user.login });
    context.log('info', `session for ${user.login} in ${domain.name}`);
    return go(object);
  },
};
