/** Entities by collection as the elements 130-133 use them. */
import type { Caller, Domain } from '../domains/types.ts';
import type { Json } from '../rest/json.ts';

export type ScriptEntities = {
  find(
    actor: { readonly domain: Domain; readonly caller: Caller },
    collection: string,
    query: { readonly filter?: unknown; readonly mask?: string | undefined; readonly limit: number },
  ): Promise<Json[]>;
  create(actor: { readonly domain: Domain; readonly caller: Caller }, collection: string, fields: Json): Promise<Json>;
  update(
    actor: { readonly domain: Domain; readonly caller: Caller },
    collection: string,
    id: string,
    fields: Json,
  ): Promise<Json>;
  remove(actor: { readonly domain: Domain; readonly caller: Caller }, collection: string, id: string): Promise<void>;
};
