/** The id of a request: the caller's `X-Request-Id` when it can be kept, else one of ours. */
import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** Printable ASCII, so that it can go back as a header and into a log line as it is. */
const KEEPABLE = /^[\x21-\x7e](?:[\x20-\x7e]{0,126}[\x21-\x7e])?$/;

/** Node draws the random bytes of these in stock, which makes them the cheapest id there is. */
const createOwn = (): string => `req_${randomUUID().replaceAll('-', '')}`;

/** Keeps an incoming id of 1 to 128 printable characters. */
export const createRequestId = ({ headers }: { headers: IncomingHttpHeaders }): string => {
  const given = headers['x-request-id'];
  return typeof given === 'string' && KEEPABLE.test(given) ? given : createOwn();
};
