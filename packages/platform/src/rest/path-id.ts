/** The id in a path: a malformed one cannot exist, so it is not found rather than wrong. */
import { isUuid } from '@parley/kit/ids.ts';
import type { FastifyRequest } from 'fastify';
import { notFound } from '../codes.ts';
import type { Resource } from './resource.ts';

/** The path's `:id` as the resource keeps it. */
export const readPathId = (request: FastifyRequest, resource: Resource): string => {
  const { id = '' } = request.params as { id?: string };
  if (resource.id !== 'id' || resource.alias?.name === id) return id;
  const lower = id.toLowerCase();
  if (!isUuid(lower)) throw notFound();
  return lower;
};
