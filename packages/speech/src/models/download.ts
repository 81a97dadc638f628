/**
 * Installs catalog models: queue, fetch, check, unpack, describe, probe, and one rename to `{id}@{revision}`. One
 * download per model whoever asks; it goes on when the asker leaves. Nothing half-installed is ever seen.
 */
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Clock, systemClock } from '@parley/kit/clock.ts';
import type { Log } from '@parley/kit/log.ts';
import { createSemaphore, type Semaphore } from '@parley/kit/semaphore.ts';
import type { DownloadProgress, DownloadState } from '../core/types.ts';
import type { CatalogModel, DebianSource, PinnedSource } from './catalog.ts';
import { DownloadFault } from './fault.ts';
import { applyMirrors, type FetchTimes, fetchFile, type ProxyEnv } from './fetch-file.ts';
import { folderNameOf, type Installed, isUsable, type UsableModel } from './installed.ts';
import { isLocked, takeLock } from './lock.ts';
import { type Manifest, ManifestFault } from './manifest.ts';
import { place, withStaging, writeManifest } from './place.ts';
import { unpackArchive } from './unpack.ts';

/** One installation under way; several askers may hold it. */
export type Download = {
  readonly id: string;
  readonly revision: string;
  /** True when the model was there already. */
  readonly wasInstalled: boolean;
  readonly latest: () => DownloadProgress;
  /** Calls back with each new state of things until the returned function is called. */
  subscribe(listener: (progress: DownloadProgress) => void): () => void;
  /** Resolves with the installed model; rejects with a DownloadFault. */
  readonly done: Promise<UsableModel>;
  cancel(): void;
};

export type Downloads = AsyncDisposable & {
  /**
   * Starts, or joins what is under way. Throws DownloadFault `download_refused` at once when downloads are off or the
   * licence rule forbids the model. An installed model resolves at once unless `force`.
   */
  start(entry: CatalogModel, options?: { readonly force?: boolean; readonly attempts?: number }): Download;
  /** Throws what `start` would throw, and starts nothing. */
  check(entry: CatalogModel, options?: { readonly force?: boolean }): void;
  running(): readonly Download[];
  /** Whether another process is fetching this model into the same folder. */
  isElsewhere(entry: CatalogModel): Promise<boolean>;
};

export type DownloadOptions = {
  readonly installed: Installed;
  readonly allowDownload: boolean;
  readonly strictLicense: boolean;
  readonly mirrors: Readonly<Record<string, string>>;
  readonly concurrency: number;
  readonly log: Log;
  readonly proxyEnv?: ProxyEnv;
  readonly times?: FetchTimes;
  readonly clock?: Clock;
  /** Loads the model in a child process and ends it; rejects when it cannot be used. */
  readonly probe?: (manifest: Manifest, dir: string, signal: AbortSignal) => Promise<void>;
  /** Makes the model folder out of Debian packages (debian.ts); the result has its `model.json`. */
  readonly buildDebian: (entry: CatalogModel & { source: DebianSource }, work: Work) => Promise<Manifest>;
};

/** What a builder of a model folder is given: an empty folder, a signal, a way to tell how far it is. */
type Work = {
  readonly dir: string;
  readonly signal: AbortSignal;
  readonly report: (state: DownloadState, downloaded?: number, total?: number) => void;
};

const DEFAULT_ATTEMPTS = 4;
const FIRST_PAUSE_MS = 500;

const isPinned = (entry: CatalogModel): entry is CatalogModel & { source: PinnedSource } => 'url' in entry.source;

/** An archive usually holds one folder; its content is the model. */
const contentOf = async (dir: string): Promise<string> => {
  const entries = await readdir(dir, { withFileTypes: true });
  const only = entries.length === 1 ? entries[0] : undefined;
  return only?.isDirectory() ? join(dir, only.name) : dir;
};

