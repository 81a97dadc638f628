/**
 * What a request asks for, settled before routing, sign-in and rights look at it: the effective method (`POST …!delete`
 * is DELETE, and so is checked, routed and journalled) and one canonical path. LOOKUP and `!head` have no name in the
 * router; they travel under others, and `targetOf` tells the true one.
 */
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { badRequest, problem } from '../codes.ts';
import { acceptMethod } from './extra-method.ts';

/** `method`: in upper case, after the suffix. `path`: decoded once, no query, no suffix, no closing `/`. */
export type Target = {
  readonly method: string;
  readonly path: string;
  /** True for `POST …!head`: the answer has the GET's status and headers, `Content-Length: 0` and no body. */
  readonly headBySuffix: boolean;
  /** Why the address cannot be used; thrown by `targetOf`. */
  readonly fault: { readonly code: 'bad_path' | 'uri_too_long'; readonly reason: string } | undefined;
};

/** The closed list of suffixes, and the method each stands for. */
const SUFFIXES: Readonly<Record<string, string>> = {
  put: 'PUT',
  patch: 'PATCH',
  delete: 'DELETE',
  head: 'HEAD',
  lookup: 'LOOKUP',
};

/** The name under which the router knows LOOKUP: a method that Fastify can be taught and that nothing here uses. */
export const ROUTED_LOOKUP = 'SEARCH';
/** What a true request of that name is routed as, so that it cannot pass for LOOKUP. No route has it. */
const UNROUTED = 'QUERY';

/** Where a bad address is routed; what stands there answers with the fault that `targetOf` throws. */
export const NOWHERE = '/.bad-address';

const MAX_URL_LENGTH = 16_384;
const TARGET = Symbol('target');
type Marked = IncomingMessage & { [TARGET]?: Target };

/** Readies the server for LOOKUP. Call after `fastify({ rewriteUrl })` and before any route is added. */
export const prepareMethods = (app: FastifyInstance): void => {
  app.addHttpMethod(ROUTED_LOOKUP, { hasBody: true });
  acceptMethod(app.server, 'LOOKUP');
};

/** Fastify's `rewriteUrl`: runs first of all. Never throws: what is wrong is kept for `targetOf`. */
export const rewriteUrl = (raw: IncomingMessage): string => {
  const wire = raw.method ?? 'GET';
  const url = originForm(raw.url ?? '/');
  const queryAt = url.indexOf('?');
  const fullPath = queryAt < 0 ? url : url.slice(0, queryAt);
  const query = queryAt < 0 ? '' : url.slice(queryAt);
  const trimmed = fullPath.length > 1 && fullPath.endsWith('/') ? fullPath.slice(0, -1) : fullPath;
  const { method, path: rawPath } = wire === 'POST' ? splitSuffix(trimmed) : { method: wire, path: trimmed };
  const { path, reason } = canonicalPath(rawPath);
  const fault = url.length > MAX_URL_LENGTH ? ({ code: 'uri_too_long', reason: 'too long' } as const) : faultOf(reason);
  const headBySuffix = wire === 'POST' && method === 'HEAD';
  (raw as Marked)[TARGET] = { method, path, headBySuffix, fault };
  raw.method = routedAs(method, headBySuffix);
  return fault ? NOWHERE : rawPath + query;
};

const faultOf = (reason: string | undefined) =>
  reason === undefined ? undefined : ({ code: 'bad_path', reason } as const);

/** RFC 9112 §3.2.2: a server takes the absolute form too. */
const originForm = (url: string): string => {
  if (url.startsWith('/') || !/^https?:\/\//i.test(url)) return url;
  const pathAt = url.indexOf('/', url.indexOf('//') + 2);
  return pathAt < 0 ? '/' : url.slice(pathAt);
};

const routedAs = (method: string, headBySuffix: boolean): string => {
  if (method === 'LOOKUP') return ROUTED_LOOKUP;
  if (headBySuffix) return 'GET';
  return method === ROUTED_LOOKUP ? UNROUTED : method;
};

/** Splits at the last `!` of the last segment, before decoding: `%21` is a plain character. */
const splitSuffix = (path: string): { method: string; path: string } => {
  const at = path.lastIndexOf('!');
  if (at < 0 || path.indexOf('/', at) >= 0) return { method: 'POST', path };
  const suffix = path.slice(at + 1);
  const method = Object.hasOwn(SUFFIXES, suffix) ? SUFFIXES[suffix] : undefined;
  return method === undefined ? { method: 'POST', path } : { method, path: path.slice(0, at) };
};

const PLAIN_PATH = /^(?:\/[A-Za-z0-9_~!$&'()*+,=:@;-][A-Za-z0-9_.~!$&'()*+,=:@;-]*)+$/;

/**
 * One form for every way to write a path, so that rights and routing cannot see two. Encoded slashes, NUL, empty
 * segments and dot segments are refused.
 */
export const canonicalPath = (raw: string): { path: string; reason: string | undefined } => {
  if (raw === '/' || PLAIN_PATH.test(raw)) return { path: raw, reason: undefined };
  const refuse = (reason: string) => ({ path: '/', reason });
  if (!raw.startsWith('/')) return refuse('must begin with /');
  if (/%2f/i.test(raw) || raw.includes('#') || raw.includes('\\')) return refuse('has an encoded slash, # or \\');
  let path: string;
  try {
    path = decodeURIComponent(raw);
  } catch {
    return refuse('is not percent-encoded UTF-8');
  }
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  if (/[\u0000-\u001f\u007f\\]/.test(path)) return refuse('has a control character or \\');
  if (
    path.includes('//') ||
    path.endsWith('/') ||
    path.split('/').some((segment) => segment === '.' || segment === '..')
  ) {
    return refuse('has an empty or dot segment');
  }
  return { path, reason: undefined };
};

/** What this request asks for. Throws the Problem of an address that cannot be used. */
export const targetOf = (raw: IncomingMessage): Target => {
  const target = (raw as Marked)[TARGET];
  if (!target) throw new Error('the server runs without rewriteUrl');
  if (target.fault?.code === 'uri_too_long') throw problem('uri_too_long');
  if (target.fault) throw badRequest('path', target.fault.reason);
  return target;
};
