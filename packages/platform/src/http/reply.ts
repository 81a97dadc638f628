/** How answers go out: `!head`, `Allow`, errors, files. What every answer carries is kit's (answer-headers.ts). */
import { Readable } from 'node:stream';
import type { Render } from '@parley/kit/http/errors.ts';
import { StoreUnavailable } from '@parley/kit/store/store.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { problem, renderError } from '../codes.ts';
import { ROUTED_LOOKUP, targetOf } from './method.ts';

/** A stored file on its way out. */
export type Download = {
  readonly stream: Readable;
  readonly sizeBytes: number;
  readonly name: string;
  /** Media type by which it may be shown; octets when the caller asks for an attachment. */
  readonly type: string;
};

/** A stored file can be a page: it gets no scripts, no forms and an origin of its own. */
const FILE_POLICY = "sandbox; default-src 'none'; form-action 'none'; frame-ancestors 'none'";

/** Names LOOKUP in `Allow` as callers know it, and makes `POST …!head` an answer without a body. */
export const prepareReplies = (app: FastifyInstance): void => {
  app.addHook('onSend', (request, reply, payload, done) => {
    const allow = reply.getHeader('allow');
    if (typeof allow === 'string') reply.header('allow', allow.replace(ROUTED_LOOKUP, 'LOOKUP'));
    if (!isHeadBySuffix(request)) return done();
    if (payload instanceof Readable) payload.destroy();
    reply.removeHeader('transfer-encoding');
    // The wire says POST, so that any other length would make the client wait for a body.
    reply.header('content-length', '0');
    return done(null, null);
  });
};

const isHeadBySuffix = (request: FastifyRequest): boolean => {
  try {
    return targetOf(request.raw).headBySuffix;
  } catch {
    return false; // the answer to a bad address
  }
};

const RETRY_SEC = 5;

/** An error as the wire knows it. That the database is away is no fault of ours: the caller may come again. */
export const renderProblem: Render = (fault, { requestId }) => {
  const isAway = fault.status === 500 && fault.cause instanceof StoreUnavailable;
  const shown = isAway ? problem('unavailable', { retryAfterSec: RETRY_SEC, cause: fault.cause }) : fault;
  return {
    status: shown.status,
    headers: {
      'content-type': 'application/json; charset=utf-8',
      ...(isAway ? { 'retry-after': String(RETRY_SEC) } : {}),
    },
    body: renderError(shown, requestId),
  };
};

/** Answers with a file: shown by its type, or with `attachment=1` saved under its name (RFC 6266). */
export const sendFile = (reply: FastifyReply, file: Download, asAttachment: boolean): FastifyReply =>
  reply
    .header('content-security-policy', FILE_POLICY)
    .header('content-disposition', `${asAttachment ? 'attachment' : 'inline'}; ${fileNameOf(file.name)}`)
    .header('content-length', String(file.sizeBytes))
    .type(asAttachment ? 'application/octet-stream' : file.type)
    .send(file.stream);

/** Both forms of RFC 6266 §4.3: an ASCII one for old clients, and RFC 8187's for the true name. */
const fileNameOf = (name: string): string => {
  const plain = name.replaceAll(/[^\x20-\x7e]|["\\%]/g, '_');
  const encoded = encodeURIComponent(name.toWellFormed()).replaceAll(
    /['()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `filename="${plain}"; filename*=UTF-8''${encoded}`;
};
