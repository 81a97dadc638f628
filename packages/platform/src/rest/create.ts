/** POST on a collection: a new entity, with the id of the body or one made here. */
import { createUuid, ZERO_UUID } from '@parley/kit/ids.ts';
import { badRequest, cannotApply, taken } from '../codes.ts';
import type { Held } from '../domains/collection.ts';
import type { DomainMemory } from '../domains/memory.ts';
import type { Caller } from '../domains/types.ts';
import { readDocument } from '../http/body.ts';
import { draftNew, type Input, readInput } from './draft.ts';
import { callerOf, type RestCall } from './endpoint.ts';
import { type Engine, memoryOf, nameIgnored, sendItem } from './engine.ts';
import type { Json } from './json.ts';
import type { Resource } from './resource.ts';
import { showText } from './show.ts';

export const create = (engine: Engine, resource: Resource) => async (call: RestCall) => {
  const caller = callerOf(call);
  const domain = memoryOf(engine, caller.domain);
  const body = await readDocument(call.request, 'create');
  if (body === undefined) throw badRequest('body', 'is missing');
  const input = readInput(resource, body, engine.isStrict);
  const held = await createEntity(engine, resource, { domain, caller, input });
  nameIgnored(call.reply, input.ignored);
  return sendItem(call.reply, held, showText(resource, held, domain));
};

export type CreateRequest = { readonly domain: DomainMemory; readonly caller: Caller; readonly input: Input };

/** Makes an entity; for POST, and for what the platform makes itself. */
export const createEntity = async (
  engine: Pick<Engine, 'domains' | 'writer'>,
  resource: Resource,
  { domain, caller, input }: CreateRequest,
): Promise<Held> => {
  const id = chooseId(resource, input.fields);
  // Refuses what is wrong in itself before anything slow begins.
  const first = draftNew(resource, input, id);
  if (resource.prepare) await engine.writer.admit(resource, first);
  const context = { domain, domains: engine.domains, caller, mode: 'create' } as const;
  const fields = resource.prepare ? await resource.prepare(input.fields, context, id) : input.fields;
  const held = await engine.writer.write({
    resource,
    domain,
    caller,
    id,
    mode: 'create',
    body: fields,
    form: (previous) => {
      if (previous) throw taken(resource.id, id);
      return draftNew(resource, { ...input, fields }, id);
    },
  });
  return held!;
};

const chooseId = (resource: Resource, fields: Json): string => {
  const given = fields[resource.id];
  if (given === undefined || given === null || given === '') return createUuid();
  const id = resource.fields[resource.id]!.check(given, resource.id) as string;
  if (id === ZERO_UUID) throw cannotApply(resource.id, 'zero means none');
  return id;
};
