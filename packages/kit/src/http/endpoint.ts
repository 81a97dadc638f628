/**
 * An address the house answers, as a small object. Routing, the OpenAPI list, access checks and the surface test all
 * read the same objects; nothing is served that is not one of them.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** One request on its way through an endpoint. `signal` aborts when the client goes away or the server gives up. */
export type Call<Caller> = {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly caller: Caller;
  readonly signal: AbortSignal;
};

export type Endpoint<Access extends string, Caller> = {
  readonly method: Method;
  /** Fastify's path syntax: `/api/v1/jobs/:id`. */
  readonly path: string;
  readonly access: Access;
  /** Groups the endpoint in the reference; the name of its dialect. */
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  handle(call: Call<Caller>): unknown;
};

/** Proves who is asking, before the body is read, or throws a Problem. */
export type Guard<Caller> = (request: FastifyRequest) => Promise<Caller> | Caller;
export type Guards<Access extends string, Caller> = Readonly<Record<Access, Guard<Caller>>>;

/**
 * Puts the endpoints on the server, each behind the guard its access names, which runs before the body is read. HEAD
 * comes with every GET.
 */
export const mount = <Access extends string, Caller>(
  app: FastifyInstance,
  endpoints: readonly Endpoint<Access, Caller>[],
  guards: Guards<Access, Caller>,
): void => {
  const callers = new WeakMap<FastifyRequest, Caller>();
  for (const endpoint of endpoints) {
    app.route({
      method: endpoint.method,
      url: endpoint.path,
      exposeHeadRoute: endpoint.method === 'GET',
      onRequest: async (request) => {
        callers.set(request, await guards[endpoint.access](request));
      },
      handler: async (request, reply) =>
        endpoint.handle({ request, reply, caller: callers.get(request) as Caller, signal: signalOf(request, reply) }),
    });
  }
};

/** Aborts when the connection closes before the answer is complete, which is also how a closing server gives up. */
const signalOf = (request: FastifyRequest, { raw }: FastifyReply): AbortSignal => {
  const controller = new AbortController();
  const gone = (): void => {
    if (!raw.writableFinished) controller.abort(new Error(`client of ${request.id} went away`));
  };
  // A guard may have taken longer than the client stayed.
  if (raw.destroyed) gone();
  else raw.once('close', gone);
  return controller.signal;
};
