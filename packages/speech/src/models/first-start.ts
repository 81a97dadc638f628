/**
 * Which model a first start takes: what is installed, else the recommended one of the catalog, else Debian's, else the
 * demonstration model of the repository. Each step falls on to the next at any failure, and the choice is kept.
 */
import { fileURLToPath } from 'node:url';
import { until } from '@parley/kit/abort.ts';
import { type Clock, systemClock } from '@parley/kit/clock.ts';
import type { Log } from '@parley/kit/log.ts';
import type { Catalog, CatalogModel } from './catalog.ts';
import type { ChoiceOrigin, Choices } from './choices.ts';
import type { Download, Downloads } from './download.ts';
import { DownloadFault } from './fault.ts';
import { folderNameOf, type Installed, isUsable, type UsableModel } from './installed.ts';
import { readManifest } from './manifest.ts';
import { installFolder } from './place.ts';
import { isTranscriber, mostCapable } from './resolve.ts';

export type FirstStartOptions = {
  readonly installed: Installed;
  readonly catalog: Catalog;
  readonly downloads: Downloads;
  readonly choices: Choices;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** `registry.first_start`: `offline` takes nothing from the network, `demo` only the demonstration model. */
  readonly mode: 'auto' | 'offline' | 'demo';
  /** One line for whoever watches the terminal. */
  readonly tell: (line: string) => void;
  /** Given every download, to show how far it is. */
  readonly watch?: (download: Download) => void;
  readonly demonstrationDir?: string;
  readonly clock?: Clock;
};

export type FirstStart = { readonly model: UsableModel; readonly origin: ChoiceOrigin };

/** Over all candidates: a host that does not answer costs 5 s or 10 s each time. A broken transfer is gone on with. */
const MAX_DOWNLOAD_ATTEMPTS = 2;
const DEBIAN_ID = 'pocketsphinx-en-us';
/** A trickle must not hold the start for ever: after this the next step is taken. */
const CATALOG_LIMIT_MS = 15 * 60_000;
const ADVICE = 'Better models: npm start -- models list, then npm start -- models pull ID.';
const DEMONSTRATION_DIR = fileURLToPath(new URL('../../../../testdata/models/offline-transducer', import.meta.url));

const usableTranscribers = (installed: Installed): UsableModel[] =>
  installed.list().filter(isUsable).filter(isTranscriber);

const MIB = 2 ** 20;
const sizeWords = (entry: CatalogModel): string =>
  'url' in entry.source && entry.source.size_bytes > 0 ? ` (${Math.round(entry.source.size_bytes / MIB)} MiB)` : '';

/** One installation, cancelled when the start is or when it takes too long. */
const install = async (entry: CatalogModel, attempts: number, options: FirstStartOptions): Promise<UsableModel> => {
  const download = options.downloads.start(entry, { attempts });
  options.watch?.(download);
  const late = new AbortController();
  const clock = options.clock ?? systemClock;
  const done = new AbortController();
  clock.delay(CATALOG_LIMIT_MS, done.signal).then(
    () => late.abort(new Error('it takes too long')),
    () => undefined,
  );
  try {
    return await until(download.done, AbortSignal.any([options.signal, late.signal]));
  } catch (error) {
    download.cancel();
    await download.done.catch(() => undefined);
    options.signal.throwIfAborted();
    throw error;
  } finally {
    done.abort();
  }
};

/** The model, or whether trying further with this host is in vain. */
const tryInstall = async (
  entry: CatalogModel,
  attempts: number,
  options: FirstStartOptions,
): Promise<{ model?: UsableModel; hostFailed?: boolean }> => {
  try {
    options.tell(`Fetching ${entry.display_name}${sizeWords(entry)} …`);
    return { model: await install(entry, attempts, options) };
  } catch (error) {
    options.signal.throwIfAborted();
    const problem = (error as Error).message;
    options.log.warn({ model: entry.id, problem }, 'first start: model not fetched');
    options.tell(`${entry.display_name} cannot be fetched: ${problem}`);
    return { hostFailed: error instanceof DownloadFault && error.transient };
  }
};

