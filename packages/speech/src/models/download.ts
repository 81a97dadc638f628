/**
 * Installs catalog models: queue, fetch, check, unpack, describe, probe, and one rename to `{id}@{revision}`. One
 * download per model whoever asks; it goes on when the asker leaves. Nothing half-installed is ever seen.
 */
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock, systemClock } from '@parley/kit/clock.ts';
import type { Log } from '@parley/kit/log.ts';
import type { CatalogModel, DebianSource, PinnedSource } from './catalog.ts';
import { DownloadFault } from './fault.ts';
import { applyMirrors, type FetchTimes, fetchFile, type ProxyEnv } from './fetch-file.ts';
import { createGate } from './gate.ts';
import { folderNameOf, type Installed, isUsable, type UsableModel } from './installed.ts';
import { takeLock } from './lock.ts';
import type { Manifest } from './manifest.ts';
import { place, withStaging, writeManifest } from './place.ts';
import { unpackArchive } from './unpack.ts';

type DownloadState = 'queued' | 'downloading' | 'verifying' | 'unpacking' | 'installing';
/** Field names are the wire's (docs/speech-api.md, download events). */
export type DownloadProgress = {
  readonly model_id: string;
  readonly revision: string;
  readonly state: DownloadState;
  /** Bytes. */
  readonly downloaded: number;
  /** 0 while unknown. */
  readonly total: number;
  readonly percent: number;
};

/** One installation under way; several askers may hold it. */
export type Download = {
  readonly id: string;
  readonly revision: string;
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
  running(): readonly Download[];
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
  const partDir = join(options.installed.modelsDir, '.downloads');
  await mkdir(partDir, { recursive: true });
  // The digest in the name keeps the rest of another version's bytes from being gone on with.
  const part = join(partDir, `${folderNameOf(entry.id, entry.revision)}.${entry.source.sha256.slice(0, 12)}.part`);
  await using _lock = await takeLock(`${part}.lock`);
  await fetchPinned(entry, part, attempts, work, options);
  work.report('unpacking');
  const { archive } = entry.source;
  const manifest: Manifest = { ...entry.manifest, source: { ...entry.source } };
  if (archive === 'none') {
    await rename(part, join(work.dir, entry.manifest.files.model ?? 'model.onnx'));
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
    throw new DownloadFault('model_unusable', `The model does not load: ${cause.message}`, { cause });
  });
  work.signal.throwIfAborted();
  return place(built.dir, built.manifest, installed);
};

export const createDownloads = (options: DownloadOptions): Downloads => {
  const { installed, log } = options;
  const running = new Map<string, Download>();
  const gate = createGate(options.concurrency);

  const refuse = (entry: CatalogModel): void => {
    if (!options.allowDownload) throw new DownloadFault('download_refused', 'Downloads are switched off.');
    if (options.strictLicense && entry.commercial_use !== 'yes') {
      throw new DownloadFault('download_refused', `The licence of ${entry.id} (${entry.license}) is not cleared.`);
    }
  };
  const run = (entry: CatalogModel, attempts: number): Download => {
    const name = folderNameOf(entry.id, entry.revision);
    const controller = new AbortController();
    const listeners = new Set<(progress: DownloadProgress) => void>();
    let progress = toProgress(entry, 'queued', 0, 'url' in entry.source ? entry.source.size_bytes : 0);
    const report: Work['report'] = (state, downloaded = progress.downloaded, total = progress.total) => {
      progress = toProgress(entry, state, downloaded, total);
      for (const listener of listeners) listener(progress);
    };
    const startedAt = performance.now();
    const done = gate(() =>
      withStaging(installed.modelsDir, name, (dir) =>
        install(entry, attempts, { dir, signal: controller.signal, report }, options),
      ),
    ).finally(() => running.delete(name));
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
    return { id: entry.id, revision: entry.revision, latest: () => progress, subscribe, done, cancel };
  };
  const start: Downloads['start'] = (entry, { force = false, attempts = DEFAULT_ATTEMPTS } = {}) => {
    const name = folderNameOf(entry.id, entry.revision);
    const had = isPinned(entry) ? installed.find(entry.id, entry.revision) : installed.find(entry.id);
    if (!force && isUsable(had)) return settled(entry, had);
    const current = running.get(name);
    if (current) return current;
    refuse(entry);
    const download = run(entry, attempts);
    running.set(name, download);
    return download;
  };
  return {
    start,
    running: () => [...running.values()],
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
  revision: entry.revision,
  latest: () => toProgress(entry, 'installing', model.sizeBytes, model.sizeBytes),
  subscribe: () => () => undefined,
  done: Promise.resolve(model),
  cancel: () => undefined,
});
