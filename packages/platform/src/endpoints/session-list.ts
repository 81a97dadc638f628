/** `iam/sessions` as a list: the live sessions of an account, seen and ended by its owner or by who manages users. */
import type { FastifyRequest } from 'fastify';
import type { Auth } from '../auth/auth.ts';
import { endOf, type Owner, type Session } from '../auth/session-rows.ts';
import { notFound, problem } from '../codes.ts';
import type { Caller } from '../domains/types.ts';
import { callerOf, type JsonSchema, type RestCall, type RestEndpoint } from '../rest/endpoint.ts';

type Parts = { readonly auth: Auth };

const TAG = 'iam/sessions';
const COLLECTION = '/rest/v1/iam/sessions';

const string: JsonSchema = { type: 'string' };

const LISTED_SCHEMA: JsonSchema = {
  type: 'object',
  properties: {
    id: string,
    kind: { enum: ['cookie', 'token'] },
    domain: string,
    user_id: { type: 'string', format: 'uuid' },
    created: string,
    last_seen: string,
    expires: string,
    address: string,
    agent: string,
    current: { type: 'boolean' },
  },
};

const time = (ms: number): string => new Date(ms).toISOString();

const showListed = (session: Session, caller: Caller) => ({
  id: session.id,
  kind: session.kind,
  domain: session.domain,
  user_id: session.user_id,
  created: time(session.created_ms),
  last_seen: time(session.seen_ms),
  expires: time(endOf(session)),
  address: session.address,
  agent: session.agent,
  current: caller.session.kind !== 'system' && caller.session.id === session.id,
});

/** Oneself, or with a route for it the user of one's domain that the query names. */
const wantedOwner = async (
  { auth }: Parts,
  { request, caller }: { request: FastifyRequest; caller: Caller },
): Promise<Owner> => {
  const { user_id: wanted } = request.query as { user_id?: unknown };
  const own = { home: caller.home.name, userId: caller.userId };
  if (wanted === undefined || wanted === caller.userId) return own;
  const method = request.method === 'DELETE' ? 'DELETE' : 'GET';
  if (!auth.gate.mayCall(caller, method, COLLECTION)) throw problem('forbidden');
  const id = typeof wanted === 'string' ? wanted.toLowerCase() : '';
  if (!(await caller.domain.read((rows) => rows.user(id)))) throw notFound();
  return { home: caller.domain.name, userId: id };
};

const list =
  (parts: Parts) =>
  async (call: RestCall): Promise<unknown> => {
    const caller = callerOf(call);
    const sessions = await parts.auth.sessions.listOf(await wantedOwner(parts, { request: call.request, caller }));
    return sessions.map((session) => showListed(session, caller));
  };

const endAll =
  (parts: Parts) =>
  async (call: RestCall): Promise<unknown> => {
    const caller = callerOf(call);
    const owner = await wantedOwner(parts, { request: call.request, caller });
    const keep = caller.session.kind === 'system' ? undefined : caller.session.id;
    await parts.auth.sessions.endAllOf(owner, keep);
    return call.reply.code(204).send();
  };

const endOne =
  ({ auth }: Parts) =>
  async (call: RestCall): Promise<unknown> => {
    const caller = callerOf(call);
    const { id } = call.request.params as { id: string };
    const session = await auth.sessions.read(id);
    const isOwn = session?.home === caller.home.name && session.user_id === caller.userId;
    const isManaged =
      session?.home === caller.domain.name && auth.gate.mayCall(caller, 'DELETE', `${COLLECTION}/${id}`);
    if (!session || (!isOwn && !isManaged)) throw notFound();
    await auth.sessions.end(session);
    return call.reply.code(204).send();
  };

export const createSessionListEndpoints = (parts: Parts): RestEndpoint[] => [
  {
    method: 'GET',
    path: COLLECTION,
    access: 'signed-in',
    tag: TAG,
    summary: 'Own live sessions; with `user_id` and a route for it those of another user',
    parameters: [{ name: 'user_id', in: 'query', description: 'User of this domain', schema: string }],
    answer: { type: 'array', items: LISTED_SCHEMA },
    handle: list(parts),
  },
  {
    method: 'DELETE',
    path: COLLECTION,
    access: 'signed-in',
    tag: TAG,
    summary: 'End all own sessions but this one; with `user_id` and a route for it those of another user',
    parameters: [{ name: 'user_id', in: 'query', description: 'User of this domain', schema: string }],
    status: 204,
    handle: endAll(parts),
  },
  {
    method: 'DELETE',
    path: `${COLLECTION}/:id`,
    access: 'signed-in',
    tag: TAG,
    summary: 'End one session',
    status: 204,
    handle: endOne(parts),
  },
];