const fromCatalog = async (options: FirstStartOptions): Promise<UsableModel | undefined> => {
  const recommended = options.catalog.entries().filter((entry) => entry.recommended && 'url' in entry.source);
  const transcribers = recommended.filter((entry) => entry.kind === 'asr' && !entry.streaming);
  for (const [index, entry] of transcribers.slice(0, MAX_DOWNLOAD_ATTEMPTS).entries()) {
    const { model, hostFailed } = await tryInstall(entry, MAX_DOWNLOAD_ATTEMPTS - index, options);
    if (hostFailed) return undefined;
    if (!model) continue;
    for (const detector of recommended.filter(({ kind }) => kind === 'vad')) await tryInstall(detector, 1, options);
    return model;
  }
  return undefined;
};

const fromDebian = async (options: FirstStartOptions): Promise<UsableModel | undefined> => {
  const entry = options.catalog.find(DEBIAN_ID);
  return entry && (await tryInstall(entry, 1, options)).model;
};

const demonstration = async (options: FirstStartOptions): Promise<UsableModel> => {
  const dir = options.demonstrationDir ?? DEMONSTRATION_DIR;
  const manifest = await readManifest(dir);
  const had = options.installed.find(manifest.id, manifest.revision);
  return isUsable(had) ? had : installFolder(dir, manifest, options.installed);
};

const WORDS: Readonly<Record<ChoiceOrigin, (model: UsableModel) => string>> = {
  installed: (model) => `Using ${model.manifest.display_name}, which is installed.`,
  catalog: (model) => `Using ${model.manifest.display_name} from the catalog. ${ADVICE}`,
  debian: (model) =>
    `Using ${model.manifest.display_name} from the Debian archive: a small model for plain English. ${ADVICE}`,
  demonstration: (model) =>
    `Using the demonstration model ${model.id}: it knows only a few dozen English words and is no use for real speech. ${ADVICE}`,
};

const choose = async (options: FirstStartOptions): Promise<FirstStart> => {
  const { installed, mode } = options;
  const there = usableTranscribers(installed);
  const real = mostCapable(there);
  if (real && !real.manifest.demonstration) return { model: real, origin: 'installed' };
  // Tried before with this outcome: asking a silent network again would delay every start.
  const kept = options.choices.first()?.origin === 'demonstration' ? there[0] : undefined;
  if (kept) return { model: kept, origin: 'demonstration' };
  if (mode === 'auto') {
    const fetched = await fromCatalog(options);
    if (fetched) return { model: fetched, origin: 'catalog' };
    const debian = await fromDebian(options);
    if (debian) return { model: debian, origin: 'debian' };
  }
  return { model: await demonstration(options), origin: 'demonstration' };
};

const isKept = (installed: Installed, choices: Choices): boolean => {
  const kept = choices.first();
  const model = kept && installed.find(kept.id, kept.revision);
  return isUsable(model) && isTranscriber(model) && !model.manifest.demonstration;
};

/**
 * Sees to it that a transcription model is installed and remembers which one this start took. Resolves with undefined
 * when the earlier choice still stands. Rejects only with the signal's reason or when not even the demonstration model
 * can be written.
 */
export const takeFirstModel = async (options: FirstStartOptions): Promise<FirstStart | undefined> => {
  const { installed, choices, log } = options;
  await installed.refresh();
  if (isKept(installed, choices)) return undefined;
  const first = await choose(options);
  const { model, origin } = first;
  const chosen_at = new Date((options.clock ?? systemClock).now()).toISOString();
  await choices.setFirst({ id: model.id, revision: model.revision, origin, chosen_at });
  log.info({ model: folderNameOf(model.id, model.revision), origin }, 'first start: model chosen');
  options.tell(WORDS[origin](model));
  return first;
};
