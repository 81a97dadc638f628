/**
 * Requests that a page of another site makes a browser send. `POST …!delete` with a urlencoded body needs no
 * permission of ours to be sent, so whoever acts by cookie has to come from this site, if a browser says where from.
 */
import type { FastifyRequest } from 'fastify';
import { problem } from '../codes.ts';

const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);
/** `none`: typed by the person or opened from a bookmark. */
const OWN_FETCH_SITES: ReadonlySet<string> = new Set(['same-origin', 'none']);

/** The public addresses decide where there are any; else the Host of the request (X-Forwarded-Host of trusted proxies). */
const isOwn = (origin: string, request: FastifyRequest, publicUrls: readonly string[]): boolean => {
  const sent = URL.canParse(origin) ? new URL(origin) : undefined;
  if (!sent) return false; // `null`, or nonsense
  const known = publicUrls.filter((url) => URL.canParse(url));
  if (known.length > 0) return known.some((url) => new URL(url).origin === sent.origin);
  const host = `${sent.protocol}//${request.host}`;
  // Not the scheme: TLS may end before us.
  return URL.canParse(host) && new URL(host).host === sent.host;
};

/** Throws 403 when Origin, or failing it Sec-Fetch-Site, is sent and is not this site. `method`: the effective one. */
export const checkOrigin = (request: FastifyRequest, method: string, publicUrls: readonly string[]): void => {
  if (SAFE.has(method)) return;
  const { origin, 'sec-fetch-site': site } = request.headers;
  if (origin !== undefined) {
    if (!isOwn(origin, request, publicUrls)) throw problem('forbidden', { message: 'Request of another site' });
  } else if (typeof site === 'string' && !OWN_FETCH_SITES.has(site)) {
    throw problem('forbidden', { message: 'Request of another site' });
  }
};
