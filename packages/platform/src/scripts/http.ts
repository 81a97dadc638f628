/**
 * Requests that scripts make (elements 120 and 122): to public hosts over https, and to those the operator lists, with
 * every redirect checked like the first address; bounded in time, redirects and size.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { fetchOutbound, OutboundError, type OutboundOptions } from '@parley/kit/outbound.ts';

export type HttpRequest = {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** For everything together, redirects too. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
};

export type HttpAnswer = {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
};

/** Throws an OutboundError, or the signal's reason. Any status but a redirect is an answer. */
export type ScriptHttp = { request(request: HttpRequest): Promise<HttpAnswer> };

export type ScriptHttpOptions = Pick<OutboundOptions, 'resolve' | 'ca'> & {
  /** `host` or `host:port` that may be private and plain http. */
  readonly allowedHosts: readonly string[];
};

const MAX_REDIRECTS = 3;
const MAX_ANSWER_BYTES = 1_048_576;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** Those after which the request is sent again as it was (RFC 9110 §15.4). */
const REPEATING: ReadonlySet<number> = new Set([307, 308]);
/** Connection handling is ours; the rest would let a script speak for somebody else. */
const RESERVED: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);
/** What another host is not told. */
const PRIVATE: ReadonlySet<string> = new Set(['authorization', 'cookie']);
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const FIELD_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

export const createScriptHttp = (options: ScriptHttpOptions): ScriptHttp => ({
  request: async ({ timeoutMs, signal, ...first }) => {
    const until = performance.now() + timeoutMs;
    let hop: Hop = { ...first, headers: checkHeaders(first.headers) };
    for (let redirects = 0; ; redirects++) {
      const leftMs = Math.ceil(until - performance.now());
      if (leftMs <= 0) throw new OutboundError('timeout', 'The other side did not answer in time.');
      const { url, method, headers, body } = hop;
      const { status, ...answer } = await fetchOutbound(url, {
        ...options,
        method,
        headers,
        ...(body === undefined ? {} : { body }),
        signal,
        timeoutMs: leftMs,
        maxResponseBytes: MAX_ANSWER_BYTES,
      });
      const { location } = answer.headers;
      if (!REDIRECTS.has(status) || location === undefined) {
        return { status, headers: flatten(answer.headers), body: answer.body };
      }
      if (redirects === MAX_REDIRECTS) throw new OutboundError('refused', `More than ${MAX_REDIRECTS} redirects.`);
      hop = nextHop(hop, status, location);
    }
  },
});

type Hop = Pick<HttpRequest, 'method' | 'url' | 'headers' | 'body'>;

const checkHeaders = (headers: Readonly<Record<string, string>>): Record<string, string> => {
  const checked: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    const lower = name.toLowerCase();
    if (!TOKEN.test(name) || RESERVED.has(lower)) throw new OutboundError('refused', `The header ${name} is not sent.`);
    if (!FIELD_VALUE.test(value)) throw new OutboundError('refused', `The value of the header ${name} is not sent.`);
    checked[lower] = value;
  }
  return checked;
};

const nextHop = ({ url, method, headers, body }: Hop, status: number, location: string): Hop => {
  const target = URL.parse(location, url);
  if (!target) throw new OutboundError('refused', 'The redirect leads nowhere.');
  const isSame = target.origin === new URL(url).origin;
  const isRepeated = REPEATING.has(status) || method === 'GET' || method === 'HEAD';
  const kept = Object.entries(headers).filter(
    ([name]) => (isSame || !PRIVATE.has(name)) && (isRepeated || !name.startsWith('content-')),
  );
  return {
    url: target.href,
    method: isRepeated ? method : 'GET',
    headers: Object.fromEntries(kept),
    ...(isRepeated && body !== undefined ? { body } : {}),
  };
};

const flatten = (headers: IncomingHttpHeaders): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, Array.isArray(value) ? value.join(', ') : value]],
    ),
  );
