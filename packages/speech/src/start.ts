/** The composition of the speech service: every part is made here, in order, and disposed in reverse. */
import { readFileSync } from 'node:fs';
import { chmod, mkdir, readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { makeNamedFolder, makeWritableFolder } from '@parley/kit/folder.ts';
import { mount } from '@parley/kit/http/endpoint.ts';
import type { ListenAt } from '@parley/kit/http/place.ts';
import { createServer, drainingOf, type Listening, listen, type ServerOptions } from '@parley/kit/http/server.ts';
import { acceptSockets } from '@parley/kit/http/socket.ts';
import type { Log } from '@parley/kit/log.ts';
import { measureCommits, measureRequests, NO_METRICS } from '@parley/kit/metrics.ts';
import { printSettings } from '@parley/kit/settings.ts';
import { isPostgres, openStore } from '@parley/kit/store/open.ts';
import { openTracing } from '@parley/kit/tracing.ts';
import type { FastifyInstance } from 'fastify';
import { startMedia } from './audio/media.ts';
import { problem } from './core/codes.ts';
import type { Models } from './core/speech.ts';
import type { SpeechEndpoint } from './dialects/dialect.ts';
import { renderProblem } from './dialects/errors.ts';
import { readForms } from './dialects/native/models-body.ts';
import { endpointsOf } from './endpoints.ts';
import { createGuards } from './keys/require-key.ts';
import { createMeasures } from './metrics.ts';
import type { ProxyEnv } from './models/fetch-file.ts';
import { takeFirstModel } from './models/first-start.ts';
import { isUsable } from './models/installed.ts';
import { showProgress, type Terminal } from './models/progress.ts';
import type { EngineVersions } from './recognizer/messages.ts';
import { readEngineVersions } from './recognizer/probe.ts';
import { runJob } from './run-job.ts';
import { renderAway } from './server/away.ts';
import type { Health, Readiness } from './server/health.ts';
import { SPEECH_SETTINGS, type SpeechSettings, sizeFor } from './settings.ts';
import { createSpeech } from './speech.ts';
import { type JobParts, openJobs } from './start-jobs.ts';
import { openGuards } from './start-keys.ts';
import { openLine } from './start-line.ts';
import { openSpeechMetrics, watchState } from './start-metrics.ts';
import { dataDirOf, type ModelParts, openModels } from './start-models.ts';
import { openRealtime } from './start-realtime.ts';
import { openSupport } from './start-support.ts';

export type RunningService = AsyncDisposable & Pick<Listening, 'url' | 'port'>;

export type StartOptions = {
  /** Where a person reads what happens: keys, and which model is fetched. */
  readonly terminal?: Terminal;
  /** Aborting gives up a start that is still under way. */
  readonly signal?: AbortSignal;
  /** The operator's proxies, for catalogs and models. */
  readonly proxyEnv?: ProxyEnv;
  /** Where to accept connections instead of opening the port. */
  readonly socket?: ListenAt['socket'];
  /** Variables that say where traces go (OTEL_*). */
  readonly env?: Readonly<Record<string, string | undefined>>;
};

const PRIVATE_FOLDER = 0o700;

/** Starts the service. Resolves when it serves and a model is chosen; rejects when it cannot be started. */
export const startSpeech = async (
  settings: SpeechSettings,
  log: Log,
  options: StartOptions = {},
): Promise<RunningService> => {
  await using stack = new AsyncDisposableStack();
  const place = await preparePlace(settings);
  const tracing = stack.use(await openTracing('speech', packageVersion(), options.env ?? {}, log));
  const metrics = await openSpeechMetrics(settings, log, stack);
  const measures = createMeasures(metrics);
  const store = measureCommits(metrics, stack.use(await openStore(place, log)));
  const guardParts = await openGuards(settings, { store, log, terminal: options.terminal }, stack);
  const modelParts = await openModels(settings, log, stack, { measures, tracing, proxyEnv: options.proxyEnv });
  const media = stack.use(
    startMedia({ processes: sizeFor(settings).mediaProcesses, folder: piecesDirOf(settings), log }),
  );
  const state: State = { isChosen: false, versions: {} };
  const support = openSupport(settings, modelParts.installed, log, stack);
  const line = openLine(settings, modelParts, media, support, { measures, tracing, log });
  const { installed } = modelParts;
  const hasModel = (id: string, revision: string): boolean => isUsable(installed.find(id, revision));
  const jobs = await openJobs(settings, { store, log, hasModel, measures, tracing }, stack);
  // Only now is it certain that no other process uses this data folder.
  const spoolDir = await openUploads(dataDirOf(settings));
  const models = onceChosen(modelParts.models, state);
  const realtime = openRealtime(settings, modelParts, models, line, () => state.isChosen, log);
  const speech = createSpeech({
    line,
    models,
    jobs,
    realtime,
    limits: {
      maxWaiting: settings.values['jobs.sync_max_waiting'],
      maxProcessingMs: settings.values['jobs.max_processing_time'],
    },
  });

  watchState(metrics, { store, jobs, line, realtime, speech, models: modelParts });

  const watchers = [tracing.watcher, measureRequests(metrics)];
  const app = createServer({ ...serverOptions(settings, log, await readTls(settings)), watchers });
  readForms(app);
  const endpoints = endpointsOf({
    speech,
    uploads: {
      spoolDir,
      maxBytes: settings.values['server.max_upload_bytes'],
      idleMs: settings.values['server.body_idle_timeout'],
    },
    subtitles: subtitlesOf(settings),
    sockets: acceptSockets(app),
    gaEvents: settings.values['realtime.ga_events'],
    speakerPrefix: settings.values['legacy.speaker_prefix'],
    modelAliases: settings.values['api.model_aliases'],
    config: () => printSettings(SPEECH_SETTINGS, settings),
    health: () => toHealth(state),
    readiness: () => toReadiness(app, state, jobs, modelParts, settings),
    uiEnabled: settings.values['ui.enabled'],
    metrics: settings.values['metrics.enabled'] ? metrics : NO_METRICS,
  });
  mount(app, endpoints, createGuards(guardParts, basicRoutesOf(settings, endpoints)));
  const { host, 'server.port': port } = settings.values;
  const listening = await listen(app, { host, port, socket: options.socket });
  stack.defer(() => listening.close());

  await takeFirst(settings, modelParts, log, options);
  // The first model may have brought PocketSphinx with it.
  state.versions = await readVersions(modelParts, log);
  state.isChosen = true;
  jobs.startWork((...job) => runJob(line, models, ...job));
  // The first to go: a pass runs to its end otherwise, and the worker would wait for it.
  stack.defer(support.stopJobPasses);
  log.info({ url: listening.url }, 'speech serves');
  const owned = stack.move();
  return { url: listening.url, port: listening.port, [Symbol.asyncDispose]: () => owned.disposeAsync() };
};

/** Makes the folders that everything else lies in. Answers where the Store is. */
const preparePlace = async (settings: SpeechSettings): Promise<string> => {
  await makeWritableFolder('data_dir', dataDirOf(settings));
  const place = settings.values['storage.url'] || join(dataDirOf(settings), 'speech.sqlite');
  if (!isPostgres(place)) await makeNamedFolder('storage.url', dirname(place));
  return place;
};

/** Where pieces of recordings lie on their way to an engine: emptied with the uploads, and in no backup like them. */
const piecesDirOf = (settings: SpeechSettings): string => join(dataDirOf(settings), 'spool', 'uploads', 'pieces');

/** The folder uploads arrive in, empty: what an earlier process was receiving when it died has no owner any more. */
const openUploads = async (dataDir: string): Promise<string> => {
  const dir = join(dataDir, 'spool', 'uploads');
  await rm(dir, { recursive: true, force: true });
  await mkdir(dir, { recursive: true, mode: PRIVATE_FOLDER });
  await chmod(join(dataDir, 'spool'), PRIVATE_FOLDER);
  return dir;
};

/** The addresses whose clients may have no field for a key, and give it as a password. */
const basicRoutesOf = ({ values }: SpeechSettings, endpoints: readonly SpeechEndpoint[]): ReadonlySet<string> =>
  new Set(values['auth.legacy_basic'] ? endpoints.filter(({ tag }) => tag === 'legacy').map(({ path }) => path) : []);

/** What is only known some time after the service listens. */
type State = { isChosen: boolean; versions: Partial<EngineVersions> };

/** Until the first model is chosen a request is told to come back, not that there is no model. */
const onceChosen = (models: Models, state: State): Models => ({
  ...models,
  resolve: async (model, language) => {
    if (state.isChosen || model !== undefined) return models.resolve(model, language);
    throw problem('model_unavailable', 'The service is still getting its first model.', { retryAfterSec: 10 });
  },
});

const takeFirst = async (
  settings: SpeechSettings,
  parts: ModelParts,
  log: Log,
  options: StartOptions,
): Promise<void> => {
  const { terminal, signal = new AbortController().signal } = options;
  await takeFirstModel({
    ...parts,
    log,
    signal,
    mode: settings.values['registry.first_start'],
    tell: (line) => void terminal?.write(`speech    ${line}\n`),
    watch: (download) => terminal && showProgress(download, terminal),
  });
};

const subtitlesOf = ({ values }: SpeechSettings) => ({
  maxChars: values['subtitles.max_chars'],
  maxLines: values['subtitles.max_lines'],
  maxSeconds: values['subtitles.max_seconds'],
});

const serverOptions = (settings: SpeechSettings, log: Log, tls: ServerOptions['tls']): ServerOptions => {
  const { values } = settings;
  return {
    log,
    name: 'speech',
    render: renderAway(renderProblem),
    limits: {
      headersTimeoutMs: values['server.read_header_timeout'],
      bodyIdleMs: values['server.body_idle_timeout'],
      shutdownGraceMs: values['server.shutdown_grace'],
    },
    ...(tls ? { tls } : {}),
    ...(values['server.trusted_proxies'].length > 0 ? { trustProxies: values['server.trusted_proxies'] } : {}),
    ...(values['api.cors.enabled']
      ? { cors: { origins: values['api.cors.origins'], exposedHeaders: EXPOSED_HEADERS } }
      : {}),
  };
};

const EXPOSED_HEADERS = ['X-Request-Id', 'X-Service-Warnings', 'Retry-After', 'Location'];

const readTls = async ({ values }: SpeechSettings): Promise<ServerOptions['tls']> => {
  const [cert, key] = [values['server.tls.cert'], values['server.tls.key']];
  if (cert === '' && key === '') return undefined;
  if (cert === '' || key === '') throw new Error('server.tls.cert and server.tls.key go together.');
  return { cert: await readFile(cert), key: await readFile(key) };
};

const readVersions = async ({ installed }: ModelParts, log: Log): Promise<Partial<EngineVersions>> => {
  const model = installed.list().find((one) => isUsable(one) && one.manifest.engine === 'pocketsphinx');
  const libraryPaths = isUsable(model) ? model.manifest.library_paths.map((path) => join(model.dir, path)) : [];
  return readEngineVersions({ libraryPaths }).catch((thrown: unknown) => {
    log.error({ err: thrown }, 'versions of the native libraries cannot be read');
    return {};
  });
};

const packageVersion = (): string => {
  const manifest: { version: string } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  return manifest.version;
};

const toHealth = ({ versions }: State): Health => ({ version: packageVersion(), engines: versions });

const toReadiness = (
  app: FastifyInstance,
  state: State,
  { live, admission }: JobParts,
  { pool, installed }: ModelParts,
  settings: SpeechSettings,
): Readiness => {
  const { values } = settings;
  const isDraining = drainingOf(app).signal.aborted;
  const status = isDraining ? 'draining' : !state.isChosen ? 'starting' : admission.isFull() ? 'saturated' : 'ready';
  return {
    status,
    queue_depth: live.queued(),
    queue_size: values['jobs.queue_size'],
    queued_bytes: live.bytes() + admission.reservedBytes(),
    max_queued_bytes: values['jobs.max_queued_bytes'],
    running: live.running(),
    workers: sizeFor(settings).jobWorkers,
    models_resident: installed.list().filter((model) => isResident(pool, model)).length,
  };
};

const isResident = (pool: ModelParts['pool'], model: { id: string; revision: string }): boolean => {
  const state = pool.residence(model).state?.name;
  return state === 'resident' || state === 'draining';
};
