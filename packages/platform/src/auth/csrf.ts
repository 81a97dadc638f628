/**
 * Requests that a page of another site makes a browser send. `POST …!delete` with a urlencoded body needs no
 * permission of ours to be sent, so whoever acts by cookie has to come from this site, if a browser says where from.
 */
import type { FastifyRequest } from 'fastify';
import { problem } from '../codes.ts';

const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);
/** `none`: typed by the person or opened from a bookmark. */
const OWN_FETCH_SITES: ReadonlySet<string> = new Set(['same-origin', 'none']);

/** `public_url` decides when there is one; else the Host of the request (X-Forwarded-Host of trusted proxies). */
const isOwn = (origin: string, request: FastifyRequest, publicUrl: string | undefined): boolean => {
  const sent = URL.canParse(origin) ? new URL(origin) : undefined;
  if (!sent) return false; // `null`, or nonsense
  if (publicUrl !== undefined && URL.canParse(publicUrl)) return sent.origin === new URL(publicUrl).origin;
  const host = `${sent.protocol}//${request.host}`;
  // Not the scheme: TLS may end before us.
  return URL.canParse(host) && new URL(host).host === sent.host;
};

/** Throws 403 when Origin, or failing it Sec-Fetch-Site, is sent and is not this site. `method`: the effective one. */
export const checkOrigin = (request: FastifyRequest, method: string, publicUrl: string | undefined): void => {
  if (SAFE.has(method)) return;
  const { origin, 'sec-fetch-site': site } = request.headers;
  if (origin !== undefined) {
    if (!isOwn(origin, request, publicUrl)) throw problem('forbidden', { message: 'Request of another site' });
  } else if (typeof site === 'string' && !OWN_FETCH_SITES.has(site)) {
    throw problem('forbidden', { message: 'Request of another site' });
  }
};
