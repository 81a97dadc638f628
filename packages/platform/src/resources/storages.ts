/** `domain/storages`: connections to databases, queues and file stores. Their passwords and keys are sealed and masked. */
import { cannotApply } from '../codes.ts';
import type { Domain, Entity } from '../domains/types.ts';
import { isBelowRoot } from '../model/file-roots.ts';
import { anything, bool, type Field, integer, key, list, object, text } from '../rest/field.ts';
import { isObject } from '../rest/json.ts';
import { defineResource, type Resource } from '../rest/resource.ts';

const SECRET_PARAMS = ['pwd', 'password', 'secretKey', 'secret', 'token', 'private_key'];

const endpoint = object({ host: text({ required: true }), port: integer({ required: true, min: 1, max: 65_535 }) });
const port = integer({ min: 1, max: 65_535 });

/** Shapes of the params by type. A type not named here takes any. */
const PARAMS: Readonly<Record<string, Readonly<Record<string, Field>>>> = {
  postgresql: { host: text(), port, login: text(), pwd: text(), database: text() },
  clickhouse: { cluster: text(), host: text(), port, login: text(), password: text() },
  kafka: { endpoints: list(endpoint) },
  fs: { prefix: text() },
  s3: { bucket: text(), keyId: text(), secretKey: text(), endpoint: text(), region: text(), pathStyle: bool() },
};

const TYPE = /^[a-z0-9_]+$/;

export type StoragesParts = {
  /** Folders in which a storage of type fs may lie. */
  readonly roots: readonly string[];
};

export const createStorages = ({ roots }: StoragesParts): Resource =>
  defineResource({
    path: 'domain/storages',
    kind: 'storage',
    summary: 'data storage connections',
    unique: ['instance'],
    lookup: ['instance'],
    list: ['id', 'type', 'instance', 'params', 'opts.title', 'opts.comment', 'ext.lwt', 'ext.ct'],
    fields: {
      instance: key({ required: true }),
      type: key({ required: true, description: 'postgresql, clickhouse, kafka, fs, s3 or another word.' }),
      params: object({}, { fallback: {}, secrets: SECRET_PARAMS, maxBytes: 65_536 }),
    },
    // Classes name storages by their instance.
    isExclusive: (mode, body, held) =>
      mode === 'remove' || (held !== undefined && (body.instance ?? held.instance) !== held.instance),
    beforeSave: (draft, previous, { domain }) => {
      if (previous && previous.instance !== draft.instance) requireUnused(previous, domain);
      const type = String(draft.type);
      if (!TYPE.test(type)) throw cannotApply('type', 'must be lower-case letters, digits and _');
      checkParams(type, draft.params);
      if (type === 'fs') checkPrefix(draft.params, roots);
    },
    beforeRemove: (previous, { domain }) => requireUnused(previous, domain),
  });

/** 422 while a class keeps its rows or files there. */
const requireUnused = ({ instance }: Entity, domain: Domain): void => {
  for (const each of domain.all('class')) {
    const opts = isObject(each.opts) ? each.opts : {};
    if (opts.storage_instance === instance || opts.filestorage_instance === instance) {
      throw cannotApply('instance', 'referenced', { by: { class: each.classname } });
    }
  }
};

const checkParams = (type: string, params: unknown): void => {
  const known = Object.hasOwn(PARAMS, type) ? PARAMS[type] : undefined;
  if (known) object(known).check(params ?? {}, 'params');
  else anything().check(params, 'params');
};

const checkPrefix = (params: unknown, roots: readonly string[]): void => {
  const prefix = isObject(params) ? params.prefix : undefined;
  if (typeof prefix !== 'string' || prefix === '') return;
  if (!isBelowRoot(prefix, roots)) throw cannotApply('params.prefix', 'lies in none of the folders allowed for files');
};
