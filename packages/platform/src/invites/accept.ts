/** The other end of an invitation: whoever holds its link sets the password, and perhaps login and name, once. */
import type { Clock } from '@parley/kit/clock.ts';
import type { Log } from '@parley/kit/log.ts';
import { Problem } from '@parley/kit/problem.ts';
import { Conflict, type Row, type Store } from '@parley/kit/store/store.ts';
import { emailOf } from '../auth/email.ts';
import type { Passwords } from '../auth/password.ts';
import type { PasswordPolicy, PolicyLimits } from '../auth/password-policy.ts';
import { createSystemCaller } from '../auth/system-caller.ts';
import { badRequest } from '../codes.ts';
import type { LoadedDomains } from '../domains/domains.ts';
import { createLocks } from '../domains/locks.ts';
import type { DomainMemory } from '../domains/memory.ts';
import type { Caller, User } from '../domains/types.ts';
import type { Outbox, Prepared } from '../mail/outbox.ts';
import type { MailRoutes } from '../mail/routes.ts';
import type { ModelClasses } from '../model/model-class.ts';
import type { Json } from '../rest/json.ts';
import type { Resource } from '../rest/resource.ts';
import type { Writer } from '../rest/save.ts';
import { inviteProblem, passwordProblem } from './faults.ts';
import { inviteKind } from './invites.ts';
import { findLink, hashOf, type Link } from './links.ts';
import { changedMail } from './mails.ts';

export type Acceptance = {
  /** What a link opens; undefined for a uuid that was never issued. */
  find(uuid: string): Promise<Link | undefined>;
  /** Sets the password. Throws the 412 of the contract, or 400 for a body of the wrong shape. */
  accept(uuid: string, body: Json, address: string): Promise<{ readonly domain: string; readonly login: string }>;
};

export type AcceptanceParts = {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly domains: LoadedDomains;
  readonly classes: ModelClasses;
  readonly writer: Writer;
  readonly users: Resource;
  readonly passwords: Passwords;
  readonly policy: PasswordPolicy;
  readonly outbox: Outbox;
  readonly routes: MailRoutes;
  /** The limits of a domain's passwords. */
  limitsOf(domain: DomainMemory): PolicyLimits;
  endSessions(owner: { readonly home: string; readonly userId: string }): Promise<unknown>;
};

/** An invitation that may be used now. */
type Open = { readonly domain: DomainMemory; readonly user: User; readonly email: string; readonly row: Row };

/** What the body asks for; absent fields stay as they are. */
type Wanted = { readonly pwd: string; readonly login?: string; readonly name?: string };

export const createAcceptance = (parts: AcceptanceParts): Acceptance => {
  const { store, clock } = parts;
  // One use of a link after the other: parallel ones would each compare a password with the present one.
  const turns = createLocks();

  const open = async (hash: string): Promise<Open> => {
    const link = await findLink(store, hash);
    if (!link) throw inviteProblem('gone');
    if (link.until_ms <= clock.now()) throw inviteProblem('expired');
    const domain = await parts.domains.open(link.domain);
    if (!domain) throw inviteProblem('gone');
    const row = await store.get(domain.name, inviteKind(parts.classes, domain), link.invite_id);
    const user = await domain.read((rows) => rows.user(link.user_id));
    const isSame = user !== undefined && user.ext.ct === link.user_ct && emailOf(user) === link.email;
    if (!row || row.data.link_hash !== hash || !isSame) throw inviteProblem('gone');
    return { domain, user, row, email: link.email };
  };

  const use = async (hash: string, body: Json, address: string) => {
    const found = await open(hash);
    const wanted = readWanted(body);
    await checkFields(parts.users, found, wanted);
    await checkPassword(parts, found, wanted);
    const user = await write(parts, found, wanted, address);
    const { name: domain } = found.domain;
    await parts.endSessions({ home: domain, userId: user.id });
    parts.log.info({ domain, user: user.id, invite: found.row.id, address }, 'password set by invitation');
    return { domain, login: user.login };
  };

  return {
    find: (uuid) => findLink(store, hashOf(uuid)),
    accept: (uuid, body, address) => turns.entity(hashOf(uuid), () => use(hashOf(uuid), body, address)),
  };
};

const readWanted = (body: Json): Wanted => {
  const optional = (field: 'login' | 'name'): string | undefined => {
    const value = body[field];
    // An empty field of a form is one that nobody filled in.
    if (value === undefined || value === null || value === '') return undefined;
    if (typeof value !== 'string') throw badRequest(field, 'must be text');
    return value;
  };
  if (typeof body.pwd !== 'string') throw badRequest('pwd', body.pwd === undefined ? 'is missing' : 'must be text');
  const login = optional('login');
  const name = optional('name');
  return {
    pwd: body.pwd,
    ...(login === undefined ? {} : { login }),
    ...(name === undefined ? {} : { name }),
  };
};

/** Login and name by the rules of the collection of users. */
const checkFields = async ({ fields }: Resource, { domain, user }: Open, { login, name }: Wanted): Promise<void> => {
  const check = (field: 'login' | 'name', value: string | undefined): void => {
    try {
      if (value !== undefined) fields[field]!.check(value, field);
    } catch (cause) {
      throw inviteProblem(`${field}_invalid`, { cause });
    }
  };
  check('login', login);
  const holder = login === undefined ? undefined : await domain.read((rows) => rows.userByLogin(login));
  if (holder && holder.id !== user.id) throw inviteProblem('login_taken');
  check('name', name);
};

const checkPassword = async (
  { policy, limitsOf }: AcceptanceParts,
  { domain, user }: Open,
  { pwd, login = user.login, name = user.name }: Wanted,
): Promise<void> => {
  const presentHash = user.pwd === undefined ? {} : { presentHash: user.pwd };
  const refusal = await policy.check(pwd, { login, name, domain: domain.name, ...presentHash }, limitsOf(domain));
  if (refusal) throw passwordProblem(refusal);
};

/** The account, the end of the invitation and the mail about it in one commit. */
const write = async (
  parts: AcceptanceParts,
  found: Open,
  { pwd, ...fields }: Wanted,
  address: string,
): Promise<User> => {
  const { domain, user, row } = found;
  const hash = await parts.passwords.hash(pwd);
  const news = await newsOf(parts, found);
  // The journal names whose link it was; the session is none, so that no session of theirs is spared.
  const caller: Caller = {
    ...createSystemCaller(domain, user.name),
    userId: user.id,
    login: user.login,
    address,
  };
  try {
    const held = await parts.writer.write({
      resource: parts.users,
      domain,
      caller,
      id: user.id,
      mode: 'patch',
      body: {},
      along: [{ op: 'drop', kind: inviteKind(parts.classes, domain), id: row.id, expect: row.version, quiet: true }],
      further: news.domains,
      form: (previous) => {
        if (!previous) throw inviteProblem('gone');
        return { ...previous, ...fields, pwd: hash } as Json;
      },
    });
    news.written();
    return held!.entity as User;
  } catch (thrown) {
    if (thrown instanceof Conflict) throw inviteProblem('gone', { cause: thrown });
    if (thrown instanceof Problem && thrown.code === 'exists') throw inviteProblem('login_taken', { cause: thrown });
    throw thrown;
  }
};

/** The mail that tells the user, where mail is set up. */
const newsOf = async ({ outbox, routes }: AcceptanceParts, { domain, email, user }: Open): Promise<Prepared> => {
  if (!(await routes.find(domain.name))) return { domains: [], written: () => {} };
  const mail = changedMail({ name: user.name, domain: domain.name });
  return outbox.prepare([{ ...mail, to: email, domain: domain.name }]);
};
