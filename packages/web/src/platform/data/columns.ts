/** Which fields of a collection can be columns, and which of them are shown as long as nobody chooses. Pure. */
import type { Collection } from './collections.ts';
import { type Leaf, leavesOf } from './schema.ts';

/** Shown first where there are such fields. */
const TELLING = [
  'login',
  'code',
  'name',
  'key',
  'classname',
  'displayname',
  'instance',
  'type',
  'number',
  'description',
];
const MAX_DEFAULT = 5;
const CHANGED = 'ext.lwt';
const NIL_LIKE = new Set(['id', 'parent_id', 'projectid', 'photo']);

/** Fields that can be shown, found and sorted by. */
export const columnsOf = ({ row }: Collection): Leaf[] =>
  leavesOf(row).filter(({ schema, isRest }) => !schema.writeOnly && !isRest);

/** Paths of the columns to begin with. */
export const defaultColumnsOf = (leaves: readonly Leaf[]): string[] => {
  const top = leaves.filter(({ path, kind }) => !path.includes('.') && kind !== 'json' && !NIL_LIKE.has(path));
  const rank = (path: string): number => (TELLING.includes(path) ? TELLING.indexOf(path) : TELLING.length);
  const chosen = top
    .map(({ path }) => path)
    .sort((left, right) => rank(left) - rank(right))
    .slice(0, MAX_DEFAULT);
  const more = ['opts.title', 'opts.roles', CHANGED].filter((path) => leaves.some((leaf) => leaf.path === path));
  const all = [...chosen, ...more].filter((path) => path !== 'opts.title' || chosen.length < MAX_DEFAULT);
  return all.length > 1 ? all : leaves.slice(0, MAX_DEFAULT).map(({ path }) => path);
};
