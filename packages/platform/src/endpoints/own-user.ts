/** What people see and keep of themselves: `user/info` and `user/ext`. Both act on the account's home domain. */
import type { FastifyRequest } from 'fastify';
import { emailOf } from '../auth/email.ts';
import { badRequest } from '../codes.ts';
import type { Caller, Domain, Entity } from '../domains/types.ts';
import { readDocument } from '../http/body.ts';
import { callerOf, type JsonSchema, type RestCall, type RestEndpoint } from '../rest/endpoint.ts';
import { type Engine, memoryOf, nameIgnored } from '../rest/engine.ts';
import { isObject, type Json, mergePatch } from '../rest/json.ts';
import { patchEntity } from '../rest/patch.ts';
import type { Resource } from '../rest/resource.ts';
import { readOwnAccount } from './own-account.ts';
import { avatarOf } from './own-avatar.ts';

export type SipAccount = { readonly id: string; readonly login: string; readonly phonenumber: string };
export type SipAccounts = { of(home: Domain, userId: string): Promise<readonly SipAccount[]> };

type Parts = { readonly engine: Engine; readonly users: Resource; readonly sipAccounts: SipAccounts };

const TAG = 'user';
const INFO = '/rest/v1/user/info';
const EXT = '/rest/v1/user/ext';
const MAX_EXT_BYTES = 65_536;
const MAX_EXT_DEPTH = 8;

const string: JsonSchema = { type: 'string' };
const INFO_SCHEMA: JsonSchema = {
  type: 'object',
  properties: {
    id: string,
    domain: string,
    login: string,
    name: string,
    email: string,
    avatar: {},
    avatar_info: {},
    groups: { type: 'array', items: { type: 'object' } },
    roles: { type: 'array', items: string },
    sip_accounts: { type: 'array', items: { type: 'object' } },
  },
};
const EXT_SCHEMA: JsonSchema = { type: 'object', additionalProperties: true };

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

const showGroup = (group: Entity) => ({
  id: group.id,
  code: textOf(group.code),
  description: textOf(group.description),
  opts: { title: textOf((group.opts as Entity | undefined)?.title) },
});

const showInfo = async ({ sipAccounts }: Parts, caller: Caller): Promise<Json> => {
  const { home, userId } = caller;
  const user = await readOwnAccount(caller);
  const groups = home.rights.deepGroupsOf(userId).map((id) => home.get('group', id));
  const avatar = avatarOf(user) ?? false;
  return {
    id: user.id,
    domain: home.name,
    login: user.login,
    name: user.name,
    email: emailOf(user),
    // The specification leaves open which of the two it is.
    avatar,
    avatar_info: avatar,
    groups: groups.filter((group) => group !== undefined).map(showGroup),
    roles: home.rights.rolesOf(user),
    sip_accounts: await sipAccounts.of(home, userId),
  };
};

const readObject = async (request: FastifyRequest, verb: 'replace' | 'patch'): Promise<Json> => {
  const body = await readDocument(request, verb);
  if (!isObject(body)) throw badRequest('body', 'must be an object');
  return body;
};

const rename =
  ({ engine, users }: Parts) =>
  async (call: RestCall): Promise<unknown> => {
    const caller = callerOf(call);
    const { name, ...rest } = await readObject(call.request, 'patch');
    if (typeof name !== 'string' || name === '') throw badRequest('name', 'must be text');
    const input = { fields: { name }, ignored: Object.keys(rest) };
    if (engine.isStrict && input.ignored.length > 0) throw badRequest(input.ignored[0]!, 'is not a field here');
    const domain = memoryOf(engine, caller.home);
    const held = await patchEntity(engine, users, { domain, caller, id: caller.userId, input });
    nameIgnored(call.reply, input.ignored);
    return { name: held.entity.name };
  };

const withoutStamps = ({ ct: _ct, lwt: _lwt, ...rest }: Json | Entity): Json => rest as Json;

const depthOf = (value: unknown): number =>
  typeof value === 'object' && value !== null
    ? 1 + Object.values(value).reduce((deepest: number, each) => Math.max(deepest, depthOf(each)), 0)
    : 0;

const checkExt = (ext: Json): Json => {
  if (depthOf(ext) > MAX_EXT_DEPTH) throw badRequest('ext', `must not be nested deeper than ${MAX_EXT_DEPTH}`);
  if (Buffer.byteLength(JSON.stringify(ext)) > MAX_EXT_BYTES) {
    throw badRequest('ext', `must have at most ${MAX_EXT_BYTES} bytes`);
  }
  return ext;
};

/** Writes what `change` makes of the present content, and answers the new one. */
const writeExt = async (
  { engine, users }: Parts,
  caller: Caller,
  change: (present: Json) => unknown,
): Promise<Json> => {
  const domain = memoryOf(engine, caller.home);
  const held = await engine.writer.write({
    resource: users,
    domain,
    caller,
    id: caller.userId,
    mode: 'patch',
    body: {},
    form: (previous) => previous && { ...previous, ext: checkExt(change(withoutStamps(previous.ext as Json)) as Json) },
  });
  return withoutStamps(held!.entity.ext as Json);
};

const replaceExt =
  (parts: Parts) =>
  async (call: RestCall): Promise<unknown> => {
    const wanted = withoutStamps(await readObject(call.request, 'replace'));
    // Merged into nothing, a null is dropped wherever it stands.
    return writeExt(parts, callerOf(call), () => mergePatch({}, wanted));
  };

const patchExt =
  (parts: Parts) =>
  async (call: RestCall): Promise<unknown> => {
    const changes = withoutStamps(await readObject(call.request, 'patch'));
    return writeExt(parts, callerOf(call), (present) => mergePatch(present, changes));
  };

const readExt = async (call: RestCall): Promise<Json> => withoutStamps((await readOwnAccount(callerOf(call))).ext);

export const createOwnUserEndpoints = (parts: Parts): RestEndpoint[] => {
  const common = { access: 'signed-in', tag: TAG } as const;
  const ext = { ...common, body: EXT_SCHEMA, answer: EXT_SCHEMA };
  const replacing = {
    ...ext,
    method: 'PUT',
    summary: 'Replace all own additional fields',
    handle: replaceExt(parts),
  } as const;
  return [
    {
      ...common,
      method: 'GET',
      path: INFO,
      summary: 'Who I am',
      answer: INFO_SCHEMA,
      handle: (call) => showInfo(parts, callerOf(call)),
    },
    {
      ...common,
      method: 'PATCH',
      path: INFO,
      summary: 'Change the own name',
      body: { type: 'object', properties: { name: string }, required: ['name'] },
      answer: { type: 'object', properties: { name: string } },
      handle: rename(parts),
    },
    { ...ext, method: 'GET', path: EXT, summary: 'Own additional fields', handle: readExt },
    { ...replacing, path: EXT },
    // The specification's table puts it here, its requests there.
    { ...replacing, path: INFO },
    { ...ext, method: 'PATCH', path: EXT, summary: 'Merge into the own additional fields', handle: patchExt(parts) },
  ];
};
