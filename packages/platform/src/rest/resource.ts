/**
 * What a resource file may say, and the complete form the engine works on. A declaration is completed once, when the
 * service starts; verbs never meet a missing part.
 */
import type { Caller, Domain, Domains, Entity, Kind } from '../domains/types.ts';
import type { DomainType, RestMethod } from './endpoint.ts';
import { ext, type Field, opts, uuid } from './field.ts';
import type { FilterField } from './filter-budget.ts';
import type { Json } from './json.ts';
import type { Mask } from './mask.ts';
import { maskOf } from './mask.ts';

export type Verb = 'create' | 'list' | 'read' | 'replace' | 'patch' | 'remove' | 'lookup';

/** A key of a kind: how the Store and the memory index it. */
export type Key = {
  readonly name: string;
  /** No two entities of a domain hold the same value. */
  readonly isUnique: boolean;
  valueOf(entity: Entity): string | undefined;
};

export type Mode = 'create' | 'replace' | 'patch';

/** What a hook may know and do while an entity is being written. */
export type SaveContext = {
  readonly domain: Domain;
  readonly domains: Domains;
  readonly caller: Caller;
  readonly mode: Mode | 'remove';
  /** Body of a DELETE, `{"force": true}` for one. */
  readonly body: Json;
  /**
   * Another entity of the domain, changed in the same commit with a journal entry of its own; undefined removes it.
   * Only a write that is exclusive may reach for others.
   */
  also(kind: Kind, id: string, change: (current: Entity) => Json | undefined): void;
  /** The next value of the domain's counter of this name, one for each write; the increment is part of the commit. */
  nextNumber(counter: string): number;
};

export type Declaration = {
  /** `iam/users`. */
  readonly path: string;
  readonly kind: Kind;
  readonly fields: Readonly<Record<string, Field>>;
  /** Names of fields no two entities may share; with a function when values are folded before they are compared. */
  readonly unique?: Readonly<Record<string, (value: string) => string>> | readonly string[];
  /** Unique keys made of more than one field. */
  readonly compoundKeys?: readonly Key[];
  /** A PATCH on an id that is not there makes the entity when this says so. */
  patchMakes?(id: string): boolean;
  /** Fields LOOKUP tries, in order, after `id`. */
  readonly lookup?: readonly string[];
  /** Fields of a list when no mask is given. */
  readonly list: readonly string[];
  readonly verbs?: readonly Verb[];
  readonly domain?: DomainType;
  /** Name of the identifying field; `key` for settings. */
  readonly id?: string;
  /** Stands for an id in GET and PATCH, for whoever is signed in; `fields` are those he may change of himself. */
  readonly alias?: { readonly name: string; idOf(caller: Caller): string; readonly fields: readonly string[] };
  /**
   * True when a write must be alone in its domain, because it reads or changes more than its own entity. `held`: the
   * entity as it is before the lock.
   */
  readonly isExclusive?: boolean | ((mode: SaveContext['mode'], body: Json, held: Entity | undefined) => boolean);
  /** Slow or asynchronous work on a checked body before anything is locked (hashing, say). */
  prepare?(body: Json, context: Pick<SaveContext, 'domain' | 'domains' | 'caller' | 'mode'>, id: string): Promise<Json>;
  /** Last checks and changes of a draft; throws to refuse. Synchronous: it runs while the entity is locked. */
  beforeSave?(draft: Json, previous: Entity | undefined, context: SaveContext): void;
  beforeRemove?(previous: Entity, context: SaveContext): void;
  /** Counters `nextNumber` may be asked for; each is also the unique key its numbers end up under. */
  readonly counters?: readonly string[];
  /** Grows with the people served: may leave memory for the database when there are too many rows. */
  readonly isGrowing?: boolean;
  /** The item of the licence that an entity counts as, if any. */
  licensed?(entity: Entity): string | undefined;
  /** Sets further stamps when the write is certain. */
  stamp?(draft: Json, lwt: string): Json;
  /** Stored beside the fields, set by `beforeSave`, never shown: not in answers, journal, filters or exports. */
  readonly hidden?: readonly string[];
  /** Changes what callers see, beyond masked secrets. */
  show?(entity: Json, domain: Domain): Json;
  readonly summary: string;
};

export type Resource = Required<Pick<Declaration, 'path' | 'kind' | 'fields' | 'summary'>> &
  Pick<
    Declaration,
    'alias' | 'prepare' | 'beforeSave' | 'beforeRemove' | 'show' | 'stamp' | 'patchMakes' | 'licensed'
  > & {
    readonly domain: DomainType;
    readonly id: string;
    readonly verbs: ReadonlySet<Verb>;
    readonly keys: readonly Key[];
    /** Field that names an entity to people; the journal's objkey. */
    readonly mainKey: string;
    readonly lookup: readonly string[];
    readonly listMask: Mask;
    readonly counters: readonly string[];
    readonly isGrowing: boolean;
    readonly hidden: readonly string[];
    isExclusive(mode: SaveContext['mode'], body: Json, held: Entity | undefined): boolean;
    /** True name of a field, whatever its spelling. */
    fieldOf(name: string): string;
    /** Path and comparison of a dotted name, or undefined when there is no such field. */
    resolve(name: string): FilterField | undefined;
  };

