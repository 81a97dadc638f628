/** The models of the service as the dialects see them (core/speech.ts): records, catalog, resolution. */
import type { Problem } from '@parley/kit/problem.ts';
import { problem } from '../core/codes.ts';
import type { ModelName, Models } from '../core/speech.ts';
import type { Capabilities, CatalogEntry, ModelInfo, ModelState } from '../core/types.ts';
import type { Catalog, CatalogModel } from './catalog.ts';
import type { Choices } from './choices.ts';
import type { Downloads } from './download.ts';
import { folderNameOf, type Installed, type InstalledModel, isUsable } from './installed.ts';
import { createManagement } from './manage.ts';
import type { Pool } from './pool.ts';
import { toModelState } from './pool-state.ts';
import { defaultModelOf, type ResolveRules, resolveLiveModel, resolveModel } from './resolve.ts';

export type ModelsOptions = {
  readonly installed: Installed;
  readonly catalog: Catalog;
  readonly pool: Pool;
  readonly downloads: Downloads;
  readonly choices: Choices;
  /** `asr.default_model` and `asr.default_models`. */
  readonly defaultModel: string;
  readonly defaultModels: Readonly<Record<string, string>>;
  readonly acquireTimeoutMs: number;
  /** Ends with the service; stops what administrators began. */
  readonly signal: AbortSignal;
};

/** Models, and the record of one. */
export type ManagedModels = Models & {
  /**
   * The model of a realtime session, streaming or offline: `model`, else `preferred`, else the best installed one.
   * Problems: model_not_found, model_unavailable, not_implemented.
   */
  resolveLive(model: string | undefined, preferred: string): Promise<ModelInfo>;
  /** The record of one installed model; the serving revision when none is named. Problem model_not_found. */
  record(id: string, revision?: string): Promise<ModelInfo>;
};

const MIB = 2 ** 20;
const NO_CAPABILITIES: Capabilities = {
  word_timestamps: false,
  confidence: false,
  language_detect: false,
  punctuation_builtin: false,
  hotwords: false,
  streaming: false,
};

const rulesOf = ({ choices, pool, defaultModel, defaultModels }: ModelsOptions): ResolveRules => {
  const first = choices.first();
  return {
    defaultModel,
    defaultModels,
    // An operator who put another revision in service since then meant the default too.
    firstChoice: first && (choices.serving(first.id) ? first.id : folderNameOf(first.id, first.revision)),
    servingRevision: (id) => choices.serving(id) ?? pool.residentRevision(id),
  };
};

/** What a folder without a readable manifest can still say. */
const describe = ({ id, manifest }: InstalledModel) => ({
  display_name: manifest?.display_name ?? id,
  kind: manifest?.kind ?? ('asr' as const),
  streaming: manifest?.streaming ?? false,
  family: manifest?.family ?? 'unknown',
  languages: manifest?.languages ?? [],
  sample_rate: manifest?.sample_rate ?? 0,
  license: manifest?.license ?? 'unknown',
  commercial_use: manifest?.commercial_use ?? ('unknown' as const),
  word_timestamps: manifest?.capabilities.word_timestamps ?? false,
  capabilities: manifest?.capabilities ?? NO_CAPABILITIES,
});

const isDownloading = ({ id, revision }: { id: string; revision: string }, { downloads }: ModelsOptions): boolean =>
  downloads.running().some((one) => one.id === id && one.revision === revision);

const toRecord = (model: InstalledModel, options: ModelsOptions, isDefault: boolean): ModelInfo => {
  const { state, leases, rssBytes, lastUsedMs } = options.pool.residence(model);
  const wire = state === undefined && isDownloading(model, options) ? 'downloading' : toModelState(state);
  return {
    id: model.id,
    revision: model.revision,
    ...describe(model),
    state: wire,
    resident: wire === 'resident' || wire === 'pinned' || wire === 'draining',
    pinned: wire === 'pinned',
    ref_count: leases,
    rss_mb: Math.round(rssBytes / MIB) || (model.manifest?.resources.approx_rss_mb ?? 0),
    size_bytes: model.sizeBytes,
    ...(lastUsedMs !== undefined && { last_used_unix: Math.floor(lastUsedMs / 1000) }),
    installed_at: model.installedAt,
    default: isDefault,
    revisions: options.installed.revisions(model.id),
    ...(model.problem !== undefined && { problem: model.problem }),
  };
};

const recordOf = (model: InstalledModel, options: ModelsOptions): ModelInfo => {
  const chosen = defaultModelOf(options.installed.list(), rulesOf(options));
  return toRecord(model, options, chosen?.dir === model.dir);
};

/** An entry is as far as its furthest installed revision; Debian's revision is only known once it is installed. */
const stateOfEntry = (entry: CatalogModel, options: ModelsOptions): ModelState => {
  const { installed, pool } = options;
  if (isDownloading(entry, options)) return 'downloading';
  const revision = 'debian_package' in entry.source ? undefined : entry.revision;
  const model = installed.find(entry.id, revision);
  return isUsable(model) ? toModelState(pool.residence(model).state) : 'available';
};

const toCatalogEntry = (entry: CatalogModel, options: ModelsOptions): CatalogEntry => {
  const { manifest: _manifest, recommended: _recommended, ...shown } = entry;
  return { ...shown, source: { ...entry.source }, state: stateOfEntry(entry, options) };
};

const missing = (id: string): Problem =>
  problem('model_not_found', `The model ${JSON.stringify(id.slice(0, 130))} is not installed.`, { param: 'model' });

const findServing = ({ id, revision }: ModelName, options: ModelsOptions): InstalledModel => {
  const wanted = revision ?? rulesOf(options).servingRevision(id);
  const model = options.installed.find(id, wanted) ?? (revision === undefined ? options.installed.find(id) : undefined);
  if (!model) throw missing(revision === undefined ? id : folderNameOf(id, revision));
  return model;
};

export const createModels = (options: ModelsOptions): ManagedModels => {
  const { installed, pool } = options;
  return {
    ...createManagement({
      ...options,
      find: (name) => findServing(name, options),
      recordOf: (model) => recordOf(model, options),
    }),
    list: async () => {
      await Promise.all([installed.refresh(), pool.measure()]);
      const chosen = defaultModelOf(installed.list(), rulesOf(options));
      return installed.list().map((model) => toRecord(model, options, chosen?.dir === model.dir));
    },
    catalog: async () => {
      await installed.refresh();
      return options.catalog.entries().map((entry) => toCatalogEntry(entry, options));
    },
    resolve: async (model, language) => {
      await installed.refresh();
      return recordOf(resolveModel(installed.list(), model, language, rulesOf(options)), options);
    },
    resolveLive: async (model, preferred) => {
      await installed.refresh();
      return recordOf(resolveLiveModel(installed.list(), model, preferred, rulesOf(options)), options);
    },
    record: async (id, revision) => {
      await installed.refresh();
      return recordOf(findServing({ id, revision }, options), options);
    },
  };
};
