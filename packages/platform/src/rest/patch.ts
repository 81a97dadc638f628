/** PATCH: the given fields are merged into the newest version (RFC 7396). */
import { badRequest, notFound, problem } from '../codes.ts';
import type { Held } from '../domains/collection.ts';
import type { DomainMemory } from '../domains/memory.ts';
import type { Caller, Entity } from '../domains/types.ts';
import { readDocument } from '../http/body.ts';
import { draftNew, draftPatched, type Input, readInput } from './draft.ts';
import { callerOf, type RestCall } from './endpoint.ts';
import { type Engine, memoryOf, nameIgnored, sendItem } from './engine.ts';
import { isSame, type Json, mergePatch } from './json.ts';
import { readPathId } from './path-id.ts';
import type { Resource } from './resource.ts';
import { redact, showText } from './show.ts';

export const patch = (engine: Engine, resource: Resource) => async (call: RestCall) => {
  const caller = callerOf(call);
  const { alias } = resource;
  const pathId = readPathId(call.request, resource);
  const isAlias = alias !== undefined && pathId === alias.name;
  const domain = memoryOf(engine, isAlias ? caller.home : caller.domain);
  const id = isAlias ? alias.idOf(caller) : pathId;
  const body = await readDocument(call.request, 'patch');
  if (body === undefined) throw badRequest('body', 'is missing');
  const input = readInput(resource, body, engine.isStrict);
  if (isAlias) await checkOwn(resource, domain, id, input, alias.fields);
  const ifMatch = call.request.headers['if-match'];
  const held = await patchEntity(engine, resource, {
    domain,
    caller,
    id,
    input,
    ...(ifMatch === undefined ? {} : { ifMatch }),
  });
  nameIgnored(call.reply, input.ignored);
  return sendItem(call.reply, held, showText(resource, held, domain));
};

export type PatchRequest = {
  readonly domain: DomainMemory;
  readonly caller: Caller;
  readonly id: string;
  readonly input: Input;
  readonly ifMatch?: string;
};

/** Merges into an entity; for endpoints that offer a part of one under an address of their own. */
export const patchEntity = async (
  engine: Pick<Engine, 'domains' | 'writer'>,
  resource: Resource,
  request: PatchRequest,
): Promise<Held> => {
  const { domain, caller, id, input } = request;
  const before = await domain.read((rows) => rows.get(resource.kind, id));
  draftOf(resource, input, before, id);
  const context = { domain, domains: engine.domains, caller, mode: 'patch' } as const;
  const fields = resource.prepare ? await resource.prepare(input.fields, context, id) : input.fields;
  const held = await engine.writer.write({
    resource,
    domain,
    caller,
    id,
    mode: 'patch',
    body: fields,
    ifMatch: request.ifMatch,
    form: (previous) => draftOf(resource, { ...input, fields }, previous, id),
  });
  return held!;
};

const draftOf = (resource: Resource, input: Input, previous: Entity | undefined, id: string): Json => {
  if (previous) return draftPatched(resource, input, previous);
  if (!resource.patchMakes?.(id)) throw notFound();
  return draftNew(resource, input, id);
};

/** Of oneself only these fields may change; what is sent back as it was is no change. */
const checkOwn = async (
  resource: Resource,
  domain: DomainMemory,
  id: string,
  input: Input,
  allowed: readonly string[],
): Promise<void> => {
  const entity = await domain.read((rows) => rows.get(resource.kind, id));
  if (!entity) throw notFound();
  const shown = redact(resource, entity);
  for (const [name, value] of Object.entries(input.fields)) {
    if (allowed.includes(name) || isSame(mergePatch(shown[name], value), shown[name])) continue;
    throw problem('forbidden', { details: { field: name } });
  }
};
