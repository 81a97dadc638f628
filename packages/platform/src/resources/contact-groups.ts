/** `addressbook/contactgroups`: groups of contacts. The contacts' side is kept equal in the same commit. */
import { cannotApply } from '../codes.ts';
import { stringsAt } from '../domains/rights.ts';
import type { Entity } from '../domains/types.ts';
import { integer, key, list, opts, text } from '../rest/field.ts';
import { isObject, type Json } from '../rest/json.ts';
import { defineResource, type SaveContext } from '../rest/resource.ts';
import { membersOf } from './contacts.ts';

export const contactGroups = defineResource({
  path: 'addressbook/contactgroups',
  kind: 'contactgroup',
  isGrowing: true,
  summary: 'groups of contacts',
  unique: ['code'],
  lookup: ['code'],
  list: ['id', 'code', 'name', 'opts.title', 'opts.comment', 'ext.lwt', 'ext.ct'],
  fields: {
    code: key({ required: true }),
    name: text({ maxLength: 128, fallback: '' }),
    opts: opts({ contacts: list(integer({ min: 1 }), { isUnique: true, maxItems: 100_000 }) }),
  },
  isExclusive: true,
  beforeSave: (draft, previous, context) => {
    const given = isObject(draft.opts) ? draft.opts : {};
    draft.opts = { title: '', comment: '', contacts: [], ...given };
    draft.name ||= draft.code;
    const oldCode = previous === undefined ? undefined : String(previous.code);
    changeContacts(membersOf(previous), membersOf(draft), oldCode, String(draft.code), context);
  },
  beforeRemove: (previous, context) => {
    changeContacts(membersOf(previous), [], String(previous.code), String(previous.code), context);
  },
});

const changeContacts = (
  before: readonly number[],
  after: readonly number[],
  oldCode: string | undefined,
  code: string,
  { domain, also }: SaveContext,
): void => {
  domain.needBy('contact', 'autokey', [...before, ...after].map(String));
  const staying = new Set(after);
  const known = new Set(before);
  for (const autokey of after) {
    if (known.has(autokey) && oldCode === code) continue;
    const [id] = domain.find('contact', 'autokey', String(autokey));
    if (id === undefined) throw cannotApply('opts.contacts', 'unknown contact', { value: autokey });
    also('contact', id, (contact) => withGroups(contact, [...without(contact, oldCode), code]));
  }
  for (const autokey of before) {
    if (staying.has(autokey)) continue;
    const [id] = domain.find('contact', 'autokey', String(autokey));
    if (id !== undefined) also('contact', id, (contact) => withGroups(contact, without(contact, oldCode)));
  }
};

const without = (contact: Entity, code: string | undefined): string[] =>
  stringsAt(contact, 'opts', 'groups').filter((each) => each !== code);

const withGroups = (contact: Entity, groups: readonly string[]): Json => ({
  ...contact,
  opts: { ...(contact.opts as Json), groups: [...new Set(groups)] },
});
