/**
 * `iam/dbusers` and `iam/dbusers_by_expiration`: temporary accounts in the databases of a domain. Both are the same;
 * the second lets the caller say when an account ends, the first ends it with the day of the database's server.
 */
import { badRequest, cannotApply, notFound, problem } from '../codes.ts';
import { type Lifetime, MAX_LIFETIME_SEC } from '../db-accounts/accounts.ts';
import type { DbAccounts, Placed } from '../db-accounts/db-accounts.ts';
import { type Access, isLogin } from '../db-accounts/marker.ts';
import type { Domain } from '../domains/types.ts';
import { readDocument } from '../http/body.ts';
import { callerOf, type JsonSchema, type Parameter, type RestCall, type RestEndpoint } from '../rest/endpoint.ts';
import { nameIgnored } from '../rest/engine.ts';
import { integer } from '../rest/field.ts';
import { isObject, type Json } from '../rest/json.ts';
import { toInstant } from '../rest/ranges.ts';

export type DbUsersParts = {
  readonly accounts: DbAccounts;
  /** Unknown fields of a body are refused. */
  readonly isStrict: boolean;
};

type Level = Access | 'none';

const PATHS = { day: '/rest/v1/iam/dbusers', expiration: '/rest/v1/iam/dbusers_by_expiration' } as const;
type Family = keyof typeof PATHS;

const FIELDS: Readonly<Record<Family, readonly string[]>> = {
  day: ['access'],
  expiration: ['access', 'validuntil', 'ttl_sec'],
};
const TTL = integer({ min: 1, max: MAX_LIFETIME_SEC });

const TEXT: JsonSchema = { type: 'string' };
const PLACE: Readonly<Record<string, JsonSchema>> = {
  host: TEXT,
  port: { type: 'integer' },
  login: TEXT,
  database: TEXT,
  validuntil: { type: 'string', format: 'date-time' },
};
const ACCOUNT: JsonSchema = { type: 'object', properties: PLACE };
const ACCESS: JsonSchema = { type: 'string', enum: ['read', 'write'], default: 'read' };
const NEW_ACCOUNT: JsonSchema = { type: 'object', properties: { ...PLACE, pwd: TEXT, access: ACCESS } };
const DATABASES: JsonSchema = {
  type: 'array',
  items: { type: 'object', properties: { name: TEXT, _links: { type: 'object' } } },
};
const BODIES: Readonly<Record<Family, JsonSchema>> = {
  day: { type: 'object', properties: { access: ACCESS } },
  expiration: {
    type: 'object',
    properties: {
      access: ACCESS,
      validuntil: { type: 'string', format: 'date-time' },
      ttl_sec: { type: 'integer', minimum: 1, maximum: MAX_LIFETIME_SEC },
    },
  },
};
const DATABASE: Parameter = { name: 'database', in: 'path', description: 'Key of the storage.', schema: TEXT };
const LOGIN: Parameter = { name: 'login', in: 'path', description: 'Login of the account.', schema: TEXT };

/** What the domain may have at most: `opts.dbaccess`, set in the master. What is not understood gives nothing. */
const levelOf = (domain: Domain): Level => {
  const level = domain.opts.dbaccess ?? 'read';
  return level === 'read' || level === 'write' ? level : 'none';
};

const readAccess = (body: Json, domain: Domain): Access => {
  const access = body.access ?? 'read';
  if (typeof access !== 'string') throw badRequest('access', 'must be text');
  if (access !== 'read' && access !== 'write') throw cannotApply('access', 'must be read or write');
  const level = levelOf(domain);
  if (level === 'none' || (access === 'write' && level !== 'write')) {
    throw problem('forbidden', { details: { field: 'access', allowed: level } });
  }
  return access;
};

