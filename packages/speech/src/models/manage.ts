/**
 * What administrators do with models: download, load, unload, pin, reload. Each goes on when whoever asked has left;
 * only the end of the service stops it.
 */
import { statfs } from 'node:fs/promises';
import { type Clock, systemClock } from '@parley/kit/clock.ts';
import { Problem } from '@parley/kit/problem.ts';
import { problem } from '../core/codes.ts';
import type { ModelDownload, ModelManagement, ModelName } from '../core/speech.ts';
import type { DownloadEnd, ModelInfo } from '../core/types.ts';
import { loadFaultOf } from '../recognizer/load.ts';
import type { Catalog, CatalogModel } from './catalog.ts';
import type { Choices } from './choices.ts';
import type { Download, Downloads } from './download.ts';
import { DownloadFault } from './fault.ts';
import { folderNameOf, type Installed, type InstalledModel, isUsable, type UsableModel } from './installed.ts';
import type { Pool } from './pool.ts';

export type ManageParts = {
  readonly installed: Installed;
  readonly catalog: Catalog;
  readonly pool: Pool;
  readonly downloads: Downloads;
  readonly choices: Choices;
  /** The installed model a name means: its serving revision when it names none. Problem model_not_found. */
  readonly find: (name: ModelName) => InstalledModel;
  readonly recordOf: (model: InstalledModel) => ModelInfo;
  /** How long unloading waits for those who still use the model, ms. */
  readonly acquireTimeoutMs: number;
  /** Ends with the service. */
  readonly signal: AbortSignal;
  readonly clock?: Clock;
};

/** Seconds after which a full disk may have room again. */
const STORAGE_RETRY_SEC = 30;

type Manage = ManageParts & { readonly reloading: Set<string> };

const nameOf = ({ id, revision }: ModelName): string => (revision === undefined ? id : folderNameOf(id, revision));

const notInstalled = (name: ModelName): Problem =>
  problem('model_not_found', `The model ${JSON.stringify(nameOf(name).slice(0, 130))} is not installed.`, {
    param: 'model',
  });

/** Throws for what no engine can hold. */
const requireLoadable = (model: InstalledModel): UsableModel => {
  if (!isUsable(model)) {
    throw problem('model_unavailable', `Model ${model.id} cannot be used: ${model.problem}.`, { param: 'model' });
  }
  if (model.manifest.kind !== 'asr') {
    const words = `Model ${model.id} is a ${model.manifest.kind} model: it is used where it is needed, not loaded.`;
    throw problem('capability_unavailable', words, { param: 'model' });
  }
  return model;
};

/** Tells an administrator what a request is not told: why the model does not load. */
const withReason = async <T>(id: string, work: Promise<T>): Promise<T> => {
  try {
    return await work;
  } catch (thrown) {
    const fault = loadFaultOf(thrown);
    if (!fault) throw thrown;
    throw problem('model_unavailable', `Model ${id} cannot be loaded: ${fault.reason}.`, {
      param: 'model',
      cause: thrown,
    });
  }
};

const refuseWhileReloading = ({ reloading }: Manage, id: string): void => {
  if (reloading.has(id)) throw problem('model_busy', `Model ${id} is being reloaded already.`);
};

const load = async (manage: Manage, name: ModelName): Promise<ModelInfo> => {
  await manage.installed.refresh();
  const model = requireLoadable(manage.find(name));
  refuseWhileReloading(manage, model.id);
  await withReason(model.id, manage.pool.load(model, manage.signal));
  return manage.recordOf(model);
};

const pin = async (manage: Manage, name: ModelName, pinned: boolean | undefined): Promise<ModelInfo> => {
  await manage.installed.refresh();
  const model = manage.find(name);
  if (pinned !== false) requireLoadable(model);
  await withReason(model.id, manage.pool.pin(model, pinned, manage.signal));
  return manage.recordOf(model);
};

const unload = async (
  manage: Manage,
  name: ModelName,
  force: boolean,
): Promise<{ model: ModelInfo; drained: boolean }> => {
  const { pool, signal, clock = systemClock } = manage;
  await manage.installed.refresh();
  const model = manage.find(name);
  const revisions = name.revision === undefined ? pool.residentRevisions(name.id) : [name.revision];
  const refs = revisions.map((revision) => ({ id: model.id, revision }));
  for (const ref of refs) {
    const { state } = pool.residence(ref);
    // All or none: the first must not be gone when the second turns out to be pinned.
    if (!force && state?.name === 'resident' && state.pinned) {
      throw problem('model_pinned', `Model ${folderNameOf(ref.id, ref.revision)} is pinned.`);
    }
  }
  const gone = Promise.all(refs.map((ref) => pool.unload(ref, { force, signal }))).then(() => true);
  const over = new AbortController();
  const late = clock.delay(manage.acquireTimeoutMs, AbortSignal.any([over.signal, signal])).then(() => false);
  // Whichever comes second has nobody to tell.
  gone.catch(() => undefined);
  late.catch(() => undefined);
  const drained = await Promise.race([gone, late]).finally(() => over.abort());
  const shown = manage.installed.find(model.id, revisions.length === 1 ? revisions[0] : model.revision) ?? model;
  return { model: manage.recordOf(shown), drained };
};

/** What the disk refuses is no fault of ours. */
const remembered = async <T>(work: Promise<T>): Promise<T> => {
  try {
    return await work;
  } catch (cause) {
    throw problem('storage_unavailable', 'The choice of the revision cannot be stored now.', {
      retryAfterSec: STORAGE_RETRY_SEC,
      cause,
    });
  }
};

