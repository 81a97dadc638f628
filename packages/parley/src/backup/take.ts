/**
 * Takes a backup of an installation that may be running. Order: files are gathered, then the rows' moment is fixed, then
 * files that came in between are gathered too; so a row can only lack its file when that was made and removed within the
 * moment between both. Then another moment is taken. The rows are copied last, as they were at that moment.
 */
import { randomUUID } from 'node:crypto';
import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { isPostgres } from '@parley/kit/store/open.ts';
import { openSnapshot } from '@parley/kit/store/open-snapshot.ts';
import type { StoreSnapshot } from '@parley/kit/store/snapshot.ts';
import { type ArchiveSource, refuseExisting, writeArchive } from './archive.ts';
import { readClasses, tellElsewhere } from './elsewhere.ts';
import { dataRule, gather, modelRule, spoolRule } from './gather.ts';
import { createManifest, type Manifest, type SavedStore } from './manifest.ts';
import { isInside, type OutsidePlace, type Places, type StorePlace } from './places.ts';
import { readReferences, readSeqs } from './references.ts';

/** Moments taken when files go away in between. */
const MAX_MOMENTS = 5;
/** A folder that another backup left, which was killed. */
const STALE_MS = 24 * 3_600_000;
const STAGING = '.backup-';

export type TakeOptions = {
  readonly withModels: boolean;
  readonly signal: AbortSignal;
};

/** Writes the archive, mode 0600. Rejects with an Error in words, and leaves nothing, when that cannot be. */
export const takeBackup = async (places: Places, archive: string, options: TakeOptions): Promise<Manifest> => {
  await refuseExisting(archive);
  await removeStale(places.dataDir);
  await using stack = new AsyncDisposableStack();
  const staging = join(places.dataDir, `${STAGING}${randomUUID()}`);
  await mkdir(staging, { mode: 0o700 });
  stack.defer(() => rm(staging, { recursive: true, force: true }));
  const moment = stack.use(await takeMoment(places, staging, options));
  const stores: SavedStore[] = [];
  for (const { name, snapshot } of moment.snapshots) {
    options.signal.throwIfAborted();
    const folder = join(staging, 'stores', name);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await snapshot.save(folder);
    const { driver, schema } = snapshot;
    stores.push({ name, driver, schema, seqs: await readSeqs(snapshot) });
  }
  options.signal.throwIfAborted();
  const sources = await sourcesOf(staging, places);
  return await writeArchive(archive, sources, (files) =>
    createManifest({
      taken_at: moment.takenAt,
      stores,
      with_models: options.withModels,
      elsewhere: [...places.elsewhere, ...moment.elsewhere],
      missing: moment.missing,
      files,
    }),
  );
};

const removeStale = async (dataDir: string): Promise<void> => {
  const names = await readdir(dataDir).catch(() => {
    throw new Error(`There is no data folder ${dataDir}.`);
  });
  for (const name of names.filter((each) => each.startsWith(STAGING))) {
    const found = await stat(join(dataDir, name)).catch(() => undefined);
    if (found && Date.now() - found.mtimeMs > STALE_MS) await rm(join(dataDir, name), { recursive: true, force: true });
  }
};

type Named = { readonly name: string; readonly snapshot: StoreSnapshot };
type Moment = AsyncDisposable & {
  readonly snapshots: readonly Named[];
  readonly takenAt: string;
  readonly missing: readonly string[];
  /** Sentences about what the rows keep outside. */
  readonly elsewhere: readonly string[];
};

const takeMoment = async (places: Places, staging: string, options: TakeOptions): Promise<Moment> => {
  for (let taken = 1; ; taken += 1) {
    options.signal.throwIfAborted();
    await gatherFiles(places, staging, options.withModels);
    await using stack = new AsyncDisposableStack();
    const snapshots: Named[] = [];
    for (const { name, place } of await presentOf(places.stores)) {
      snapshots.push({ name, snapshot: stack.use(await openSnapshot(place)) });
    }
    if (snapshots.length === 0) throw new Error(`${places.dataDir} holds no installation.`);
    const takenAt = new Date().toISOString();
    await gatherFiles(places, staging, options.withModels);
    const { missing, elsewhere } = await holdAgainst(snapshots, places, staging);
    if (missing.length > 0 && taken < MAX_MOMENTS) continue;
    const owned = stack.move();
    return { snapshots, takenAt, missing, elsewhere, [Symbol.asyncDispose]: () => owned.disposeAsync() };
  }
};

/** A service that never ran has no file. */
const presentOf = async (stores: readonly StorePlace[]): Promise<StorePlace[]> => {
  const found = await Promise.all(
    stores.map(async (store) => isPostgres(store.place) || (await stat(store.place).catch(() => undefined))),
  );
  return stores.filter((_, index) => found[index]);
};

const gatherFiles = async (places: Places, staging: string, withModels: boolean): Promise<void> => {
  const { dataDir, modelsDir, outside } = places;
  const modelsBelow = isInside(dataDir, modelsDir) ? relative(dataDir, modelsDir) : undefined;
  await gather(dataDir, join(staging, 'data'), dataRule(modelsBelow, withModels));
  for (const place of outside) await gatherOutside(place, staging, withModels);
};

const gatherOutside = async ({ name, path }: OutsidePlace, staging: string, withModels: boolean): Promise<void> => {
  const to = join(staging, name);
  if (name === 'spool') await gather(path, to, spoolRule);
  else if (name === 'models') await gather(path, to, modelRule(withModels));
  // One file, whatever lies beside it.
  else await gather(dirname(path), to, (each) => (join(dirname(path), each) === path ? 'copy' : 'skip'));
};

/** What the rows name and was not gathered: files that are gone, and what lies elsewhere. */
const holdAgainst = async (snapshots: readonly Named[], places: Places, staging: string) => {
  const missing: string[] = [];
  const elsewhere: string[] = [];
  const look = async (folder: string, path: string): Promise<void> => {
    if (!(await stat(join(staging, folder, path)).catch(() => undefined))) missing.push(`${folder}/${path}`);
  };
  for (const { snapshot } of snapshots) {
    const { uploads, attached } = await readReferences(snapshot);
    const spool = spoolFolder(places);
    if (spool !== undefined) for (const job of uploads) await look(spool, job);
    const classes = await readClasses(snapshot, places.dataDir);
    const own = new Set(classes.flatMap((each) => (each.hasOwnFiles ? [`${each.domain}/${each.id}`] : [])));
    for (const { domain, classId, path } of attached) {
      if (own.has(`${domain}/${classId}`)) await look('data/files', path);
    }
    elsewhere.push(...tellElsewhere(classes, attached));
  }
  return { missing, elsewhere };
};

/** Where uploads lie in the archive. */
const spoolFolder = ({ spoolDir, dataDir }: Places): string | undefined => {
  if (spoolDir === undefined) return undefined;
  return isInside(dataDir, spoolDir) ? `data/${relative(dataDir, spoolDir)}` : 'spool';
};

const sourcesOf = async (staging: string, { settingsFile }: Places): Promise<ArchiveSource[]> => {
  const entries = await readdir(staging, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .map((from) => ({ from, path: relative(staging, from) }));
  const settings = settingsFile === undefined ? [] : [{ from: settingsFile, path: 'parley.yaml' }];
  return [...files.sort((a, b) => (a.path < b.path ? -1 : 1)), ...settings];
};
