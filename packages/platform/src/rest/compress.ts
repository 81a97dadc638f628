/**
 * Compresses long answers for clients that ask for it. Answers that carry secrets stay as they are: the length of a
 * compressed secret beside chosen text tells of it (BREACH).
 */
import { constants, gzip } from 'node:zlib';
import type { FastifyInstance, FastifyRequest } from 'fastify';

const MIN_BYTES = 1024;
const REST = '/rest/';
/** Paths whose answers hold tokens or passwords in clear. */
const WITH_SECRETS = ['/rest/v1/iam/sessions', '/rest/v1/iam/dbusers', '/rest/v1/service/integration_points'];
/** The quick end of the scale: most of the gain for little time. */
const LEVEL = 3;
const GZIP = /(?:^|,)\s*gzip\s*(?:;\s*q=(?!0(?:\.0{1,3})?\s*(?:,|$))[\d.]+\s*)?(?:,|$)/i;

const isWanted = ({ url, headers }: FastifyRequest): boolean =>
  url.startsWith(REST) &&
  !WITH_SECRETS.some((path) => url.startsWith(path)) &&
  GZIP.test(String(headers['accept-encoding'] ?? ''));

/** Adds the hook; only texts are compressed, files go as they lie. */
export const prepareCompression = (app: FastifyInstance): void => {
  app.addHook('onSend', (request, reply, payload, done) => {
    if (typeof payload !== 'string' || payload.length < MIN_BYTES || !isWanted(request)) {
      done(null, payload);
      return;
    }
    gzip(payload, { level: LEVEL, strategy: constants.Z_DEFAULT_STRATEGY }, (error, packed) => {
      if (error) {
        done(error);
        return;
      }
      reply.header('content-encoding', 'gzip').header('vary', 'accept-encoding').removeHeader('content-length');
      done(null, packed);
    });
  });
};
