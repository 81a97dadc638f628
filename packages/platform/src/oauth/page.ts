/** What a person sees when a sign-in through a provider goes wrong: a plain page, or JSON for who asks for it. */
import type { Problem } from '@parley/kit/problem.ts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { renderError } from '../codes.ts';

const POLICY = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const JSON_TYPES = new Set(['application/json', 'application/*']);

/** Headers of all OAuth answers: nothing of them is stored, and no address goes out as a referrer. */
export const guardReply = (reply: FastifyReply): FastifyReply =>
  reply
    .header('cache-control', 'no-store')
    .header('referrer-policy', 'no-referrer')
    .header('content-security-policy', POLICY);

type Range = { readonly type: string; readonly quality: number };

/** RFC 9110 §12.5.1, of which only the order of two types matters here. */
const rangesOf = (accept: string): Range[] =>
  accept.split(',').map((part) => {
    const [type = '', ...parameters] = part.split(';').map((each) => each.trim().toLowerCase());
    const quality = parameters.find((each) => each.startsWith('q='))?.slice(2);
    return { type, quality: quality === undefined ? 1 : Number(quality) || 0 };
  });

const qualityOf = (ranges: readonly Range[], isMeant: (type: string) => boolean): number =>
  Math.max(0, ...ranges.filter(({ type }) => isMeant(type)).map(({ quality }) => quality));

/** True when the client names JSON and does not like a page better. */
const prefersJson = (request: FastifyRequest): boolean => {
  const ranges = rangesOf(request.headers.accept ?? '');
  const json = qualityOf(ranges, (type) => JSON_TYPES.has(type) || type.endsWith('+json'));
  return json > 0 && json >= qualityOf(ranges, (type) => type === 'text/html');
};

/** True when the client names pages and likes them better than JSON. */
export const prefersHtml = (request: FastifyRequest): boolean => {
  const ranges = rangesOf(request.headers.accept ?? '');
  return qualityOf(ranges, (type) => type === 'text/html') > 0 && !prefersJson(request);
};

const escapeHtml = (text: string): string => text.replaceAll(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);

/** `again`: where the same sign-in begins anew, if that may help. */
export const sendFault = (
  request: FastifyRequest,
  reply: FastifyReply,
  fault: Problem,
  again: string | undefined,
): FastifyReply => {
  const body = renderError(fault, request.id);
  if (fault.retryAfterSec !== undefined) reply.header('retry-after', String(fault.retryAfterSec));
  guardReply(reply).code(fault.status);
  if (prefersJson(request)) {
    return reply.type('application/json; charset=utf-8').send(JSON.stringify(body));
  }
  return reply.type('text/html; charset=utf-8').send(page(body.error_message, again, request.id));
};

const page = (message: string, again: string | undefined, requestId: string): string => {
  const link = again === undefined ? '' : `<p><a href="${escapeHtml(again)}">Try again</a></p>\n`;
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Sign-in failed</title></head>
<body>
<h1>Sign-in failed</h1>
<p>${escapeHtml(message)}.</p>
${link}<p><small>${escapeHtml(requestId)}</small></p>
</body>
</html>
`;
};
