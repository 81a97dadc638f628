/** PUT: the whole entity is replaced; where there was none it is made under the id of the path. */
import { ZERO_UUID } from '@parley/kit/ids.ts';
import { badRequest, cannotApply, notFound } from '../codes.ts';
import { readDocument } from '../http/body.ts';
import { draftNew, draftReplaced, readInput } from './draft.ts';
import { callerOf, type RestCall } from './endpoint.ts';
import { type Engine, memoryOf, nameIgnored, refuseAlias, sendItem } from './engine.ts';
import type { Json } from './json.ts';
import { readPathId } from './path-id.ts';
import type { Resource } from './resource.ts';
import { showText } from './show.ts';

export const replace = (engine: Engine, resource: Resource) => async (call: RestCall) => {
  const caller = callerOf(call);
  const domain = memoryOf(engine, caller.domain);
  const id = readPathId(call.request, resource);
  refuseAlias(resource, id);
  if (id === ZERO_UUID) throw notFound();
  const body = await readDocument(call.request, 'replace');
  if (body === undefined) throw badRequest('body', 'is missing');
  const input = readInput(resource, body, engine.isStrict);
  checkId(resource, input.fields, id);
  const before = await domain.read((rows) => rows.get(resource.kind, id));
  draftOf(resource, input, before, id);
  const context = { domain, domains: engine.domains, caller, mode: 'replace' } as const;
  const fields = resource.prepare ? await resource.prepare(input.fields, context, id) : input.fields;
  const held = await engine.writer.write({
    resource,
    domain,
    caller,
    id,
    mode: 'replace',
    body: fields,
    ifMatch: call.request.headers['if-match'],
    form: (previous) => draftOf(resource, { ...input, fields }, previous, id),
  });
  nameIgnored(call.reply, input.ignored);
  return sendItem(call.reply, held!, showText(resource, held!, domain));
};

const draftOf = (
  resource: Resource,
  input: Parameters<typeof draftNew>[1],
  previous: Parameters<typeof draftReplaced>[2] | undefined,
  id: string,
): Json => (previous ? draftReplaced(resource, input, previous) : draftNew(resource, input, id));

const checkId = (resource: Resource, fields: Json, id: string): void => {
  const given = fields[resource.id];
  if (given === undefined || given === null) return;
  if (resource.fields[resource.id]!.check(given, resource.id) !== id)
    throw cannotApply(resource.id, 'cannot be changed');
};