const reload = async (manage: Manage, { id, revision }: ModelName): Promise<ModelInfo> => {
  const { installed, pool, choices, signal } = manage;
  await installed.refresh();
  const found = installed.find(id, revision);
  if (!found) throw notInstalled({ id, revision });
  const next = requireLoadable(found);
  const serving = choices.serving(id);
  const resident = pool.residentRevisions(id);
  const current = serving !== undefined && resident.includes(serving) ? serving : pool.residentRevision(id);
  // Before anything is swapped: what cannot be remembered must not serve.
  const choice = await remembered(choices.stageServing(id, next.revision));
  try {
    await withReason(id, pool.swap(current === undefined ? undefined : { id, revision: current }, next, signal));
  } catch (thrown) {
    await choice.drop();
    throw thrown;
  }
  await remembered(choice.keep());
  return manage.recordOf(next);
};

const reloadAlone = async (manage: Manage, name: ModelName): Promise<ModelInfo> => {
  refuseWhileReloading(manage, name.id);
  manage.reloading.add(name.id);
  try {
    return await reload(manage, name);
  } finally {
    manage.reloading.delete(name.id);
  }
};

const toEnd = (thrown: unknown): DownloadEnd => {
  const isOurs = thrown instanceof DownloadFault || thrown instanceof Problem;
  return isOurs
    ? { ok: false, code: thrown.code, message: thrown.message }
    : { ok: false, code: 'internal', message: 'The installation failed; the log has the cause.' };
};

/** After a download: files that were replaced under a loaded model need a fresh instance of it. */
const loadAfter = async (manage: Manage, model: UsableModel, isFresh: boolean): Promise<void> => {
  const { pool, signal } = manage;
  requireLoadable(model);
  const isResident = pool.residence(model).state?.name === 'resident';
  await withReason(model.id, isFresh && isResident ? pool.swap(model, model, signal) : pool.load(model, signal));
};

const follow = (manage: Manage, download: Download, loads: boolean): ModelDownload => {
  const finish = async (): Promise<DownloadEnd> => {
    const model = await download.done;
    if (loads) await loadAfter(manage, model, !download.wasInstalled);
    return { ok: true, model: manage.recordOf(model) };
  };
  const { wasInstalled, latest, subscribe } = download;
  return { wasInstalled, latest, subscribe, ended: finish().catch(toEnd) };
};

/** A model that is here but in no catalog: there is nothing to fetch. */
const asDownload = (model: UsableModel): Download => ({
  id: model.id,
  revision: model.revision,
  wasInstalled: true,
  latest: () => ({
    model_id: model.id,
    revision: model.revision,
    state: 'installing',
    downloaded: model.sizeBytes,
    total: model.sizeBytes,
    percent: 99,
  }),
  subscribe: () => () => undefined,
  done: Promise.resolve(model),
  cancel: () => undefined,
});

/** Refuses what could only end badly, before anything is begun. */
const checkStart = async (manage: Manage, entry: CatalogModel, force: boolean): Promise<void> => {
  const { downloads, pool, installed } = manage;
  const name = folderNameOf(entry.id, entry.revision);
  if (downloads.running().some((one) => folderNameOf(one.id, one.revision) === name)) return;
  if (!force && isUsable(installed.find(entry.id, entry.revision))) return;
  if (manage.reloading.has(entry.id) || pool.residence(entry).state?.name === 'loading') {
    throw problem('model_busy', `Model ${entry.id} is being loaded.`);
  }
  if (await downloads.isElsewhere(entry)) {
    throw problem('model_busy', `Another process is downloading ${entry.id}.`);
  }
  const sizeBytes = 'url' in entry.source ? entry.source.size_bytes : 0;
  const { bavail, bsize } = await statfs(installed.modelsDir);
  if (sizeBytes > bavail * bsize) {
    throw problem('storage_unavailable', `There is no room on the disk for ${entry.id}.`, { retryAfterSec: 60 });
  }
};

const start = async (manage: Manage, name: ModelName, force: boolean): Promise<Download> => {
  const { catalog, installed, downloads } = manage;
  const entry = catalog.find(name.id, name.revision);
  if (!entry) {
    const had = installed.find(name.id, name.revision);
    if (!force && isUsable(had)) return asDownload(had);
    const why = catalog.problem === undefined ? '' : ` ${catalog.problem}`;
    throw problem('model_not_found', `The catalog has no ${JSON.stringify(nameOf(name).slice(0, 130))}.${why}`, {
      param: 'model',
    });
  }
  try {
    downloads.check(entry, { force });
    await checkStart(manage, entry, force);
    return downloads.start(entry, { force });
  } catch (thrown) {
    if (thrown instanceof DownloadFault && thrown.code === 'download_refused') {
      throw problem('download_refused', thrown.message, { cause: thrown });
    }
    throw thrown;
  }
};

/** The operations over the parts behind them. */
export const createManagement = (parts: ManageParts): ModelManagement => {
  const manage: Manage = { ...parts, reloading: new Set() };
  return {
    download: async (name, options) => {
      await parts.installed.refresh();
      return follow(manage, await start(manage, name, options.force), options.load);
    },
    load: (name) => load(manage, name),
    unload: (name, { force }) => unload(manage, name, force),
    pin: (name, pinned) => pin(manage, name, pinned),
    reload: (name) => reloadAlone(manage, name),
  };
};
