/** The OAuth pages `/oauth/redirect/<key>`, `/oauth/receiver` and `/oauth/enter/<token>`: what browsers see of the flow. */
import { asProblem } from '@parley/kit/problem.ts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type CookieSecure, setCookie } from '../auth/cookie.ts';
import type { Grant } from '../auth/grant.ts';
import { problem } from '../codes.ts';
import { browserHashesOf, markBrowser } from '../oauth/browser.ts';
import type { Flow, Visitor } from '../oauth/flow.ts';
import { guardReply, sendFault } from '../oauth/page.ts';
import type { RestCall, RestEndpoint } from '../rest/endpoint.ts';

type Parts = { readonly flow: Flow; readonly grant: Grant; readonly cookieSecure: CookieSecure };

const TAG = 'oauth';
const HOME = '/app-root';

const visitorOf = (request: FastifyRequest, signal: AbortSignal): Visitor => ({
  address: request.ip,
  browserHashes: browserHashesOf(request),
  signal,
});

const go = (reply: FastifyReply, to: string): FastifyReply => guardReply(reply).redirect(to, 302);

/** Each step changes something, so a HEAD is no question here. */
const page =
  (step: (call: RestCall, signal: AbortSignal) => Promise<unknown>) =>
  async (call: RestCall): Promise<unknown> => {
    const { request, reply } = call;
    const leaving = new AbortController();
    reply.raw.once('close', () => {
      if (!reply.raw.writableFinished) leaving.abort();
    });
    try {
      if (request.method === 'HEAD') {
        reply.header('allow', 'GET');
        throw problem('method_not_allowed');
      }
      return await step(call, leaving.signal);
    } catch (thrown) {
      const fault = asProblem(thrown);
      if (fault.status >= 500)
        request.log.error({ requestId: request.id, err: fault.cause ?? fault }, 'an OAuth page failed');
      const provider = fault.details?.provider;
      const again = typeof provider === 'string' ? `/oauth/redirect/${encodeURIComponent(provider)}` : undefined;
      return sendFault(request, reply, fault, again);
    }
  };

const redirect = ({ flow, cookieSecure }: Parts) =>
  page(async ({ request, reply }) => {
    const { key } = request.params as { key: string };
    const to = await flow.begin(key, request.ip, () => markBrowser(request, reply, cookieSecure));
    return go(reply, to.href);
  });

const receiver = ({ flow }: Parts) =>
  page(async ({ request, reply }, signal) => {
    const at = request.url.indexOf('?');
    const query = at < 0 ? '' : request.url.slice(at + 1);
    const { token } = await flow.receive(query, visitorOf(request, signal));
    return go(reply, `/oauth/enter/${token}`);
  });

const enter = ({ flow, grant, cookieSecure }: Parts) =>
  page(async ({ request, reply }, signal) => {
    const { token } = request.params as { token: string };
    const client = { kind: 'cookie', address: request.ip, agent: request.headers['user-agent'] ?? '' } as const;
    const issued = await flow.enter(token, visitorOf(request, signal), (account) => grant(account, client));
    setCookie(request, reply, issued.token, issued.session, cookieSecure);
    return go(reply, HOME);
  });

export const createOAuthEndpoints = (parts: Parts): RestEndpoint[] => [
  {
    method: 'GET',
    path: '/oauth/redirect/:key',
    access: 'open',
    domain: 'master',
    tag: TAG,
    summary: 'Begin a sign-in through a provider: the browser is sent to its page',
    status: 302,
    handle: redirect(parts),
  },
  {
    method: 'GET',
    path: '/oauth/receiver',
    access: 'open',
    domain: 'master',
    tag: TAG,
    summary: 'Where a provider sends the browser back to, with `state` and `code`',
    status: 302,
    handle: receiver(parts),
  },
  {
    method: 'GET',
    path: '/oauth/enter/:token',
    access: 'open',
    domain: 'master',
    tag: TAG,
    summary: 'The way in: the token script names the account, RSession is set, on to /app-root',
    status: 302,
    handle: enter(parts),
  },
];
