/** GET of one entity, with `mask` and `flat`. */
import { notFound } from '../codes.ts';
import type { Held } from '../domains/collection.ts';
import type { DomainMemory } from '../domains/memory.ts';
import type { Caller } from '../domains/types.ts';
import { callerOf, type RestCall } from './endpoint.ts';
import { type Engine, memoryOf, sendItem } from './engine.ts';
import { toExport } from './export.ts';
import { applyFlat, parseMask } from './mask.ts';
import { readPathId } from './path-id.ts';
import { type RawQuery, readFlag, readText } from './query.ts';
import type { Resource } from './resource.ts';
import { show, showText } from './show.ts';

export const read = (engine: Engine, resource: Resource) => (call: RestCall) => {
  const caller = callerOf(call);
  const { alias } = resource;
  const pathId = readPathId(call.request, resource);
  const isAlias = alias !== undefined && pathId === alias.name;
  const domain = memoryOf(engine, isAlias ? caller.home : caller.domain);
  const render = readForm(engine, resource, call.request.query as RawQuery);
  const id = isAlias ? alias.idOf(caller) : pathId;
  const send = (held: Held | undefined) => {
    if (!held) throw notFound();
    return sendItem(call.reply, held, render ? render(held, domain, caller) : showText(resource, held, domain));
  };
  const collection = domain.collection(resource.kind);
  if (!collection.cache) return send(collection.get(id));
  const held = domain.view((view) => view.held(resource.kind, id));
  return held instanceof Promise ? held.then(send) : send(held);
};

type Render = (held: Held, domain: DomainMemory, caller: Caller) => string;

/** How the query wants the item; undefined for the plain one. */
const readForm = (engine: Engine, resource: Resource, query: RawQuery): Render | undefined => {
  if (query.mask === undefined && query.flat === undefined && query.export === undefined) return undefined;
  const mask = parseMask(readText(query, 'mask'), resource.fieldOf);
  const isFlat = readFlag(query, 'flat');
  const isExport = readFlag(query, 'export');
  return ({ entity }, domain, caller) => {
    const shown = isExport ? toExport(engine, resource, entity, caller) : show(resource, entity, domain);
    return JSON.stringify(applyFlat(mask ? mask.apply(shown) : shown, isFlat));
  };
};
