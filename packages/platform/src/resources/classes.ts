/** `design/classes`: definitions of collections. What lies in a collection is the model API's. */
import { ZERO_UUID } from '@parley/kit/ids.ts';
import { cannotApply } from '../codes.ts';
import type { Domain, Entity } from '../domains/types.ts';
import {
  CACHE_MODES,
  CLASS_OPTION_DEFAULTS,
  checkOptions,
  classOptions,
  INTEGRITY_MODES,
  type RowsOfClasses,
  STORAGE_MODES,
} from '../model/class-options.ts';
import {
  checkProperties,
  effectiveProperties,
  lineageOf,
  type Property,
  propertiesField,
} from '../model/properties.ts';
import { key, text, uuid } from '../rest/field.ts';
import { isObject, isSame, type Json } from '../rest/json.ts';
import { defineResource, type Resource, type SaveContext } from '../rest/resource.ts';
import { isSystem, keepSystemFlag } from './built-in.ts';

const CLASSNAME = /^[A-Za-z][A-Za-z0-9_]*(\/[A-Za-z][A-Za-z0-9_]*){0,7}$/;
const INDEXABLE = /^[A-Za-z_][A-Za-z0-9_]{0,62}$/;
const MAX_CLASSNAME = 256;
/** What may be written of a class that the platform itself needs: nothing of its definition. */
const DEFINITION = ['classname', 'parent_id', 'storage_mode', 'properties'];

export const createClasses = (parts: RowsOfClasses): Resource =>
  defineResource({
    path: 'design/classes',
    kind: 'class',
    summary: 'classes of stored data',
    unique: ['classname'],
    lookup: ['classname'],
    list: [
      'id',
      'classname',
      'parent_id',
      'name',
      'description',
      'properties',
      'storage_mode',
      'integrity_mode',
      'cache_mode',
      'opts.title',
      'opts.comment',
      'ext.lwt',
      'ext.ct',
    ],
    fields: {
      classname: key({ required: true, maxLength: MAX_CLASSNAME }),
      name: text({ maxLength: 128, fallback: '' }),
      description: text({ fallback: '' }),
      parent_id: uuid({ fallback: ZERO_UUID }),
      storage_mode: key({ fallback: 'category', description: STORAGE_MODES.join(', ') }),
      integrity_mode: key({ fallback: 'sync_fast_read', description: INTEGRITY_MODES.join(', ') }),
      cache_mode: key({ fallback: 'none', description: CACHE_MODES.join(', ') }),
      properties: propertiesField(),
      opts: classOptions(),
    },
    isExclusive: true,
    prepare: async (body, context, id) => {
      const before = context.domain.get('class', id);
      if (before && context.mode === 'remove') await prepareRemoval(parts, before, context, body);
      if (before && context.mode !== 'remove') await checkRows(parts, before, context.domain, body);
      const wanted = context.mode !== 'remove' && isObject(body.opts) ? body.opts : {};
      await parts.checkStorage(context.domain, wanted.storage_instance);
      await parts.checkFileStorage(context.domain, wanted.filestorage_instance);
      if (Array.isArray(wanted.lookup_properties)) {
        parts.prepareIndexes(
          `model:${id}`,
          wanted.lookup_properties.filter((name) => INDEXABLE.test(String(name))),
        );
      }
      return body;
    },
    beforeSave: (draft, previous, context) => {
      if (!CLASSNAME.test(String(draft.classname))) throw cannotApply('classname', 'must be words joined by /');
      draft.name ||= draft.classname;
      draft.opts = { ...CLASS_OPTION_DEFAULTS, ...(draft.opts as Json) };
      keepSystemFlag(draft, previous, context.caller);
      checkModes(draft);
      // The platform itself adds properties when it is newer than its rows.
      if (previous && isSystem(previous) && context.caller.session.kind !== 'system') keepDefinition(draft, previous);
      checkProperties(draft.properties as Property[]);
      const effective = effectiveProperties(lineageOf(context.domain, draft));
      checkOptions(draft.opts as Json, new Set(effective.map(({ name }) => name)), context.domain);
      checkChildren(draft, context);
    },
    beforeRemove: (previous, { domain }) => {
      if (isSystem(previous)) throw cannotApply('classname', 'built-in classes stay');
      for (const each of domain.all('class')) {
        if (each.parent_id === previous.id) throw cannotApply('id', 'referenced', { by: { class: each.classname } });
      }
    },
  });

const checkModes = (draft: Json): void => {
  const modes = { storage_mode: STORAGE_MODES, integrity_mode: INTEGRITY_MODES, cache_mode: CACHE_MODES };
  for (const [name, words] of Object.entries(modes)) {
    if (!words.includes(String(draft[name]))) throw cannotApply(name, `must be one of ${words.join(', ')}`);
  }
};

const keepDefinition = (draft: Json, previous: Entity): void => {
  for (const name of DEFINITION) {
    if (!isSame(draft[name], previous[name])) throw cannotApply(name, 'built-in classes keep their definition');
  }
};

/** What a parent becomes must still fit its children. */
const checkChildren = (draft: Json, { domain }: SaveContext): void => {
  const seeingDraft: Domain = { ...domain, get: (kind, id) => (id === draft.id ? draft : domain.get(kind, id)) };
  for (const each of domain.all('class')) {
    if (each.id !== draft.id && each.parent_id !== ZERO_UUID) effectiveProperties(lineageOf(seeingDraft, each));
  }
};

const prepareRemoval = async (
  parts: RowsOfClasses,
  entity: Entity,
  { domain }: Pick<SaveContext, 'domain'>,
  body: Json,
): Promise<void> => {
  const rows = await parts.countRows(domain, entity);
  if (rows === 0) return;
  if (body.force !== true) throw cannotApply('id', 'referenced', { by: `${rows} rows` });
  await parts.dropRows(domain, entity);
};

/** A change of type is refused while there are values that would not fit it. */
const checkRows = async (parts: RowsOfClasses, before: Entity, domain: Domain, body: Json): Promise<void> => {
  if (!Array.isArray(body.properties)) return;
  const old = new Map(((before.properties ?? []) as Property[]).map((property) => [property.name, property]));
  const changed = (body.properties as Property[]).filter((property) => {
    const was = old.get(property?.name);
    return (
      was &&
      !(
        was.data_type === property.data_type &&
        (was.multi ?? false) === (property.multi ?? false) &&
        isSame(was.items, property.items)
      )
    );
  });
  if (changed.length === 0) return;
  const misfits = await parts.countMisfits(domain, before, changed);
  if (misfits > 0) throw cannotApply('properties', `${misfits} rows hold values that do not fit`, { count: misfits });
};
