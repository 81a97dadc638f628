/** `iam/groups`: users and included groups; whoever is in a group holds its roles. */
import { cannotApply } from '../codes.ts';
import { stringsAt } from '../domains/rights.ts';
import type { Entity } from '../domains/types.ts';
import { key, list, opts, text, uuid } from '../rest/field.ts';
import { isObject, type Json } from '../rest/json.ts';
import { defineResource, type SaveContext } from '../rest/resource.ts';
import { requireCoverage, requireRoles, rolesAbove } from './coverage.ts';

export const groups = defineResource({
  path: 'iam/groups',
  kind: 'group',
  summary: 'groups of users',
  unique: ['code'],
  lookup: ['code'],
  list: ['id', 'code', 'description', 'opts.title', 'opts.comment', 'ext.lwt', 'ext.ct'],
  fields: {
    code: key({ required: true }),
    description: text({ fallback: '' }),
    opts: opts({
      users: list(uuid(), { isUnique: true, maxItems: 100_000 }),
      groups: list(uuid(), { isUnique: true, maxItems: 10_000 }),
      roles: list(key(), { isUnique: true, maxItems: 1000 }),
    }),
  },
  isExclusive: true,
  beforeSave: (draft, previous, context) => {
    const { domain } = context;
    const given = isObject(draft.opts) ? draft.opts : {};
    draft.opts = { title: '', comment: '', users: [], groups: [], roles: [], ...given };
    domain.need('user', stringsAt(draft, 'opts', 'users'));
    for (const user of stringsAt(draft, 'opts', 'users')) {
      if (!domain.get('user', user)) throw cannotApply('opts.users', 'unknown user', { value: user });
    }
    requireRoles(domain, stringsAt(draft, 'opts', 'roles'), 'opts.roles');
    checkIncluded(draft, context);
    checkCoverage(draft, previous, context);
  },
  beforeRemove: ({ id }, { domain, also, body }) => {
    const including = [...domain.all('group')].filter((group) =>
      stringsAt(group, 'opts', 'groups').includes(String(id)),
    );
    const isNaming = (each: Entity): boolean =>
      each.sub_type === 'group' && stringsAt(each, 'sub_keys').includes(String(id));
    const naming = domain.select('subordination', 'naming the group', isNaming);
    if (including.length + naming.length === 0) return;
    if (body.force !== true) throw cannotApply('id', 'referenced');
    domain.need(
      'subordination',
      naming.map((each) => String(each.id)),
    );
    for (const group of including) also('group', String(group.id), (current) => withoutIncluded(current, String(id)));
    for (const each of naming) {
      also('subordination', String(each.id), (current) => ({
        ...current,
        sub_keys: stringsAt(current, 'sub_keys').filter((other) => other !== id),
      }));
    }
  },
});

const withoutIncluded = (group: Entity, id: string): Json => ({
  ...group,
  opts: { ...(group.opts as Json), groups: stringsAt(group, 'opts', 'groups').filter((other) => other !== id) },
});

const checkIncluded = (draft: Json, { domain }: SaveContext): void => {
  const id = String(draft.id);
  const seen = new Set<string>();
  const waiting = [...stringsAt(draft, 'opts', 'groups')];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (next === id) throw cannotApply('opts.groups', 'makes a circle');
    if (seen.has(next)) continue;
    seen.add(next);
    const group = domain.get('group', next);
    if (!group) throw cannotApply('opts.groups', 'unknown group', { value: next });
    waiting.push(...stringsAt(group, 'opts', 'groups'));
  }
};

/**
 * New members gain the roles of this group and of those that include it; new roles go to all members; an included
 * group's members gain this group's roles. Each is a way to more rights.
 */
const checkCoverage = (draft: Json, previous: Entity | undefined, { caller, domain }: SaveContext): void => {
  const added = (name: string): string[] => {
    const before = new Set(stringsAt(previous, 'opts', name));
    return stringsAt(draft, 'opts', name).filter((value) => !before.has(value));
  };
  requireCoverage(caller, domain, added('roles'), 'opts.roles');
  if (added('users').length + added('groups').length === 0) return;
  const above = stringsAt(draft, 'opts', 'roles').concat(rolesAbove(domain, String(draft.id)));
  requireCoverage(caller, domain, above, 'opts.users');
};
