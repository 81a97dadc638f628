/** `domain/subordinations`: who is above whom. Served through their caches; not transitive. */
import { cannotApply } from '../codes.ts';
import { stringsAt } from '../domains/rights.ts';
import type { Domain } from '../domains/types.ts';
import { key, list, word } from '../rest/field.ts';
import { defineResource } from '../rest/resource.ts';

const TOP_TYPES = ['user', 'role'];
const SUB_TYPES = ['user', 'group', 'role'];

export const subordinations = defineResource({
  path: 'domain/subordinations',
  kind: 'subordination',
  isGrowing: true,
  summary: 'who is above whom',
  compoundKeys: [
    {
      name: 'top_key',
      isUnique: true,
      valueOf: ({ top_type, top_key, sub_type }) => JSON.stringify([top_type, top_key, sub_type]),
    },
  ],
  list: ['id', 'top_type', 'top_key', 'sub_type', 'sub_keys', 'opts.title', 'opts.comment', 'ext.lwt', 'ext.ct'],
  fields: {
    top_type: word({ required: true, words: TOP_TYPES }),
    top_key: key({ required: true, description: 'A user id or the name of a role.' }),
    sub_type: word({ required: true, words: SUB_TYPES }),
    sub_keys: list(key({ required: true }), { required: true, isUnique: true, maxItems: 100_000 }),
  },
  beforeSave: (draft, _previous, { domain }) => {
    const topType = String(draft.top_type);
    const subType = String(draft.sub_type);
    if (!TOP_TYPES.includes(topType)) throw cannotApply('top_type', `must be one of ${TOP_TYPES.join(', ')}`);
    if (!SUB_TYPES.includes(subType)) throw cannotApply('sub_type', `must be one of ${SUB_TYPES.join(', ')}`);
    if (subType === 'user') domain.need('user', stringsAt(draft, 'sub_keys'));
    if (!isThere(domain, topType, String(draft.top_key))) throw cannotApply('top_key', `unknown ${topType}`);
    for (const sub of stringsAt(draft, 'sub_keys')) {
      if (!isThere(domain, subType, sub)) throw cannotApply('sub_keys', `unknown ${subType}`, { value: sub });
    }
  },
});

const isThere = (domain: Domain, type: string, name: string): boolean => {
  if (type === 'role') return domain.roleByName(name) !== undefined;
  return domain.get(type === 'user' ? 'user' : 'group', name) !== undefined;
};
