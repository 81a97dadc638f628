/**
 * An address of the platform as a small object: method, path, who may call, in which kind of domain, and the schemas
 * the reference shows. Routing, the OpenAPI document and the surface test all read the same objects.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../domains/types.ts';

export type RestMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'LOOKUP';

/**
 * `open`: nobody is asked who they are (the endpoint may still look at a credential itself). `signed-in`: any account.
 * `route`: an account one of whose roles has a route for this method and path.
 */
export type Access = 'open' | 'signed-in' | 'route';

export type DomainType = 'any' | 'master' | 'working';

export type JsonSchema = Readonly<Record<string, unknown>>;

export type Parameter = {
  readonly name: string;
  readonly in: 'query' | 'path' | 'header';
  readonly description: string;
  readonly schema: JsonSchema;
};

/** One request on its way through an endpoint. `caller` is undefined only on open endpoints. */
export type RestCall<C extends Caller | undefined = Caller | undefined> = {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly caller: C;
};

export type RestEndpoint = {
  readonly method: RestMethod;
  /** Fastify's path syntax: `/rest/v1/iam/users/:id`. */
  readonly path: string;
  readonly access: Access;
  /** Default `any`. */
  readonly domain?: DomainType;
  /** Groups the endpoint in the reference: its chapter and collection. */
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  readonly parameters?: readonly Parameter[];
  readonly body?: JsonSchema;
  /** Schema of the 200 answer; absent with `status` 204. */
  readonly answer?: JsonSchema;
  /** Status of success; default 200. */
  readonly status?: 200 | 204 | 302;
  handle(call: RestCall): unknown;
};

/** The caller of an endpoint that is not open: the gate has proven it. */
export const callerOf = (call: RestCall): Caller => {
  if (call.caller === undefined) throw new Error('endpoint is open but needs a caller');
  return call.caller;
};
