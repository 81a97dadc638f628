/**
 * `iam/users`: accounts. Passwords are hashed before anything is locked; who gains rights, and who may change another's
 * way in, falls under the coverage rule; the last administrator of a domain stays.
 */
import { isPasswordHash, MAX_PASSWORD } from '../auth/password.ts';
import { badRequest, cannotApply, problem } from '../codes.ts';
import { stringsAt } from '../domains/rights.ts';
import type { Caller, Domain, Entity } from '../domains/types.ts';
import { bool, key, list, opts, SECRET_MASK, secret, text } from '../rest/field.ts';
import { isObject, isSame, type Json } from '../rest/json.ts';
import { defineResource, type Resource, type SaveContext } from '../rest/resource.ts';
import { ADMIN_ROLE } from './built-in.ts';
import { requireCoverage, requireCoverageOfUser, requireRoles } from './coverage.ts';
import { guardAccount } from './script-accounts.ts';
import { timezone } from './timezone.ts';

export type UsersParts = {
  hash(password: string): Promise<string>;
  /** Checks the caller's present password, as an attempt that the ban counts. */
  verify(caller: Caller, phc: string | undefined, password: string): Promise<{ readonly ok: boolean }>;
  /** Hashes in PHC form are taken as such from administrators. */
  readonly importsHashes: boolean;
  readonly requiresOldPassword: boolean;
};

const EVERYTHING = [{ methods: ['*'], url: '*' }];

export const createUsers = (parts: UsersParts): Resource =>
  defineResource({
    path: 'iam/users',
    kind: 'user',
    isGrowing: true,
    summary: 'accounts',
    unique: { login: (login) => login.toLowerCase() },
    lookup: ['login'],
    list: ['id', 'login', 'name', 'timezone', 'opts.roles', 'ext.lwt', 'ext.ct'],
    alias: { name: 'current', idOf: (caller) => caller.userId, fields: ['name', 'pwd', 'timezone', 'ext', 'pwd_old'] },
    fields: {
      name: text({ maxLength: 128, fallback: '' }),
      login: key({ required: true }),
      pwd: secret({ hidesAbsence: true, description: 'Write-only; the mask leaves it as it is.' }),
      pwd_old: secret({
        transient: true,
        description: 'The present password, when changing it needs it. Never kept.',
      }),
      timezone: timezone(),
      opts: opts({
        roles: list(key(), { isUnique: true, maxItems: 1000 }),
        tags: list(key(), { maxItems: 1000 }),
        domains: list(key({ maxLength: 253 }), { isUnique: true, maxItems: 1000 }),
        allow_script_crud: bool(),
      }),
    },
    // Removing the role of administrators looks at all others who hold it.
    isExclusive: (mode, body, held) =>
      mode === 'remove' || (held !== undefined && holdsAdmin(held) && (mode === 'replace' || body.opts !== undefined)),
    prepare: (body, context, id) => preparePassword(parts, body, context, id),
    beforeSave: (draft, previous, context) => {
      delete draft.pwd_old;
      draft.name ||= draft.login;
      completeOpts(draft);
      guardAccount(draft, previous, context.caller);
      const roles = stringsAt(draft, 'opts', 'roles');
      requireRoles(context.domain, roles, 'opts.roles');
      checkRights(draft, previous, context);
      if (previous && holdsAdmin(previous) && !roles.includes(ADMIN_ROLE)) keepAdmin(context.domain, String(draft.id));
    },
    beforeRemove: (previous, context) => {
      const id = String(previous.id);
      guardAccount(undefined, previous, context.caller);
      if (context.caller.userId === id) throw cannotApply('id', 'you cannot remove yourself');
      requireCoverageOfUser(context.caller, context.domain, id, 'id');
      if (holdsAdmin(previous)) keepAdmin(context.domain, id);
      forgetUser(id, context);
    },
  });

const holdsAdmin = (user: Entity): boolean => stringsAt(user, 'opts', 'roles').includes(ADMIN_ROLE);

const keepAdmin = (domain: Domain, leavingId: string): void => {
  const isOther = (user: Entity): boolean => user.id !== leavingId && holdsAdmin(user);
  if (domain.select('user', 'another administrator', isOther, 1).length > 0) return;
  throw cannotApply('opts.roles', 'the last administrator of a domain stays');
};

const completeOpts = (draft: Json): void => {
  const given = isObject(draft.opts) ? draft.opts : {};
  draft.opts = { title: '', comment: '', roles: [], tags: [], allow_script_crud: false, ...given };
};

