/** In which folders files of callers may lie. */
import { isAbsolute, relative, resolve, sep } from 'node:path';

/** True when the folder is one of the roots or lies below one. */
export const isBelowRoot = (folder: string, roots: readonly string[]): boolean =>
  roots.some((root) => {
    const way = relative(resolve(root), resolve(root, folder));
    return way === '' || !(way === '..' || way.startsWith(`..${sep}`) || isAbsolute(way));
  });
