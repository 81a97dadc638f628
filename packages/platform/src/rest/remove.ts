/** DELETE: 204, or 404 when there is nothing. A body is allowed; `{"force": true}` is for the resources that know it. */
import { notFound } from '../codes.ts';
import type { DomainMemory } from '../domains/memory.ts';
import type { Caller } from '../domains/types.ts';
import { readDocument } from '../http/body.ts';
import { callerOf, type RestCall } from './endpoint.ts';
import { type Engine, memoryOf, refuseAlias } from './engine.ts';
import { isObject, type Json } from './json.ts';
import { readPathId } from './path-id.ts';
import type { Resource } from './resource.ts';

export const remove = (engine: Engine, resource: Resource) => async (call: RestCall) => {
  const caller = callerOf(call);
  const domain = memoryOf(engine, caller.domain);
  const id = readPathId(call.request, resource);
  refuseAlias(resource, id);
  const body = await readDocument(call.request, 'delete');
  const ifMatch = call.request.headers['if-match'];
  await removeEntity(engine, resource, { domain, caller, id, body: isObject(body) ? body : {}, ifMatch });
  return call.reply.code(204).send();
};

export type RemoveRequest = {
  readonly domain: DomainMemory;
  readonly caller: Caller;
  readonly id: string;
  readonly body: Json;
  readonly ifMatch?: string | undefined;
};

/** Removes an entity; for DELETE, and for what the platform removes itself. */
export const removeEntity = async (
  engine: Pick<Engine, 'domains' | 'writer'>,
  resource: Resource,
  { domain, caller, id, body, ifMatch }: RemoveRequest,
): Promise<void> => {
  if (!(await domain.read((rows) => rows.get(resource.kind, id)))) throw notFound();
  await resource.prepare?.(body, { domain, domains: engine.domains, caller, mode: 'remove' }, id);
  await engine.writer.write({
    resource,
    domain,
    caller,
    id,
    mode: 'remove',
    body,
    ifMatch,
    form: (previous) => {
      if (!previous) throw notFound();
      return undefined;
    },
  });
};
