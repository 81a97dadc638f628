/**
 * Files that no row names: a process that dies between storing a file and committing the row that names it leaves one.
 * They are removed once they are so old that no request can still be about to name them. Rows of items have no journal
 * and no older versions, so that the row as it is now is all that can name a file.
 */

import type { Clock } from '@parley/kit/clock.ts';
import type { Log } from '@parley/kit/log.ts';
import type { LoadedDomains } from '../domains/domains.ts';
import type { Domain } from '../domains/types.ts';
import { isObject } from '../rest/json.ts';
import { type Files, MIN_ORPHAN_AGE_MS } from './files.ts';
import type { Model } from './model.ts';
import type { ModelClass } from './model-class.ts';
import type { Property } from './properties.ts';

export type OrphanParts = {
  readonly model: Pick<Model, 'classes' | 'source' | 'files' | 'filesOf'>;
  readonly domains: Pick<LoadedDomains, 'names' | 'loaded'>;
  readonly clock: Clock;
  readonly log: Log;
};

/** Removes what no row names in every loaded domain; a class whose storage is away waits for the next time. */
export const sweepOrphans = async (parts: OrphanParts, signal: AbortSignal): Promise<void> => {
  const before = parts.clock.now() - MIN_ORPHAN_AGE_MS;
  for (const name of parts.domains.names()) {
    const domain = parts.domains.loaded(name);
    if (!domain) continue;
    for (const each of sweepsOf(parts, domain, before, signal)) {
      if (signal.aborted) return;
      await runOne(parts.log, name, each, signal);
    }
  }
};

type Sweep = { readonly classId: string; sweep(): Promise<number> };

const runOne = async (log: Log, domain: string, { classId, sweep }: Sweep, signal: AbortSignal): Promise<void> => {
  try {
    const count = await sweep();
    if (count > 0) log.info({ domain, class: classId, count }, 'files that no row names were removed');
  } catch (thrown) {
    if (!signal.aborted) log.warn({ err: thrown, domain, class: classId }, 'files were not swept');
  }
};

const sweepsOf = ({ model }: OrphanParts, domain: Domain, before: number, signal: AbortSignal): Sweep[] => {
  const scopeOf = (classId: string) => ({ domain: domain.name, classId });
  const classes = [...domain.all('class')].map((entity) => model.classes.of(domain, entity));
  const holders = classes.filter(({ mode, properties }) => mode !== 'abstract' && properties.some(isFile));
  return [
    { classId: 'user', sweep: () => model.files.sweep(scopeOf('user'), before, isOldPicture(domain), signal) },
    ...holders.map((of) => ({
      classId: of.id,
      sweep: async () =>
        model.filesOf(domain, of).sweep(scopeOf(of.id), before, await orphansAmong(model, domain, of), signal),
    })),
  ];
};

const isFile = ({ data_type }: Property): boolean => data_type === 'attachment';

type IsOrphan = Parameters<Files['sweep']>[2];

/**
 * A file is stored for an item that is there, and goes with it. So one whose item is not there is no orphan but a sign
 * that the rows are elsewhere: the class was given another storage, or the database is not the one of these files.
 */
const orphansAmong = async (model: OrphanParts['model'], domain: Domain, of: ModelClass): Promise<IsOrphan> => {
  const rows = await model.source.open(domain, of);
  return async ({ id, property }, md5) => {
    const row = await rows.get(id);
    const held = row?.data[property];
    return row !== undefined && !(isObject(held) && held.md5 === md5);
  };
};

const isOldPicture =
  (domain: Domain): IsOrphan =>
  async ({ id }, md5) => {
    const user = await domain.read((rows) => rows.get('user', id));
    const avatar = isObject(user?.opts) ? user.opts.avatar : undefined;
    return user !== undefined && !(isObject(avatar) && avatar.hasha === md5);
  };