/** The digest in the name keeps the rest of another version's bytes from being gone on with. */
const partPathOf = (entry: CatalogModel & { source: PinnedSource }, { modelsDir }: Installed): string =>
  join(modelsDir, '.downloads', `${folderNameOf(entry.id, entry.revision)}.${entry.source.sha256.slice(0, 12)}.part`);
const lockPathOf = (part: string): string => `${part}.lock`;

const fetchPinned = async (
  entry: CatalogModel & { source: PinnedSource },
  partPath: string,
  attempts: number,
  work: Work,
  options: DownloadOptions,
): Promise<void> => {
  const { source } = entry;
  const url = applyMirrors(source.url, options.mirrors);
  const clock = options.clock ?? systemClock;
  for (let attempt = 1; ; attempt += 1) {
    try {
      await fetchFile({
        url,
        sha256: source.sha256,
        sizeBytes: source.size_bytes,
        path: partPath,
        signal: work.signal,
        ...(options.times && { times: options.times }),
        ...(options.proxyEnv && { proxyEnv: options.proxyEnv }),
        onProgress: (downloaded, total) => work.report('downloading', downloaded, total),
        onVerifying: () => work.report('verifying'),
      });
      return;
    } catch (error) {
      if (!(error instanceof DownloadFault) || !error.transient || attempt >= attempts) throw error;
      options.log.warn({ model: entry.id, attempt, problem: error.message }, 'download interrupted, going on');
      await clock.delay(FIRST_PAUSE_MS * 2 ** (attempt - 1), work.signal);
    }
  }
};

const buildPinned = async (
  entry: CatalogModel & { source: PinnedSource },
  attempts: number,
  work: Work,
  options: DownloadOptions,
): Promise<{ dir: string; manifest: Manifest }> => {
  const part = partPathOf(entry, options.installed);
  await mkdir(dirname(part), { recursive: true });
  await using _lock = await takeLock(lockPathOf(part));
  await fetchPinned(entry, part, attempts, work, options);
  work.report('unpacking');
  const { archive } = entry.source;
  const manifest: Manifest = { ...entry.manifest, source: { ...entry.source } };
  if (archive === 'none') {
    const target = join(work.dir, entry.manifest.files.model ?? 'model.onnx');
    await mkdir(dirname(target), { recursive: true });
    await rename(part, target);
    return { dir: work.dir, manifest };
  }
  // Bad or good, the whole file was checked and is not needed again.
  await unpackArchive(part, work.dir, archive, { signal: work.signal }).finally(() => rm(part, { force: true }));
  return { dir: await contentOf(work.dir), manifest };
};

const install = async (
  entry: CatalogModel,
  attempts: number,
  work: Work,
  options: DownloadOptions,
): Promise<UsableModel> => {
  const { installed } = options;
  // apt does not say how far it is.
  if (!isPinned(entry)) work.report('downloading', 0, 0);
  const built = isPinned(entry)
    ? await buildPinned(entry, attempts, work, options)
    : { dir: work.dir, manifest: await options.buildDebian(entry as CatalogModel & { source: DebianSource }, work) };
  work.report('installing');
  await writeManifest(built.dir, built.manifest);
  await options.probe?.(built.manifest, built.dir, work.signal).catch((cause: Error) => {
    work.signal.throwIfAborted();
    // The probe's own words are a whole sentence already.
    const words = cause instanceof ManifestFault ? cause.message : `The model does not load: ${cause.message}`;
    throw new DownloadFault('model_unusable', words, { cause });
  });
  work.signal.throwIfAborted();
  return place(built.dir, built.manifest, installed);
};

