/** Composition of everything about models: what is on disk, what can be had, what is in memory. */
import { join, resolve } from 'node:path';
import { makeNamedFolder } from '@parley/kit/folder.ts';
import type { Log } from '@parley/kit/log.ts';
import type { Tracing } from '@parley/kit/tracing.ts';
import { problem } from './core/codes.ts';
import type { ModelInfo } from './core/types.ts';
import type { SpeechMeasures } from './metrics.ts';
import { type Catalog, openCatalog } from './models/catalog.ts';
import { type Choices, openChoices } from './models/choices.ts';
import { buildDebianModel, requireKnownPackage } from './models/debian.ts';
import { createDownloads, type Downloads } from './models/download.ts';
import type { ProxyEnv } from './models/fetch-file.ts';
import { folderNameOf, type Installed, isUsable, openInstalled } from './models/installed.ts';
import { createModels, type ManagedModels } from './models/models.ts';
import { createPool, type Lease, type Pool } from './models/pool.ts';
import { createProbe } from './models/probe.ts';
import { startRecognizer } from './recognizer/host.ts';
import { startStreamingRecognizer } from './recognizer/streaming-host.ts';
import { type SpeechSettings, sizeFor } from './settings.ts';

export type ModelParts = {
  readonly installed: Installed;
  readonly catalog: Catalog;
  readonly choices: Choices;
  readonly downloads: Downloads;
  readonly pool: Pool;
  readonly models: ManagedModels;
  lease(model: ModelInfo, signal: AbortSignal): Promise<Lease>;
  /** File of the Silero detector, when one is installed and wanted. */
  sileroPath(): string | undefined;
};

export const dataDirOf = ({ values }: SpeechSettings): string => resolve(values.data_dir);
const modelsDirOf = (settings: SpeechSettings): string =>
  resolve(settings.values['asr.models_dir'] || join(dataDirOf(settings), 'models'));

/** Models are no secret; who may read them the operator's mask decides. */
const MODELS_FOLDER = 0o777;

export type ModelsHouse = {
  readonly measures: SpeechMeasures;
  readonly tracing: Tracing;
  /** The operator's proxies. */
  readonly proxyEnv?: ProxyEnv | undefined;
};

/** Opens the folders, the catalog and the pool; what must be closed goes on the stack. */
export const openModels = async (
  settings: SpeechSettings,
  log: Log,
  stack: AsyncDisposableStack,
  house: ModelsHouse,
): Promise<ModelParts> => {
  const { values } = settings;
  const { proxyEnv } = house;
  const dataDir = dataDirOf(settings);
  const closing = new AbortController();
  stack.defer(() => closing.abort());
  await makeNamedFolder('data_dir', dataDir);
  await makeNamedFolder('asr.models_dir', modelsDirOf(settings), MODELS_FOLDER);
  const installed = await openInstalled({ modelsDir: modelsDirOf(settings), dataDir, log });
  const choices = await openChoices(dataDir);
  const catalog = await openCatalog({
    catalogUrl: values['registry.catalog_url'],
    mirrors: values['registry.mirrors'],
    signal: closing.signal,
    log,
    ...(proxyEnv && { proxyEnv }),
  });
  const downloads = stack.use(
    createDownloads({
      installed,
      allowDownload: values['registry.allow_download'],
      strictLicense: values['registry.strict_license'],
      mirrors: values['registry.mirrors'],
      concurrency: values['registry.download_concurrency'],
      log,
      probe: createProbe(values['asr.engine_start_timeout']),
      ...(proxyEnv && { proxyEnv }),
      buildDebian: (entry, work) => {
        requireKnownPackage(entry);
        return buildDebianModel(work.dir, { dataDir, log, signal: work.signal });
      },
    }),
  );
  const pool = stack.use(openPool(settings, installed, log, house));
  const stopping = new AbortController();
  const models = createModels({
    installed,
    catalog,
    pool,
    downloads,
    choices,
    defaultModel: values['asr.default_model'],
    defaultModels: values['asr.default_models'],
    acquireTimeoutMs: values['asr.acquire_timeout'],
    signal: stopping.signal,
  });
  // The first to go: what administrators began must not wait for a pool that is closing.
  stack.defer(() => stopping.abort(problem('draining', 'The service is stopping.')));
  return {
    installed,
    catalog,
    choices,
    downloads,
    pool,
    models,
    lease: (model, signal) => pool.acquire({ id: model.id, revision: model.revision }, signal),
    sileroPath: () => (values['vad.model'] === 'webrtc' ? undefined : findSilero(installed)),
  };
};

const openPool = (settings: SpeechSettings, installed: Installed, log: Log, house: ModelsHouse): Pool => {
  const { measures, tracing } = house;
  const { values } = settings;
  const sizing = sizeFor(settings);
  const options = {
    log,
    startTimeoutMs: values['asr.engine_start_timeout'],
    memoryLimitBytes: sizing.modelMemoryBytes,
    slots: values['asr.inference_slots'],
  };
  return createPool({
    start: (model, signal) => {
      // The first thing the pool lets a model hear is silence, to warm it up.
      let isWarm = false;
      const watched = {
        onEnd: (planned: boolean) => measures.engineEnded(model.id, planned),
        onRecognized: (audioSec: number, tookSec: number) => {
          if (isWarm) measures.recognized(model.id, audioSec, tookSec);
          isWarm = true;
        },
      };
      const all = { ...options, ...watched, tracing, signal };
      return (model.streaming ? startStreamingRecognizer : startRecognizer)(model, all);
    },
    find: ({ id, revision }) => {
      const model = installed.find(id, revision);
      return isUsable(model) ? model : undefined;
    },
    memoryBytes: sizing.modelMemoryBytes,
    maxResident: sizing.maxResidentModels,
    acquireTimeoutMs: values['asr.acquire_timeout'],
    idleMs: values['asr.idle_ttl'],
    numThreads: values['asr.num_threads'],
    log,
    onUnloadable: ({ id, revision }, reason) => {
      log.error({ model: folderNameOf(id, revision), reason }, 'model is quarantined');
      void installed.quarantine(id, revision, reason);
    },
  });
};

const findSilero = (installed: Installed): string | undefined => {
  const model = installed
    .list()
    .find((one) => isUsable(one) && one.manifest.kind === 'vad' && one.manifest.family === 'silero');
  const file = isUsable(model) ? model.manifest.files.model : undefined;
  return model && file ? join(model.dir, file) : undefined;
};
