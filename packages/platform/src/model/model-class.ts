/** A class ready to be worked with: its effective properties as fields, its options, and how its rows are named. */
import type { Domain, Entity } from '../domains/types.ts';
import { ext, type Field, opts } from '../rest/field.ts';
import { isObject, type Json } from '../rest/json.ts';
import { defineResource, type Resource } from '../rest/resource.ts';
import { optionsOf } from './class-options.ts';
import { effectiveProperties, fieldOf, lineageOf, type Property } from './properties.ts';

export type ModelClass = {
  readonly entity: Entity;
  readonly id: string;
  readonly classname: string;
  readonly mode: string;
  readonly options: Json;
  readonly properties: readonly Property[];
  /** For drafts, filters, orders and masks. Its rows are not in memory. */
  readonly resource: Resource;
  /** Kind of its rows in the Store. */
  readonly kind: string;
  /** Fields whose conditions and order a database sees as we do. */
  readonly pushable: ReadonlySet<string>;
  readonly lookup: readonly string[];
};

export type ModelClasses = {
  /** The class a path names, by the longest classname, and what follows it in the path. */
  find(domain: Domain, segments: readonly string[]): { model: ModelClass; rest: readonly string[] } | undefined;
  of(domain: Domain, entity: Entity): ModelClass;
};

const MAX_CLASS_SEGMENTS = 8;
/** Text compares alike everywhere; 64-bit numbers may be kept as text, and lists and objects never compare. */
const PUSHABLE = new Set(['string', 'integer', 'int', 'boolean', 'datetime', 'date', 'time', 'uuid', 'enum']);

const kindOf = (classId: unknown): string => `model:${String(classId)}`;

export const createModelClasses = (): ModelClasses => {
  const known = new WeakMap<Entity, { readonly line: readonly Entity[]; readonly model: ModelClass }>();
  const of = (domain: Domain, entity: Entity): ModelClass => {
    const line = lineageOf(domain, entity);
    const kept = known.get(entity);
    if (kept && kept.line.length === line.length && kept.line.every((each, at) => each === line[at])) return kept.model;
    const model = createModel(entity, line);
    known.set(entity, { line, model });
    return model;
  };
  return {
    of,
    find: (domain, segments) => {
      for (let length = Math.min(segments.length, MAX_CLASS_SEGMENTS); length > 0; length--) {
        const [id] = domain.find('class', 'classname', segments.slice(0, length).join('/'));
        const entity = id === undefined ? undefined : domain.get('class', id);
        if (entity) return { model: of(domain, entity), rest: segments.slice(length) };
      }
      return undefined;
    },
  };
};

const createModel = (entity: Entity, line: readonly Entity[]): ModelClass => {
  const properties = effectiveProperties(line);
  const options = optionsOf(entity);
  const fillsDefaults = options.check_required_fill_defaults === true;
  const own = Object.fromEntries(properties.map((property) => [property.name, propertyField(property, fillsDefaults)]));
  const classname = String(entity.classname);
  const lookup = stringsOf(options.lookup_properties).filter((name) => Object.hasOwn(own, name));
  const maskable = stringsOf(options.max_mask);
  const resource = defineResource({
    path: `model/${classname}`,
    kind: 'class',
    summary: classname,
    fields: { ...own, opts: own.opts ?? opts(), ext: ext() },
    list: maskable.length > 0 ? maskable : ['*'],
  });
  const hasOpts = Object.hasOwn(own, 'opts');
  const { opts: _opts, ...fields } = resource.fields;
  return {
    entity,
    id: String(entity.id),
    classname,
    mode: String(entity.storage_mode),
    options,
    properties,
    // `opts` only where the class declares it.
    resource: hasOpts ? resource : { ...resource, fields, resolve: withoutOpts(resource) },
    kind: kindOf(entity.id),
    pushable: new Set([
      'id',
      'ext.ct',
      'ext.lwt',
      ...properties
        .filter(({ data_type, multi, secret }) => PUSHABLE.has(data_type) && !multi && !secret)
        .map(({ name }) => name),
    ]),
    lookup,
  };
};

const withoutOpts =
  (resource: Resource): Resource['resolve'] =>
  (name) =>
    name === 'opts' || name.startsWith('opts.') ? undefined : resource.resolve(name);

const stringsOf = (value: unknown): string[] =>
  Array.isArray(value) ? value.flatMap((item) => (typeof item === 'string' ? [item] : nameOf(item))) : [];

const nameOf = (item: unknown): string[] => (isObject(item) && typeof item.name === 'string' ? [item.name] : []);

const propertyField = (property: Property, fillsDefaults: boolean): Field => {
  const field = fieldOf(property);
  const hasDefault = property.default !== undefined && property.default !== null;
  const isRequired = property.required === true && !(fillsDefaults && hasDefault);
  return {
    ...field,
    required: isRequired,
    fallback: hasDefault && !isRequired ? field.check(property.default, property.name) : undefined,
    schema: { ...field.schema, ...(property.caption ? { title: property.caption } : {}) },
  };
};
