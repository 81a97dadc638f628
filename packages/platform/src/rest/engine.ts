/** What the verbs share: the writer, limits and caches. Made once by start.ts and passed to each. */
import type { FastifyReply } from 'fastify';
import { problem } from '../codes.ts';
import type { Held } from '../domains/collection.ts';
import type { LoadedDomains } from '../domains/domains.ts';
import type { DomainMemory } from '../domains/memory.ts';
import type { Caller } from '../domains/types.ts';
import type { QueryLimits } from './query.ts';
import type { PatternCache } from './regex.ts';
import type { Resource } from './resource.ts';
import type { Writer } from './save.ts';
import { etagOf } from './show.ts';

export type Engine = {
  readonly domains: LoadedDomains;
  readonly writer: Writer;
  readonly patterns: PatternCache;
  readonly limits: QueryLimits;
  /** Unknown fields of a body are refused instead of ignored. */
  readonly isStrict: boolean;
  /** Administrators may export and import password hashes. */
  readonly exportsSecrets: boolean;
};

/** The memory behind a domain of a caller. */
export const memoryOf = (engine: Engine, domain: Caller['domain']): DomainMemory => {
  const memory = engine.domains.loaded(domain.name);
  if (!memory) throw problem('forbidden');
  return memory;
};

const JSON_TYPE = 'application/json; charset=utf-8';

/** Answers with JSON text. */
export const sendJson = (reply: FastifyReply, text: string): FastifyReply =>
  reply.header('content-type', JSON_TYPE).send(text);

/** Answers with an item under its ETag. */
export const sendItem = (reply: FastifyReply, held: Held, text: string): FastifyReply =>
  sendJson(reply.header('etag', etagOf(held)), text);

/** Tells which fields of the body stand for nothing here. */
export const nameIgnored = (reply: FastifyReply, ignored: readonly string[]): void => {
  if (ignored.length === 0) return;
  // A header is Latin-1 and one line.
  reply.header(
    'x-ignored-fields',
    ignored
      .slice(0, 50)
      .map((name) => encodeURIComponent(name.slice(0, 100).toWellFormed()))
      .join(', '),
  );
};

/** The alias names a person, not a place: other verbs than reading and patching do not know it. */
export const refuseAlias = (resource: Resource, id: string): void => {
  if (resource.alias?.name === id)
    throw problem('method_not_allowed', { details: { allow: ['GET', 'HEAD', 'PATCH'] } });
};