/** Begins an installation: it waits in the queue, and is over when `done` settles. */
const run = (entry: CatalogModel, attempts: number, places: Semaphore, options: DownloadOptions): Download => {
  const { installed, log } = options;
  const name = folderNameOf(entry.id, entry.revision);
  const controller = new AbortController();
  const listeners = new Set<(progress: DownloadProgress) => void>();
  let progress = toProgress(entry, 'queued', 0, 'url' in entry.source ? entry.source.size_bytes : 0);
  const report: Work['report'] = (state, downloaded = progress.downloaded, total = progress.total) => {
    progress = toProgress(entry, state, downloaded, total);
    for (const listener of listeners) listener(progress);
  };
  const startedAt = performance.now();
  const done = places.run(() =>
    withStaging(installed.modelsDir, name, (dir) =>
      install(entry, attempts, { dir, signal: controller.signal, report }, options),
    ),
  );
  done.then(
    () =>
      log.info(
        { model: entry.id, revision: entry.revision, ms: Math.round(performance.now() - startedAt) },
        'model installed',
      ),
    (error: Error) =>
      log.warn({ model: entry.id, code: (error as DownloadFault).code, problem: error.message }, 'download failed'),
  );
  const subscribe: Download['subscribe'] = (listener) => {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  };
  const cancel = (): void => controller.abort(new DownloadFault('canceled', 'The download was cancelled.'));
  return {
    id: entry.id,
    revision: entry.revision,
    wasInstalled: false,
    latest: () => progress,
    subscribe,
    done,
    cancel,
  };
};

export const createDownloads = (options: DownloadOptions): Downloads => {
  const { installed } = options;
  const running = new Map<string, Download>();
  const places = createSemaphore(options.concurrency);

  const refuse = (entry: CatalogModel): void => {
    if (!options.allowDownload) throw new DownloadFault('download_refused', 'Downloads are switched off.');
    if (options.strictLicense && entry.commercial_use !== 'yes') {
      throw new DownloadFault('download_refused', `The licence of ${entry.id} (${entry.license}) is not cleared.`);
    }
  };
  /** What is there already or on its way; refuses to begin what must not be. */
  const findCurrent = (entry: CatalogModel, force: boolean): Download | undefined => {
    const had = isPinned(entry) ? installed.find(entry.id, entry.revision) : installed.find(entry.id);
    if (!force && isUsable(had)) return settled(entry, had);
    const current = running.get(folderNameOf(entry.id, entry.revision));
    if (!current) refuse(entry);
    return current;
  };
  const start: Downloads['start'] = (entry, { force = false, attempts = DEFAULT_ATTEMPTS } = {}) => {
    const current = findCurrent(entry, force);
    if (current) return current;
    const download = run(entry, attempts, places, options);
    const name = folderNameOf(entry.id, entry.revision);
    running.set(name, download);
    const forget = (): void => void running.delete(name);
    download.done.then(forget, forget);
    return download;
  };
  return {
    start,
    check: (entry, { force = false } = {}) => void findCurrent(entry, force),
    running: () => [...running.values()],
    isElsewhere: async (entry) =>
      isPinned(entry) &&
      !running.has(folderNameOf(entry.id, entry.revision)) &&
      (await isLocked(lockPathOf(partPathOf(entry, installed)))),
    [Symbol.asyncDispose]: async () => {
      const left = [...running.values()];
      for (const download of left) download.cancel();
      await Promise.allSettled(left.map((download) => download.done));
    },
  };
};

const toProgress = (
  entry: CatalogModel,
  state: DownloadState,
  downloaded: number,
  total: number,
): DownloadProgress => ({
  model_id: entry.id,
  revision: entry.revision,
  state,
  downloaded,
  total,
  percent: total > 0 ? Math.min(99, Math.floor((downloaded / total) * 100)) : 0,
});

const settled = (entry: CatalogModel, model: UsableModel): Download => ({
  id: entry.id,
  revision: model.revision,
  wasInstalled: true,
  latest: () => ({ ...toProgress(entry, 'installing', model.sizeBytes, model.sizeBytes), revision: model.revision }),
  subscribe: () => () => undefined,
  done: Promise.resolve(model),
  cancel: () => undefined,
});
