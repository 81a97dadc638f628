/** LOOKUP: a key value in, the ids that hold it out; the first key that hits decides. */
import { badRequest, problem } from '../codes.ts';
import type { Domain } from '../domains/types.ts';
import { readDocument } from '../http/body.ts';
import { callerOf, type RestCall } from './endpoint.ts';
import { type Engine, memoryOf, sendJson } from './engine.ts';
import type { Resource } from './resource.ts';

export const lookup = (engine: Engine, resource: Resource) => async (call: RestCall) => {
  const domain = memoryOf(engine, callerOf(call).domain);
  const value = readKeyValue(await readDocument(call.request, 'custom'));
  const ids = await domain.read((rows) => findIds(resource, rows, value));
  if (ids.length === 0) throw problem('lookup_failed');
  return sendJson(call.reply, JSON.stringify([...ids].sort()));
};

/** The body of a LOOKUP: a JSON string or number. */
export const readKeyValue = (body: unknown): string => {
  if (body === undefined || body === '') throw badRequest('body', 'is missing');
  if (typeof body === 'number') return String(body);
  if (typeof body !== 'string') throw badRequest('body', 'must be a JSON string or number');
  return body;
};

/** Of the first key that hits. */
const findIds = (resource: Resource, domain: Domain, value: string): readonly string[] => {
  for (const key of resource.lookup) {
    const ids = idsOf(resource, domain, key, value);
    if (ids.length > 0) return ids;
  }
  return [];
};

const idsOf = (resource: Resource, domain: Domain, name: string, value: string): readonly string[] => {
  if (name === resource.id) {
    const id = value.toLowerCase();
    return domain.get(resource.kind, id) ? [id] : [];
  }
  const key = resource.keys.find((each) => each.name === name);
  // The same folding as when the key was made.
  const folded = key?.valueOf({ [name]: value });
  return folded === undefined ? [] : domain.find(resource.kind, name, folded);
};
