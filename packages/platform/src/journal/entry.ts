/** Journal entries out of what was and what is: the command, the names of changed fields, the object as people may see it. */
import type { JournalEntry } from '@parley/kit/store/store.ts';
import type { Entity } from '../domains/types.ts';

type Side = {
  /** As stored. */
  readonly stored: Entity;
  /** As callers may see it: secrets masked. */
  readonly shown: Entity;
};

export type EntryParts = {
  readonly objtype: string;
  readonly objid: string;
  /** Value of the field that names the entity to people. */
  readonly objkey: string | null;
  readonly dtutc: string;
  readonly modifierid: string;
  readonly modifiername: string;
  readonly addr: string | null;
};

/** One of both sides is there. */
export const createEntry = (parts: EntryParts, before: Side | undefined, after: Side | undefined): JournalEntry => ({
  ...parts,
  cmdtype: after === undefined ? 'delete' : before === undefined ? 'create' : 'update',
  fields: before && after ? changedFields(before, after).join() : null,
  obj: (after ?? before!).shown as { [key: string]: unknown },
});

const isObject = (value: unknown): value is Entity =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Names in flat form (`opts.roles`) of what differs and may be seen. The stamp of the write itself is no change. */
const changedFields = (before: Side, after: Side): string[] => {
  const names: string[] = [];
  const compare = (left: unknown, right: unknown, name: string): void => {
    if (left === right) return;
    if (isObject(left) && isObject(right)) {
      for (const key of new Set([...Object.keys(left), ...Object.keys(right)])) {
        compare(left[key], right[key], name === '' ? key : `${name}.${key}`);
      }
    } else if (JSON.stringify(left) !== JSON.stringify(right)) names.push(name);
  };
  compare(before.stored, after.stored, '');
  const isShown = (name: string): boolean => {
    const head = name.split('.', 1)[0]!;
    return Object.hasOwn(before.shown, head) || Object.hasOwn(after.shown, head);
  };
  return names.filter((name) => name !== 'ext.lwt' && isShown(name)).sort();
};
