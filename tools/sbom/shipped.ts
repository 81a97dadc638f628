/** What of a lock file ships: everything that is not for developers only, for whatever system. */
import type { Lock, LockEntry } from './shape.ts';

const nameOf = (path: string, entry: LockEntry): string =>
  entry.name ?? path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);

/** `name@version` of every package from elsewhere that ships. */
export const shippedIn = ({ packages }: Lock): ReadonlySet<string> =>
  new Set(
    Object.entries(packages)
      .filter(([path, { dev, link }]) => path.startsWith('node_modules/') && !dev && !link)
      .map(([path, entry]) => `${nameOf(path, entry)}@${entry.version}`),
  );

/** The same with our own packages, which a bill names as parts that depend on others. */
export const refsOfShipped = (lock: Lock): ReadonlySet<string> => {
  const own = Object.entries(lock.packages).filter(([path]) => path.startsWith('packages/'));
  return new Set([...shippedIn(lock), ...own.map(([path, entry]) => `${entry.name ?? path}@${entry.version}`)]);
};
