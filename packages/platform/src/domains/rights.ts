/**
 * Who is in which groups and holds which roles, computed from users, groups and roles when asked and kept until one of
 * them changes. Membership goes up: a group includes groups, and whoever is in an included group is in the including.
 */
import type { Collection } from './collection.ts';
import type { Entity, Rights } from './types.ts';

export type RightsKeeper = Rights & {
  /** Tells that an entity changed; only what matters here counts. */
  note(kind: string, before: Entity | undefined, after: Entity | undefined): void;
  /** The same rights, with users taken from elsewhere; `onGroups` is called whenever groups are looked through. */
  over(userOf: UserOf, onGroups: () => void): Rights;
};

type UserOf = (id: string) => Entity | undefined;
type Sources = { readonly users: Collection; readonly groups: Collection };

/** Users whose roles are kept at once. */
const MAX_KEPT = 100_000;

/** What one state of the groups says. */
type Membership = {
  /** Groups that list the user. */
  readonly direct: ReadonlyMap<string, readonly string[]>;
  /** Groups that include the group. */
  readonly including: ReadonlyMap<string, readonly string[]>;
};

export const stringsAt = (entity: Entity | undefined, ...path: readonly string[]): readonly string[] => {
  let node: unknown = entity;
  for (const part of path) node = (node as Record<string, unknown> | undefined)?.[part];
  return Array.isArray(node) ? node.filter((item): item is string => typeof item === 'string') : [];
};

const pushTo = (map: Map<string, string[]>, key: string, value: string): void => {
  const list = map.get(key);
  if (list) list.push(value);
  else map.set(key, [value]);
};

const readMembership = (groups: Collection): Membership => {
  const direct = new Map<string, string[]>();
  const including = new Map<string, string[]>();
  for (const { id, entity } of groups.values()) {
    for (const user of stringsAt(entity, 'opts', 'users')) pushTo(direct, user, id);
    for (const inner of stringsAt(entity, 'opts', 'groups')) pushTo(including, inner, id);
  }
  return { direct, including };
};

const NONE: readonly string[] = [];

/** All that can be reached from the given ids, themselves included; a circle ends where it began. */
const reach = (from: readonly string[], next: (id: string) => readonly string[]): string[] => {
  const seen = new Set(from);
  for (const id of seen) for (const other of next(id)) seen.add(other);
  return [...seen].sort();
};

export const createRights = ({ users, groups }: Sources): RightsKeeper => {
  let version = 1;
  let membership: Membership | undefined;
  const deepRoles = new Map<string, readonly string[]>();

  const members = (): Membership => {
    membership ??= readMembership(groups);
    return membership;
  };
  const deepGroupsOf = (userId: string): readonly string[] =>
    reach(members().direct.get(userId) ?? NONE, (group) => members().including.get(group) ?? NONE);
  const rolesOf = (user: Entity | undefined, userId: string): readonly string[] => {
    const inherited = deepGroupsOf(userId).flatMap((group) => stringsAt(groups.get(group)?.entity, 'opts', 'roles'));
    return [...new Set([...stringsAt(user, 'opts', 'roles'), ...inherited])].sort();
  };
  /** `look`: undefined where what is computed is kept; else called whenever groups are looked through. */
  const over = (userOf: UserOf, look?: () => void): Rights => ({
    version: () => version,
    directGroupsOf: (userId) => {
      look?.();
      return [...(members().direct.get(userId) ?? NONE)].sort();
    },
    deepGroupsOf: (userId) => {
      look?.();
      return deepGroupsOf(userId);
    },
    directRolesOf: (userId) => stringsAt(userOf(userId), 'opts', 'roles'),
    rolesOf: (user) => {
      look?.();
      return rolesOf(user, String(user.id));
    },
    deepRolesOf: (userId) => {
      look?.();
      // What was read for one run may be out of date when the run ends, so nothing of it is kept.
      if (look) return rolesOf(userOf(userId), userId);
      const known = deepRoles.get(userId);
      if (known) return known;
      const roles = rolesOf(userOf(userId), userId);
      if (deepRoles.size >= MAX_KEPT) deepRoles.delete(deepRoles.keys().next().value!);
      deepRoles.set(userId, roles);
      return roles;
    },
    deepUsersOf: (groupId) => {
      look?.();
      const within = reach([groupId], (group) => stringsAt(groups.get(group)?.entity, 'opts', 'groups'));
      return [...new Set(within.flatMap((group) => stringsAt(groups.get(group)?.entity, 'opts', 'users')))].sort();
    },
  });
  return {
    ...over((id) => users.get(id)?.entity),
    over: (userOf, onGroups) => over(userOf, onGroups),
    note: (kind, before, after) => {
      if (kind === 'user' && !touchesRights(before, after)) return;
      if (kind !== 'user' && kind !== 'group' && kind !== 'role') return;
      if (kind === 'group') membership = undefined;
      deepRoles.clear();
      version += 1;
    },
  };
};

/** A user's name or e-mail changes often; only roles and domains decide what he may do. */
const touchesRights = (before: Entity | undefined, after: Entity | undefined): boolean =>
  before === undefined ||
  after === undefined ||
  stringsAt(before, 'opts', 'roles').join('\n') !== stringsAt(after, 'opts', 'roles').join('\n') ||
  stringsAt(before, 'opts', 'domains').join('\n') !== stringsAt(after, 'opts', 'domains').join('\n');
