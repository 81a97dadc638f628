/**
 * Puts endpoints on the server: each behind the gate its access names and the domain type it asks for; and answers for
 * every address below /rest/ that is none, after the same gate, so that guests learn nothing.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Gate } from './auth/caller.ts';
import { notFound, problem } from './codes.ts';
import { checkDomainType } from './domains/guard.ts';
import type { Caller } from './domains/types.ts';
import { NOWHERE, ROUTED_LOOKUP, targetOf } from './http/method.ts';
import type { RestEndpoint } from './rest/endpoint.ts';

type WithCaller = FastifyRequest & { caller: Caller | undefined };

/** Mounts the endpoints and the answers for what is none of them. */
export const mountEndpoints = (app: FastifyInstance, endpoints: readonly RestEndpoint[], gate: Gate): void => {
  app.decorateRequest('caller', undefined);
  for (const endpoint of endpoints) mountOne(app, endpoint, gate);
  const methodsAt = createMethodsAt(endpoints);
  app.all('/rest/*', {
    onRequest: async (request, reply) => {
      const { method, path } = targetOf(request.raw);
      // What a path can do is no secret; whether it exists is told to those who may come in.
      if (method === 'OPTIONS') return;
      await gate.admit(request, reply, 'route');
      refuseUnknown(method, methodsAt(path), reply);
    },
    handler: (request, reply) => {
      const methods = methodsAt(targetOf(request.raw).path);
      return reply
        .header('allow', [...methods, 'OPTIONS'].join(', '))
        .code(204)
        .send();
    },
  });
  app.all(NOWHERE, (request) => {
    targetOf(request.raw);
    throw notFound();
  });
};

const mountOne = (app: FastifyInstance, endpoint: RestEndpoint, gate: Gate): void => {
  const { access } = endpoint;
  app.route({
    method: endpoint.method === 'LOOKUP' ? ROUTED_LOOKUP : endpoint.method,
    url: endpoint.path,
    exposeHeadRoute: endpoint.method === 'GET',
    onRequest: async (request, reply) => {
      if (access === 'open') return;
      const caller = await gate.admit(request, reply, access);
      checkDomainType(caller, endpoint.domain ?? 'any');
      (request as WithCaller).caller = caller;
    },
    handler: (request, reply) => endpoint.handle({ request, reply, caller: (request as WithCaller).caller }),
  });
};

const refuseUnknown = (method: string, methods: readonly string[], reply: FastifyReply): never => {
  if (methods.length === 0) throw notFound();
  // The router knows both, so it was a part of the path that is too long for it.
  if (methods.includes(method)) throw problem('uri_too_long');
  reply.header('allow', methods.join(', '));
  throw problem('method_not_allowed');
};

/** Methods that the endpoints know at a path. */
const createMethodsAt = (endpoints: readonly RestEndpoint[]): ((path: string) => string[]) => {
  const patterns = endpoints.map(({ method, path }) => ({ method, segments: path.split('/') }));
  return (path) => {
    const segments = path.split('/');
    const methods = new Set<string>();
    for (const pattern of patterns) {
      if (!matches(pattern.segments, segments)) continue;
      methods.add(pattern.method);
      if (pattern.method === 'GET') methods.add('HEAD');
    }
    return [...methods].sort();
  };
};

const matches = (pattern: readonly string[], segments: readonly string[]): boolean => {
  if (pattern.at(-1) === '*') {
    return segments.length >= pattern.length && pattern.slice(0, -1).every((part, at) => part === segments[at]);
  }
  return (
    pattern.length === segments.length && pattern.every((part, at) => part.startsWith(':') || part === segments[at])
  );
};
