/** Reading and writing single items of classes: drafts by the same rules as everywhere, one write of an item at a time. */
import { Conflict } from '@parley/kit/store/store.ts';
import { cannotApply, notFound, problem, taken } from '../codes.ts';
import type { DomainMemory } from '../domains/memory.ts';
import type { SecretBox } from '../domains/secrets.ts';
import { draftNew, draftPatched, draftReplaced, type Input } from '../rest/draft.ts';
import { isObject, isSame, type Json } from '../rest/json.ts';
import { redact } from '../rest/show.ts';
import { EXPIRES_AT, expiryOf } from './expiry.ts';
import type { ModelClass } from './model-class.ts';
import type { RowSource, Rows } from './rows.ts';

export type ItemWrite = {
  readonly domain: DomainMemory;
  readonly model: ModelClass;
  readonly id: string;
  readonly ifMatch?: string | undefined;
};

export type Items = {
  /** The item as stored, if it is there and not expired. */
  read(domain: DomainMemory, model: ModelClass, id: string): Promise<Json | undefined>;
  create(write: ItemWrite, input: Input): Promise<Json>;
  /** PUT: replaces or makes. */
  replace(write: ItemWrite, input: Input): Promise<Json>;
  patch(write: ItemWrite, input: Input): Promise<Json>;
  /** Sets one member as it is; for attachments. Undefined removes it. */
  set(write: ItemWrite, name: string, value: Json | undefined): Promise<Json>;
  remove(write: ItemWrite): Promise<Json>;
};

type Parts = { readonly source: RowSource; readonly secrets: SecretBox; stamp(after?: string): string };

const MAX_ATTEMPTS = 20;

/** What callers see: no secrets, nothing of ours. */
export const showItem = (model: ModelClass, data: Json): Json => {
  const { [EXPIRES_AT]: _expires, ...item } = data;
  return redact(model.resource, item);
};

export const etagOfItem = (data: Json): string => `W/"${String((data.ext as Json | undefined)?.lwt ?? '')}"`;

const isLive = (model: ModelClass, data: Json, now: string): boolean =>
  String(data[EXPIRES_AT] ?? expiryOf(model, data)) > now;

export const createItems = ({ source, secrets, stamp }: Parts): Items => {
  const read = async (rows: Rows, model: ModelClass, id: string, now: string) => {
    const row = await rows.get(id);
    return row && isLive(model, row.data, now) ? row : undefined;
  };

  const attempt = async (rows: Rows, { model, id, ifMatch }: ItemWrite, form: Form): Promise<Json> => {
    const now = stamp();
    const stale = await rows.get(id);
    const row = stale && isLive(model, stale.data, now) ? stale : undefined;
    checkMatch(ifMatch, row?.data);
    const previous = row && withoutExpiry(row.data);
    const formed = form(previous);
    const draft = sealAll(secrets, model, formed, previous);
    if (previous && isSame(withoutStamps(draft), withoutStamps(previous))) return previous;
    const before = previous?.ext as { ct?: string; lwt?: string } | undefined;
    const lwt = stamp(before?.lwt);
    const item: Json = { ...draft, ext: { ...withoutStamp(draft.ext), ct: before?.ct ?? lwt, lwt } };
    const data = { ...item, [EXPIRES_AT]: expiryOf(model, item) };
    checkSize(model, data);
    await rows.put(id, data, stale?.version ?? 0);
    return item;
  };

  const write = async (request: ItemWrite, form: Form): Promise<Json> => {
    const { domain, model, id } = request;
    const rows = await source.open(domain, model);
    return domain.locks.entity(`${model.kind}/${id}`, async () => {
      for (let tries = 0; tries < MAX_ATTEMPTS; tries++) {
        try {
          return await attempt(rows, request, form);
        } catch (thrown) {
          if (!(thrown instanceof Conflict)) throw thrown;
        }
      }
      throw problem('unavailable', { retryAfterSec: 1 });
    });
  };

  return {
    read: async (domain, model, id) => (await read(await source.open(domain, model), model, id, stamp()))?.data,
    create: (request, input) =>
      write(request, (previous) => {
        if (previous) throw taken('id', request.id);
        return draftNew(request.model.resource, input, request.id);
      }),
    replace: (request, input) =>
      write(request, (previous) =>
        previous
          ? draftReplaced(request.model.resource, input, previous)
          : draftNew(request.model.resource, input, request.id),
      ),
    patch: (request, input) =>
      write(request, (previous) => {
        if (!previous) throw notFound();
        return draftPatched(request.model.resource, input, previous);
      }),
    set: (request, name, value) =>
      write(request, (previous) => {
        if (!previous) throw notFound();
        const { [name]: _old, ...rest } = previous;
        return value === undefined ? rest : { ...rest, [name]: value };
      }),
    remove: async ({ domain, model, id, ifMatch }) => {
      const rows = await source.open(domain, model);
      return domain.locks.entity(`${model.kind}/${id}`, async () => {
        const row = await read(rows, model, id, stamp());
        if (!row) throw notFound();
        checkMatch(ifMatch, row.data);
        await rows.drop([id]);
        return row.data;
      });
    },
  };
};

type Form = (previous: Json | undefined) => Json;

const checkMatch = (ifMatch: string | undefined, data: Json | undefined): void => {
  if (ifMatch === undefined) return;
  if (!data) throw notFound();
  const etag = etagOfItem(data);
  const isMatch = ifMatch.split(',').some((part) => {
    const given = part.trim();
    return given === '*' || given === etag || `W/${given}` === etag;
  });
  if (!isMatch) throw problem('precondition_failed');
};

const withoutExpiry = ({ [EXPIRES_AT]: _expires, ...item }: Json): Json => item;

const withoutStamp = (held: unknown): Json => {
  const { ct: _ct, lwt: _lwt, ...own } = isObject(held) ? held : {};
  return own;
};

const withoutStamps = (item: Json): Json => ({ ...item, ext: withoutStamp(item.ext) });

const sealAll = (box: SecretBox, model: ModelClass, draft: Json, previous: Json | undefined): Json => {
  const sealed: Json = { ...draft };
  for (const { name, secret } of model.properties) {
    const plain = secret ? sealed[name] : undefined;
    const kept = previous?.[name];
    if (typeof plain !== 'string' || plain === kept) continue;
    const isKept = typeof kept === 'string' && box.isSealed(kept) && box.open(kept) === plain;
    sealed[name] = isKept ? kept : box.seal(plain);
  }
  return sealed;
};

const checkSize = ({ options }: ModelClass, data: Json): void => {
  const max = options.max_size;
  if (typeof max !== 'number' || max <= 0) return;
  if (Buffer.byteLength(JSON.stringify(data)) > max) throw cannotApply('body', `item is larger than ${max} bytes`);
};
