/** DELETE: 204, or 404 when there is nothing. A body is allowed; `{"force": true}` is for the resources that know it. */
import { notFound } from '../codes.ts';
import { readDocument } from '../http/body.ts';
import { callerOf, type RestCall } from './endpoint.ts';
import { type Engine, memoryOf, refuseAlias } from './engine.ts';
import { isObject } from './json.ts';
import { readPathId } from './path-id.ts';
import type { Resource } from './resource.ts';

export const remove = (engine: Engine, resource: Resource) => async (call: RestCall) => {
  const caller = callerOf(call);
  const domain = memoryOf(engine, caller.domain);
  const id = readPathId(call.request, resource);
  refuseAlias(resource, id);
  const body = await readDocument(call.request, 'delete');
  if (!(await domain.read((rows) => rows.get(resource.kind, id)))) throw notFound();
  const options = isObject(body) ? body : {};
  const context = { domain, domains: engine.domains, caller, mode: 'remove' } as const;
  await resource.prepare?.(options, context, id);
  await engine.writer.write({
    resource,
    domain,
    caller,
    id,
    mode: 'remove',
    body: options,
    ifMatch: call.request.headers['if-match'],
    form: (previous) => {
      if (!previous) throw notFound();
      return undefined;
    },
  });
  return call.reply.code(204).send();
};
