/** The switch that turns "did the next best thing" into a refusal, and how warnings travel in a header. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { problem } from '../core/codes.ts';
import type { Warning } from '../core/types.ts';
import { parseSwitch } from './form.ts';

/** True when `X-Service-Strict` is on. Problem: invalid_request for a value that is neither on nor off. */
export const readStrictHeader = (request: FastifyRequest): boolean => {
  const raw = request.headers['x-service-strict'];
  const text = (Array.isArray(raw) ? raw.at(-1) : raw)?.trim() ?? '';
  if (text === '') return false;
  const value = parseSwitch(text);
  if (value !== undefined) return value;
  throw problem('invalid_request', 'X-Service-Strict must be true or false.', { param: 'X-Service-Strict' });
};

/** Warnings of parsing and of the work, each once. */
export const mergeWarnings = (...lists: readonly (readonly Warning[])[]): Warning[] => {
  const merged = new Map(
    lists.flat().map((warning) => [`${warning.code} ${warning.param} ${warning.message}`, warning]),
  );
  return [...merged.values()];
};

/** Names the codes in `X-Service-Warnings`, the one channel that every format has. */
export const sendWarningCodes = (reply: FastifyReply, warnings: readonly Warning[]): void => {
  if (warnings.length === 0) return;
  reply.header('X-Service-Warnings', [...new Set(warnings.map((warning) => warning.code))].join(','));
};