/** What changes who may do what, or who may sign in as someone, is for those who may do as much themselves. */
const checkRights = (draft: Json, previous: Entity | undefined, { caller, domain, domains }: SaveContext): void => {
  const before = new Set(stringsAt(previous, 'opts', 'roles'));
  const added = stringsAt(draft, 'opts', 'roles').filter((role) => !before.has(role));
  requireCoverage(caller, domain, added, 'opts.roles');
  checkDomains(draft, previous, caller, domain, domains);
  if (!previous) return;
  const entrances = ['pwd', 'login'].filter((field) => !isSame(draft[field], previous[field]));
  const emails = [draft, previous].map((user) => JSON.stringify([mailOf(user.ext), mailOf(user.opts)]));
  if (emails[0] !== emails[1]) entrances.push('ext.email');
  if (entrances.length > 0) requireCoverageOfUser(caller, domain, String(previous.id), entrances[0]!);
};

const mailOf = (holder: unknown): unknown => (isObject(holder) ? holder.email : undefined);

const checkDomains = (
  draft: Json,
  previous: Entity | undefined,
  caller: Caller,
  domain: Domain,
  domains: SaveContext['domains'],
): void => {
  const wanted = stringsAt(draft, 'opts', 'domains');
  const before = stringsAt(previous, 'opts', 'domains');
  if (isSame(wanted, before)) return;
  for (const name of wanted.filter((each) => !before.includes(each))) {
    if (name === '*' ? !domain.isMaster : !domains.isBelow(name, domain.name)) {
      throw cannotApply('opts.domains', 'is no domain below this one', { value: name });
    }
  }
  // Whoever opens another domain to an account gives away rights there.
  if (wanted.some((name) => !before.includes(name)) && !caller.covers(EVERYTHING)) {
    throw problem('forbidden', { details: { field: 'opts.domains', reason: 'not covered by your own roles' } });
  }
};

const forgetUser = (id: string, { domain, also }: SaveContext): void => {
  for (const group of domain.all('group')) {
    if (stringsAt(group, 'opts', 'users').includes(id)) {
      also('group', String(group.id), (current) => withoutMember(current, id));
    }
  }
  const isTop = ({ top_type, top_key }: Entity): boolean => top_type === 'user' && top_key === id;
  const isSub = (each: Entity): boolean => each.sub_type === 'user' && stringsAt(each, 'sub_keys').includes(id);
  const naming = domain.select('subordination', 'naming the user', (each) => isTop(each) || isSub(each));
  domain.need('subordination', idsOf(naming));
  for (const subordination of naming) {
    also('subordination', String(subordination.id), (current) =>
      isTop(current)
        ? undefined
        : { ...current, sub_keys: stringsAt(current, 'sub_keys').filter((key_) => key_ !== id) },
    );
  }
};

const idsOf = (entities: readonly Entity[]): string[] => entities.map(({ id }) => String(id));

const withoutMember = (group: Entity, id: string): Json => ({
  ...group,
  opts: { ...(group.opts as Json), users: stringsAt(group, 'opts', 'users').filter((user) => user !== id) },
});

const preparePassword = async (
  parts: UsersParts,
  body: Json,
  { caller, domain, mode }: Pick<SaveContext, 'domain' | 'caller' | 'mode'>,
  id: string,
): Promise<Json> => {
  const { pwd, pwd_old, ...rest } = body;
  if (pwd === undefined || pwd === null || pwd === SECRET_MASK || mode === 'remove') return rest;
  if (typeof pwd !== 'string') throw badRequest('pwd', 'must be text');
  if (pwd === '' || pwd.length > MAX_PASSWORD) throw badRequest('pwd', `must have 1 to ${MAX_PASSWORD} characters`);
  const isOwn = mode === 'patch' && caller.userId === id && caller.home.name === domain.name;
  const present = (await domain.read((rows) => rows.user(id)))?.pwd;
  if (
    isOwn &&
    parts.requiresOldPassword &&
    !(await parts.verify(caller, present, typeof pwd_old === 'string' ? pwd_old : '')).ok
  ) {
    throw cannotApply('pwd_old', 'is not the present password');
  }
  if (parts.importsHashes && isPasswordHash(pwd)) {
    if (!caller.covers(EVERYTHING)) throw problem('forbidden', { details: { field: 'pwd' } });
    return { ...rest, pwd };
  }
  return { ...rest, pwd: await parts.hash(pwd) };
};