const readLifetime = (family: Family, { validuntil, ttl_sec: ttl }: Json): Lifetime => {
  if (family === 'day') return { is: 'day' };
  const hasMoment = validuntil !== undefined && validuntil !== null;
  const hasTtl = ttl !== undefined && ttl !== null;
  if (hasMoment && hasTtl) throw badRequest('ttl_sec', 'cannot be given together with validuntil');
  if (hasTtl) return { is: 'seconds', seconds: TTL.check(ttl, 'ttl_sec') as number };
  if (!hasMoment) throw cannotApply('validuntil', 'required');
  const at = typeof validuntil === 'string' ? toInstant(validuntil) : undefined;
  if (at === undefined) throw badRequest('validuntil', 'must be a time such as 2030-12-31T18:00:00Z');
  return { is: 'moment', at };
};

const readBody = async ({ request, reply }: RestCall, known: readonly string[], isStrict: boolean): Promise<Json> => {
  const body = (await readDocument(request, 'create')) ?? {};
  if (!isObject(body)) throw badRequest('body', 'must be an object');
  const ignored = Object.keys(body).filter((name) => !known.includes(name));
  if (isStrict && ignored.length > 0) throw badRequest(ignored[0]!, 'is not a field here');
  nameIgnored(reply, ignored);
  return body;
};

const show = ({
  host,
  port,
  login,
  database,
  validuntil,
}: Placed<{ login: string; database: string; validuntil: string }>) => ({
  host,
  port,
  login,
  database,
  validuntil,
});

const paramsOf = ({ request }: RestCall): { database: string; login: string } =>
  request.params as { database: string; login: string };

const createFamily = ({ accounts, isStrict }: DbUsersParts, family: Family): RestEndpoint[] => {
  const path = PATHS[family];
  const common = { access: 'route', tag: path.slice('/rest/v1/'.length) } as const;
  const one = { ...common, path: `${path}/:database`, parameters: [DATABASE] } as const;
  return [
    {
      ...common,
      method: 'GET',
      path,
      summary: 'Databases that temporary accounts can be made in',
      answer: DATABASES,
      handle: async (call) =>
        (await accounts.databases(callerOf(call).domain)).map((name) => ({
          name,
          _links: { self: { href: `${path}/${encodeURIComponent(name)}` } },
        })),
    },
    {
      ...one,
      method: 'POST',
      summary: 'A temporary account; its password is shown only now',
      body: BODIES[family],
      answer: NEW_ACCOUNT,
      handle: async (call) => {
        const { domain } = callerOf(call);
        const body = await readBody(call, FIELDS[family], isStrict);
        const wish = { access: readAccess(body, domain), lifetime: readLifetime(family, body) };
        const made = await accounts.create(domain, paramsOf(call).database, wish);
        const { validuntil, ...place } = show(made);
        return { ...place, pwd: made.pwd, access: made.access, validuntil };
      },
    },
    {
      ...one,
      method: 'GET',
      summary: 'Current temporary accounts of a database',
      answer: { type: 'array', items: ACCOUNT },
      handle: async (call) => (await accounts.list(callerOf(call).domain, paramsOf(call).database)).map(show),
    },
    {
      ...one,
      method: 'DELETE',
      summary: 'Removes all temporary accounts of a database, with their connections',
      status: 204,
      handle: async (call) => {
        await accounts.remove(callerOf(call).domain, paramsOf(call).database);
        return call.reply.code(204).send();
      },
    },
    {
      ...common,
      method: 'DELETE',
      path: `${path}/:database/:login`,
      parameters: [DATABASE, LOGIN],
      summary: 'Removes one temporary account, with its connections',
      status: 204,
      handle: async (call) => {
        const { database, login } = paramsOf(call);
        if (!isLogin(login)) throw notFound();
        const gone = await accounts.remove(callerOf(call).domain, database, login);
        if (gone === 0) throw notFound();
        return call.reply.code(204).send();
      },
    },
  ];
};

export const createDbUsersEndpoints = (parts: DbUsersParts): RestEndpoint[] => [
  ...createFamily(parts, 'day'),
  ...createFamily(parts, 'expiration'),
];
