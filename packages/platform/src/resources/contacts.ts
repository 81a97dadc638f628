/**
 * `addressbook/contacts`: people and numbers. Each gets a number of its own that is never given again; membership in
 * groups is kept equal on the group's side in the same commit.
 */
import { cannotApply } from '../codes.ts';
import { stringsAt } from '../domains/rights.ts';
import type { Domain, Entity } from '../domains/types.ts';
import { type Field, integer, key, list, opts, text } from '../rest/field.ts';
import { isObject, isSame, type Json } from '../rest/json.ts';
import { defineResource, type SaveContext } from '../rest/resource.ts';

const TEXTS = [
  'department',
  'jobtitle',
  'number',
  'numlocal',
  'numpublic',
  'mobile',
  'mobile2',
  'mobile3',
  'roomnum',
  'roomnum2',
  'roomnum3',
  'email',
  'email2',
  'email3',
];
const EMAILS = ['email', 'email2', 'email3'];
const EMAIL = /^[^\s@]+@[^\s@]+$/;
/** A photo may be a data URL. */
const MAX_PHOTO_LENGTH = 524_288;

const texts: Record<string, Field> = Object.fromEntries(TEXTS.map((name) => [name, text({ fallback: '' })]));

export const contacts = defineResource({
  path: 'addressbook/contacts',
  kind: 'contact',
  isGrowing: true,
  summary: 'contacts of the address book',
  unique: ['autokey'],
  lookup: ['autokey', 'number'],
  list: [
    'id',
    'autokey',
    'displayname',
    'department',
    'jobtitle',
    'number',
    'email',
    'opts.groups',
    'opts.priority',
    'ext.lwt',
    'ext.ct',
  ],
  counters: ['autokey'],
  fields: {
    autokey: integer({ generated: true, description: 'Assigned by the platform, never given twice.' }),
    displayname: text({ required: true }),
    ...texts,
    photo: text({ fallback: '', maxLength: MAX_PHOTO_LENGTH }),
    opts: opts({ groups: list(key(), { isUnique: true, maxItems: 1000 }), priority: integer({ nullable: true }) }),
  },
  // Membership is written on the groups' side too.
  isExclusive: (mode, body, held) => mode === 'remove' || mode === 'replace' || changesMembership(body, held),
  beforeSave: (draft, previous, context) => {
    const given = isObject(draft.opts) ? draft.opts : {};
    draft.opts = { title: '', comment: '', groups: [], priority: null, ...given };
    for (const name of EMAILS) {
      if (draft[name] && !EMAIL.test(String(draft[name]))) throw cannotApply(name, 'is no e-mail address');
    }
    const codes = stringsAt(draft, 'opts', 'groups');
    context.domain.needBy('contactgroup', 'code', codes);
    for (const code of codes) groupIdOf(context.domain, code);
    draft.autokey = previous ? previous.autokey : context.nextNumber('autokey');
    keepMembership(Number(draft.autokey), stringsAt(previous, 'opts', 'groups'), codes, context);
  },
  beforeRemove: (previous, context) => {
    keepMembership(Number(previous.autokey), stringsAt(previous, 'opts', 'groups'), [], context);
  },
});

const changesMembership = ({ opts: given }: Json, held: Entity | undefined): boolean => {
  if (given === undefined || (isObject(given) && given.groups === undefined)) return false;
  return !isSame(stringsAt({ given }, 'given', 'groups'), stringsAt(held, 'opts', 'groups'));
};

const groupIdOf = (domain: Domain, code: string): string => {
  const [id] = domain.find('contactgroup', 'code', code);
  // Looked at, so that it must still be there, under this code, when the contact is written.
  if (id === undefined || !domain.get('contactgroup', id))
    throw cannotApply('opts.groups', 'unknown group', { value: code });
  return id;
};

/** The group's side of what the contact says. */
const keepMembership = (
  autokey: number,
  before: readonly string[],
  after: readonly string[],
  { domain, also }: SaveContext,
): void => {
  for (const code of after.filter((each) => !before.includes(each))) {
    also('contactgroup', groupIdOf(domain, code), (group) => withMembers(group, [...membersOf(group), autokey]));
  }
  for (const code of before.filter((each) => !after.includes(each))) {
    const [id] = domain.find('contactgroup', 'code', code);
    if (id === undefined) continue;
    also('contactgroup', id, (group) =>
      withMembers(
        group,
        membersOf(group).filter((member) => member !== autokey),
      ),
    );
  }
};

/** Autokeys of a group's contacts. */
export const membersOf = (group: Entity | undefined): number[] => {
  const listed = isObject(group?.opts) ? group.opts.contacts : undefined;
  return Array.isArray(listed) ? listed.filter((member): member is number => typeof member === 'number') : [];
};

const withMembers = (group: Entity, members: readonly number[]): Json => ({
  ...group,
  opts: { ...(group.opts as Json), contacts: [...new Set(members)].sort((left, right) => left - right) },
});
