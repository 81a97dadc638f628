/** Which bodies are read before a handler runs: JSON. Uploads are left on the wire for `upload.ts`; the rest is 415. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { hasBody } from './body.ts';
import { type HttpCodes, httpProblem } from './errors.ts';

/** `application/json` and what is built on it; parameters are allowed. */
const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json(?:\s*;|$)/i;
/** Bodies that a handler reads itself, from `request.raw`. */
const STREAMED_TYPES = ['multipart/form-data', 'application/octet-stream'];

/** True when the body is left for a handler to read, who then also watches over it. */
export const isStreamed = (contentType: string | undefined): boolean =>
  STREAMED_TYPES.some((type) => contentType?.toLowerCase().startsWith(type));

type JsonLimits = { readonly maxJsonDepth: number; readonly maxJsonKeys: number };

/** Replaces Fastify's parsers. */
export const addBodyParsers = (app: FastifyInstance, codes: HttpCodes, limits: JsonLimits): void => {
  app.removeAllContentTypeParsers();
  // Refuses `__proto__` and `constructor.prototype`.
  const parse = app.getDefaultJsonParser('error', 'error') as (
    request: FastifyRequest,
    body: string,
    done: (error: Error | null, value?: unknown) => void,
  ) => void;
  app.addContentTypeParser<string>(JSON_TYPE, { parseAs: 'string' }, (request, body, done) => {
    // An empty body with a JSON content type counts as no body (contract §0.12).
    if (body.trim() === '') return done(null, undefined);
    parse(request, body, (error, value) => {
      if (error) return done(httpProblem(codes, 'badRequest', 'The body is not valid JSON.', error));
      const fault = findJsonFault(value, limits);
      if (fault) return done(httpProblem(codes, 'badRequest', fault));
      done(null, value);
    });
  });
  app.addContentTypeParser(STREAMED_TYPES, (_request, _payload, done) => done(null, undefined));
  app.addContentTypeParser('*', (request, _payload, done) => {
    if (hasBody(request.raw)) done(httpProblem(codes, 'unsupportedMedia'));
    else done(null, undefined);
  });
};

/** Values that are too deep or have too many keys for what comes after to walk safely. No recursion. */
const findJsonFault = (root: unknown, { maxJsonDepth, maxJsonKeys }: JsonLimits): string | undefined => {
  let level = [root].filter(isNested);
  let keys = 0;
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > maxJsonDepth) return `The body is nested more than ${maxJsonDepth} levels deep.`;
    for (const value of level) keys += Array.isArray(value) ? 0 : Object.keys(value).length;
    if (keys > maxJsonKeys) return `The body has more than ${maxJsonKeys} keys.`;
    level = level.flatMap((value) => Object.values(value).filter(isNested));
  }
  return undefined;
};

const isNested = (value: unknown): value is object => typeof value === 'object' && value !== null;
