/**
 * Requests to addresses that strangers give us: https to public hosts on port 443, no redirects, no proxy, bounded in
 * size and time. The address that was checked is the one that is dialled, so that a name cannot change its mind between
 * (DNS rebinding). Hosts an operator names may be private and plain http.
 */
import { lookup as systemLookup } from 'node:dns/promises';
import { request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { until } from './abort.ts';
import { isPublicAddress } from './outbound/address.ts';
import { Problem } from './problem.ts';

/** Why nothing came back. `refused` is ours to say, the others are the network's or the other side's. */
export type OutboundFailure = 'refused' | 'timeout' | 'too_large' | 'network';

/** A request that got no answer we can use. The message names no address, since it may be shown to a stranger. */
export class OutboundError extends Error {
  override name = 'OutboundError';
  readonly failure: OutboundFailure;

  constructor(failure: OutboundFailure, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.failure = failure;
  }
}

export type Address = { readonly address: string; readonly family: number };

export type OutboundOptions = {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  readonly signal?: AbortSignal;
  /** From the first step to the last byte; 10 s when not given. */
  readonly timeoutMs?: number;
  /** 1 MiB when not given. */
  readonly maxResponseBytes?: number;
  /** What to do with an answer that is longer: `fail` throws, `cut` keeps the beginning. */
  readonly whenLonger?: 'fail' | 'cut';
  /** `host` or `host:port` that may be private and plain http; without a port the scheme's own is meant. */
  readonly allowedHosts?: readonly string[];
  /** Certificates to trust instead of the system's. */
  readonly ca?: string | readonly string[];
  /** Every address of a name; the system's resolver when not given. */
  readonly resolve?: (host: string) => Promise<readonly Address[]>;
};

export type OutboundAnswer = {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
};

const TIMEOUT_MS = 10_000;
const MAX_RESPONSE_BYTES = 2 ** 20;
const MAX_URL_CHARS = 2048;

/**
 * Checks what can be checked without asking anyone: scheme, user part, port, literal addresses. Throws a Problem
 * `invalid_request` naming `param`; whether a name leads to a public address shows only when it is used.
 */
export const readOutboundUrl = (text: string, allowedHosts: readonly string[], param: string): URL => {
  const refuse = (message: string): Problem =>
    new Problem({ code: 'invalid_request', status: 400, message: `${param} ${message}`, param });
  if (text.length > MAX_URL_CHARS) throw refuse(`must not be longer than ${MAX_URL_CHARS} characters.`);
  const url = URL.parse(text);
  if (!url) throw refuse('must be an absolute URL.');
  const fault = findFault(url, allowedHosts);
  if (fault !== undefined) throw refuse(fault);
  return url;
};

const findFault = (url: URL, allowedHosts: readonly string[]): string | undefined => {
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'must be an https URL.';
  if (url.username !== '' || url.password !== '') return 'must not hold a user name or password.';
  if (isAllowed(url, allowedHosts)) return undefined;
  if (url.protocol !== 'https:') return 'must be an https URL.';
  if (url.port !== '') return 'must use port 443.';
  const host = hostOf(url);
  if (isIP(host) !== 0 && !isPublicAddress(host)) return 'must lead to a public address.';
  return /^(?:.*\.)?localhost$/.test(host) ? 'must lead to a public address.' : undefined;
};

/** Without the brackets of IPv6 and the dot that ends a full name. */
const hostOf = (url: URL): string => url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');

const portOf = (url: URL): string => url.port || (url.protocol === 'https:' ? '443' : '80');

const isAllowed = (url: URL, allowedHosts: readonly string[]): boolean =>
  allowedHosts.some((entry) => {
    const allowed = URL.parse(`${url.protocol}//${entry}`);
    return allowed !== null && hostOf(allowed) === hostOf(url) && portOf(allowed) === portOf(url);
  });

/** Sends one request. Throws OutboundError, or the signal's reason; any status is an answer, redirects too. */
export const fetchOutbound = async (target: URL | string, options: OutboundOptions = {}): Promise<OutboundAnswer> => {
  const url = URL.parse(String(target));
  const allowedHosts = options.allowedHosts ?? [];
  const fault = url ? findFault(url, allowedHosts) : 'must be an absolute URL.';
  if (!url || fault !== undefined) throw new OutboundError('refused', `The address ${fault}`);
  const timeout = AbortSignal.timeout(options.timeoutMs ?? TIMEOUT_MS);
  const signal = AbortSignal.any([timeout, ...(options.signal ? [options.signal] : [])]);
  try {
    // The resolver cannot be interrupted.
    const address = await until(choose(url, options.resolve ?? resolveAll, isAllowed(url, allowedHosts)), signal);
    return await exchange(url, address, signal, options);
  } catch (thrown) {
    if (options.signal?.aborted) throw options.signal.reason;
    if (timeout.aborted) throw new OutboundError('timeout', 'The other side did not answer in time.', thrown);
    if (thrown instanceof OutboundError) throw thrown;
    throw new OutboundError('network', 'The other side cannot be reached.', thrown);
  }
};

const resolveAll = (host: string): Promise<readonly Address[]> => systemLookup(host, { all: true, verbatim: true });

/** One private address among several is enough to refuse: which one gets dialled would be chance. */
const choose = async (
  url: URL,
  resolve: (host: string) => Promise<readonly Address[]>,
  mayBePrivate: boolean,
): Promise<Address> => {
  const host = hostOf(url);
  const addresses = isIP(host) ? [{ address: host, family: isIP(host) }] : await resolve(host);
  const [first] = addresses;
  if (!first) throw new OutboundError('network', 'The name leads nowhere.');
  if (!mayBePrivate && !addresses.every(({ address }) => isPublicAddress(address))) {
    throw new OutboundError('refused', 'The name does not lead to a public address.');
  }
  return first;
};

const exchange = async (
  url: URL,
  { address, family }: Address,
  signal: AbortSignal,
  options: OutboundOptions,
): Promise<OutboundAnswer> => {
  // Host header and server name stay those of the URL; only the address is given. No agent: no proxy, no reuse.
  const lookup: LookupFunction = (_host, asked, done) =>
    asked.all ? done(null, [{ address, family }]) : done(null, address, family);
  const request: RequestOptions & { ca?: string[]; minVersion?: 'TLSv1.2' } = {
    method: options.method ?? 'GET',
    headers: { 'accept-encoding': 'identity', connection: 'close', ...options.headers },
    agent: false,
    lookup,
    signal,
    ...(url.protocol === 'https:' ? { minVersion: 'TLSv1.2' as const } : {}),
    ...(options.ca === undefined ? {} : { ca: [options.ca].flat() }),
  };
  const outgoing = (url.protocol === 'https:' ? httpsRequest : httpRequest)(url, request);
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  outgoing.once('response', resolve);
  outgoing.on('error', reject);
  outgoing.end(options.body);
  try {
    const response = await promise;
    const body = await readBody(response, options.maxResponseBytes ?? MAX_RESPONSE_BYTES, options.whenLonger ?? 'fail');
    return { status: response.statusCode ?? 0, headers: response.headers, body };
  } finally {
    outgoing.destroy();
  }
};

const readBody = async (response: IncomingMessage, maxBytes: number, whenLonger: 'fail' | 'cut'): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    sizeBytes += chunk.length;
    if (sizeBytes <= maxBytes) continue;
    if (whenLonger === 'fail') throw new OutboundError('too_large', `The answer is longer than ${maxBytes} bytes.`);
    break;
  }
  return Buffer.concat(chunks).subarray(0, maxBytes);
};
