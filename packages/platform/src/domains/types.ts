/**
 * The words the parts of the platform share: a domain in memory, an entity in it, who is asking. Only types: the parts
 * that make these things (memory, domains, auth) import them, and no part imports another for a type alone.
 */
import type { Store } from '@parley/kit/store/store.ts';

/** A descriptor entity in wire shape, as stored: secrets are hashes or ciphertext, never shown. Treat as frozen. */
export type Entity = { readonly [field: string]: unknown };

/** What every entity with an id carries. */
export type Stamps = { readonly ct: string; readonly lwt: string; readonly [key: string]: unknown };

export type User = Entity & {
  readonly id: string;
  readonly name: string;
  readonly login: string;
  /** PHC string; absent when no password was ever set, so that no sign-in succeeds. */
  readonly pwd?: string;
  readonly timezone: string | number;
  /** `roles`: role names; `domains`: further domains the account may enter (`*` only in the master); `tags`. */
  readonly opts: {
    readonly roles?: readonly string[];
    readonly tags?: readonly string[];
    readonly domains?: readonly string[];
    readonly [key: string]: unknown;
  };
  readonly ext: Stamps;
};

/** One line of a role: methods in upper case (`*` is all), and a path that may end in `*`. */
export type RouteRule = { readonly methods: readonly string[]; readonly url: string };

export type Role = Entity & {
  readonly id: string;
  readonly name: string;
  readonly parent_id: string;
  readonly routes: readonly RouteRule[];
  readonly webapps: readonly Entity[];
};

/** Kinds of rows as the Store and the journal know them. */
export type Kind =
  | 'user'
  | 'role'
  | 'group'
  | 'storage'
  | 'class'
  | 'svcscript'
  | 'integration_point'
  | 'contact'
  | 'contactgroup'
  | 'subordination'
  | 'configuration'
  | 'storagerule'
  | 'project'
  | 'setting'
  | 'domain';

/** Who holds which roles, kept current with users and groups. Role names only; inheritance of routes is not in here. */
export type Rights = {
  /** Grows whenever a user, role or group of the domain changes: cache what you compute from roles under it. */
  version(): number;
  directGroupsOf(userId: string): readonly string[];
  deepGroupsOf(userId: string): readonly string[];
  directRolesOf(userId: string): readonly string[];
  /** Direct roles and those of every group the user is in, through included groups too. Sorted. */
  deepRolesOf(userId: string): readonly string[];
  /** The same of a user that is at hand; nothing is kept of it. */
  rolesOf(user: Entity): readonly string[];
  /** Ids of the users listed in this group or in any group it includes. */
  deepUsersOf(groupId: string): readonly string[];
};

/**
 * One domain with its descriptor collections. Nothing of another domain can be reached through it. Kinds that grow with
 * the people served (users, contacts …) may lie in the Store: ask for them inside `read`, which waits where it has to;
 * outside of it what is not in memory is refused with 503.
 */
export type Domain = {
  readonly name: string;
  readonly isMaster: boolean;
  readonly parent: string | undefined;
  readonly solution: string;
  readonly opts: Entity;
  get(kind: Kind, id: string): Entity | undefined;
  /** Ids of the entities that hold this value under a declared key (`login`, `name`, `code` …). */
  find(kind: Kind, key: string, value: string): readonly string[];
  all(kind: Kind): Iterable<Entity>;
  size(kind: Kind): number;
  user(id: string): User | undefined;
  /** Logins are compared without case. */
  userByLogin(login: string): User | undefined;
  roleByName(name: string): Role | undefined;
  /** The value of a setting, or undefined. */
  setting(key: string): Entity | undefined;
  readonly rights: Rights;
  /**
   * Runs synchronous code over the domain and answers what it does: at once when all it asks for is in memory, else as
   * a promise. It may run more than once, so it changes nothing.
   */
  read<T>(run: (domain: Domain) => T): T | Promise<T>;
  /** Every entity of a kind, in pages: one where it is in memory. */
  pages(kind: Kind): AsyncIterable<readonly Entity[]>;
  /** Entities of a kind that pass, at most `most`. `name` stands for the test within one run. */
  select(kind: Kind, name: string, test: (entity: Entity) => boolean, most?: number): readonly Entity[];
  /** Says that these are about to be asked for, so that they are read together and not one by one. */
  need(kind: Kind, ids: readonly string[]): void;
  /** The same for holders of values of a key. */
  needBy(kind: Kind, key: string, values: readonly string[]): void;
};

/** A change of one descriptor entity that is durable and visible, made here or by another node. */
export type Changed = {
  readonly domain: string;
  readonly kind: Kind;
  readonly id: string;
  readonly before: Entity | undefined;
  readonly after: Entity | undefined;
  /** Who made it; absent when another node did. */
  readonly by?: Caller;
};

export type Domains = {
  readonly store: Store;
  readonly master: Domain;
  /** The domain if it exists; loads it at first use. */
  open(name: string): Promise<Domain | undefined>;
  /** The domain if it is loaded already. */
  loaded(name: string): Domain | undefined;
  /** Names of every domain, the master first. */
  names(): readonly string[];
  /** True when `name` lies below `ancestor` in the tree. */
  isBelow(name: string, ancestor: string): boolean;
  /** Called after each change; returns the way to stop being called. */
  onChange(listener: (changed: Changed) => void): () => void;
};

/** Name under which rows that belong to no single domain (sessions, bans) lie in the Store. No domain can be named so. */
export const SYSTEM_SPACE = '$system';

/** Who is asking, already proven. The account lives in `home`; the call acts in `domain`. */
export type Caller = {
  readonly domain: Domain;
  readonly home: Domain;
  readonly userId: string;
  readonly login: string;
  readonly name: string;
  /** Deep roles of the account that exist in `domain`. */
  readonly roles: readonly string[];
  /** Client address, for bans, the journal and limits. */
  readonly address: string;
  /** How the call proved itself; `system` is the platform itself (first run), `script` a run of a service script. */
  readonly session: { readonly kind: 'cookie' | 'token' | 'script'; readonly id: string } | { readonly kind: 'system' };
  /** True when the caller's own routes include every one of these: the coverage rule on ways to more rights. */
  covers(routes: readonly RouteRule[]): boolean;
};
