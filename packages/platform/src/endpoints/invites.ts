/** Invitations, under both names the specification gives them: `iam/invites` and `iam/pwd_reset_requests`. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Auth } from '../auth/auth.ts';
import { badRequest } from '../codes.ts';
import type { Domains } from '../domains/types.ts';
import { readDocument } from '../http/body.ts';
import type { Acceptance } from '../invites/accept.ts';
import { inviteProblem } from '../invites/faults.ts';
import type { Invites } from '../invites/invites.ts';
import { callerOf, type JsonSchema, type RestCall, type RestEndpoint } from '../rest/endpoint.ts';
import { isObject, type Json } from '../rest/json.ts';

type Parts = {
  readonly auth: Pick<Auth, 'gate' | 'ban'>;
  readonly domains: Domains;
  readonly invites: Invites;
  readonly acceptance: Acceptance;
};

const PATHS = ['/rest/v1/iam/invites', '/rest/v1/iam/pwd_reset_requests'];
const SENT = 'The invitation was sent';
const WAITING = 'The invitation waits for the mail server and will be sent';
const CHANGED = 'The password was changed';
/** RFC 7240 §4.1. */
const NOT_WAITING = /(?:^|,)\s*respond-async\s*(?:[;,]|$)/i;

const string: JsonSchema = { type: 'string' };
const done = (more: Json = {}): JsonSchema => ({
  type: 'object',
  properties: { error_code: { const: 0 }, result: { const: true }, result_msg: string, ...more },
});
const success = (result_msg: string) => ({ error_code: 0, result: true, result_msg });

const readBody = async (request: FastifyRequest, verb: 'create' | 'patch'): Promise<Json> => {
  const body = (await readDocument(request, verb)) ?? {};
  if (!isObject(body)) throw badRequest('body', 'must be an object');
  return body;
};

/** Aborts when the client goes away before it has its answer. */
const leaving = (reply: FastifyReply): AbortSignal => {
  const gone = new AbortController();
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) gone.abort(new Error('The client went away.'));
  });
  return gone.signal;
};

const create =
  ({ invites }: Parts) =>
  async (call: RestCall): Promise<unknown> => {
    const { request, reply } = call;
    const { userid } = await readBody(request, 'create');
    if (userid === undefined || userid === null) throw badRequest('userid', 'is missing');
    if (typeof userid !== 'string') throw badRequest('userid', 'must be text');
    const waits = !NOT_WAITING.test(String(request.headers.prefer ?? ''));
    const { state } = await invites.create(callerOf(call), userid, { waits, signal: leaving(reply) });
    if (!waits) reply.header('preference-applied', 'respond-async');
    return success(state === 'sent' ? SENT : WAITING);
  };

const accept =
  ({ auth, domains, acceptance }: Parts) =>
  async ({ request }: RestCall): Promise<unknown> => {
    const { id } = request.params as { id: string };
    const link = await acceptance.find(id);
    // Before the ban: a page of another site must not make visitors of it guess.
    auth.gate.checkOrigin(request, link && (await domains.open(link.domain)));
    await auth.ban.anonymous(request.ip, async () => ({ ok: link !== undefined }));
    if (!link) throw inviteProblem('gone');
    const user = await acceptance.accept(id, await readBody(request, 'patch'), request.ip);
    return { ...success(CHANGED), user };
  };

export const createInviteEndpoints = (parts: Parts): RestEndpoint[] =>
  PATHS.flatMap((path): RestEndpoint[] => [
    {
      method: 'POST',
      path,
      access: 'route',
      tag: path.slice('/rest/v1/'.length),
      summary: 'Mail a user a link to set the password',
      description:
        'Waits for the mail server, which is asked a second time when it fails for the moment; with `Prefer: respond-async` the mail is queued and tried four times.',
      body: { type: 'object', required: ['userid'], properties: { userid: { type: 'string', format: 'uuid' } } },
      answer: done(),
      handle: create(parts),
    },
    {
      method: 'PATCH',
      path: `${path}/:id`,
      access: 'open',
      tag: path.slice('/rest/v1/'.length),
      summary: 'Set the password by the link of the mail; the link ends with it',
      body: { type: 'object', required: ['pwd'], properties: { pwd: string, login: string, name: string } },
      answer: done({ user: { type: 'object', properties: { domain: string, login: string } } }),
      handle: accept(parts),
    },
  ]);