const ALL_VERBS: readonly Verb[] = ['create', 'list', 'read', 'replace', 'patch', 'remove', 'lookup'];

export const METHOD_OF: Readonly<Record<Verb, RestMethod>> = {
  create: 'POST',
  list: 'GET',
  read: 'GET',
  replace: 'PUT',
  patch: 'PATCH',
  remove: 'DELETE',
  lookup: 'LOOKUP',
};

const keyOf = (name: string, isUnique: boolean, fold: (value: string) => string = (value) => value): Key => ({
  name,
  isUnique,
  valueOf: (entity) => {
    const value = entity[name];
    if (typeof value === 'string') return value === '' ? undefined : fold(value);
    return typeof value === 'number' ? String(value) : undefined;
  },
});

const keysOf = (declared: Declaration): Key[] => {
  const { unique = [] } = declared;
  const keys = Array.isArray(unique)
    ? unique.map((name: string) => keyOf(name, true))
    : Object.entries(unique as Readonly<Record<string, (value: string) => string>>).map(([name, fold]) =>
        keyOf(name, true, fold),
      );
  const known = new Set(keys.map(({ name }) => name));
  for (const name of declared.lookup ?? []) if (!known.has(name)) keys.push(keyOf(name, false));
  return [...keys, ...(declared.compoundKeys ?? [])];
};

/** Dotted names into paths, through spellings and known members; `opts`, `ext` and other open objects take any name. */
const createResolver = (fields: Readonly<Record<string, Field>>, fieldOf: (name: string) => string) => {
  const resolveMember = (field: Field, path: readonly string[]): FilterField['compares'] => {
    let current: Field | undefined = field;
    for (const part of path) {
      if (current?.secrets?.has(part)) return 'secret';
      current = current?.members && Object.hasOwn(current.members, part) ? current.members[part] : undefined;
    }
    return current?.compares ?? 'any';
  };
  return (name: string): FilterField | undefined => {
    const [head = '', ...rest] = name.split('.');
    const fieldName = fieldOf(head);
    const field = Object.hasOwn(fields, fieldName) ? fields[fieldName] : undefined;
    if (!field || rest.includes('')) return undefined;
    if (rest.length > 0 && field.compares !== 'object' && field.compares !== 'any') return undefined;
    return { path: [fieldName, ...rest], compares: rest.length === 0 ? field.compares : resolveMember(field, rest) };
  };
};

type Fields = Readonly<Record<string, Field>>;

/** `id` first, `opts` and `ext` last, as every entity shows them. */
const withCommon = ({ opts: ownOpts, ext: ownExt, ...own }: Fields): Fields => ({
  id: uuid({ fixed: true }),
  ...own,
  opts: ownOpts ?? opts(),
  ext: ownExt ?? ext(),
});

const HOOKS = ['alias', 'prepare', 'beforeSave', 'beforeRemove', 'show', 'stamp', 'patchMakes', 'licensed'] as const;

/** The optional parts that were given. */
const hooksOf = (declared: Declaration): Pick<Declaration, (typeof HOOKS)[number]> =>
  Object.fromEntries(HOOKS.flatMap((name) => (declared[name] === undefined ? [] : [[name, declared[name]]])));

/** Completes a declaration. */
export const defineResource = (declared: Declaration): Resource => {
  const id = declared.id ?? 'id';
  const fields = id === 'id' ? withCommon(declared.fields) : declared.fields;
  const spellings = new Map(
    Object.entries(fields).flatMap(([name, { alias }]) => (alias ? [[alias, name] as const] : [])),
  );
  const fieldOf = (name: string): string => spellings.get(name) ?? name;
  const exclusive = declared.isExclusive ?? false;
  const keys = keysOf(declared);
  return {
    path: declared.path,
    kind: declared.kind,
    summary: declared.summary,
    fields,
    id,
    domain: declared.domain ?? 'any',
    verbs: new Set(declared.verbs ?? ALL_VERBS),
    keys,
    mainKey: keys.find((key) => key.isUnique)?.name ?? id,
    lookup: [id, ...(declared.lookup ?? [])],
    listMask: maskOf(declared.list, fieldOf),
    counters: declared.counters ?? [],
    isGrowing: declared.isGrowing ?? false,
    hidden: declared.hidden ?? [],
    isExclusive: typeof exclusive === 'function' ? exclusive : () => exclusive,
    fieldOf,
    resolve: createResolver(fields, fieldOf),
    ...hooksOf(declared),
  };
};
