/** Every setting of the speech service, as data. docs/settings.md is written from this. A size or count of 0 is "auto". */
import { availableParallelism, totalmem } from 'node:os';
import { bytes, choice, duration, flag, int, list, map, number, text } from '@parley/kit/setting-kinds.ts';
import type { Settings } from '@parley/kit/settings.ts';

/** Names that hosted clients hard-code; each stands for the default model unless told otherwise. */
const MODEL_ALIASES = Object.fromEntries(
  ['whisper-1', 'gpt-4o-transcribe', 'gpt-4o-mini-transcribe', 'gpt-transcribe', 'gpt-4o-transcribe-diarize'].map(
    (name) => [name, 'default'],
  ),
);

export const SPEECH_SETTINGS = {
  data_dir: text('./data', 'Folder for everything Parley keeps.', { shared: true }),
  host: text('127.0.0.1', 'Address to listen on.', { shared: true }),
  'storage.url': text(
    '',
    'postgres://… keeps rows in PostgreSQL; empty keeps them in files of the data folder, one for each service. A path is the SQLite file of one service that runs alone.',
    {
      shared: true,
      secret: false,
    },
  ),
  'spool.url': text(
    '',
    'Where uploads of jobs wait: s3://bucket/prefix, or file:///folder (or a path) that all instances see; empty is a folder of the data folder.',
    { shared: true },
  ),
  'spool.endpoint': text('', 'Address of the S3 service; empty is Amazon.', {
    shared: true,
    env: ['AWS_ENDPOINT_URL_S3', 'AWS_ENDPOINT_URL'],
  }),
  'spool.region': text('us-east-1', 'Region of the bucket.', {
    shared: true,
    env: ['AWS_REGION', 'AWS_DEFAULT_REGION'],
  }),
  'spool.access_key': text('', 'Id of the S3 key.', { shared: true, secret: true, env: ['AWS_ACCESS_KEY_ID'] }),
  'spool.secret_key': text('', 'Secret of the S3 key.', {
    shared: true,
    secret: true,
    env: ['AWS_SECRET_ACCESS_KEY'],
  }),
  'server.port': int(
    8090,
    'Port to listen on; 0 takes a free one.',
    { min: 0, max: 65_535 },
    { env: ['PARLEY_SPEECH_PORT'] },
  ),
  'server.read_header_timeout': duration('10s', 'Longest time for a request head to arrive.'),
  'server.body_idle_timeout': duration('60s', 'Longest pause within a request body.'),
  'server.shutdown_grace': duration('30s', 'How long running requests may take to finish when the service stops.'),
  'server.max_upload_bytes': bytes('1GiB', 'Largest upload.'),
  'server.trusted_proxies': list([], 'Addresses of proxies whose X-Forwarded headers are believed.'),
  'server.tls.cert': text('', 'File with the TLS certificate chain (PEM); empty serves plain HTTP.'),
  'server.tls.key': text('', 'File with the TLS private key (PEM).'),
  'auth.mode': choice(['apikey', 'open'], 'apikey', 'open lets everybody in and needs a loopback address.'),
  'auth.keys_file': text('', 'File of API keys; empty is speech/keys.json in the data folder.'),
  'auth.keys': list([], 'Further keys without administrative rights, by value.', {
    secret: true,
    env: ['PARLEY_SPEECH_AUTH_KEYS'],
  }),
  'auth.admin_key': text('', 'Secret of an administrative key, issued at start if no key has it.', {
    secret: true,
    env: ['PARLEY_SPEECH_ADMIN_KEY'],
  }),
  'auth.user_key': text('', 'Secret of a user key, issued at start if no key has it.', {
    secret: true,
    env: ['PARLEY_SPEECH_USER_KEY'],
  }),
  'auth.legacy_basic': flag(true, 'Accept the key as a basic-auth password on the legacy paths.'),
  'api.model_aliases': map(MODEL_ALIASES, 'Model names that stand for another; "default" is the default model.'),
  'api.cors.enabled': flag(false, 'Answer cross-origin requests of browsers.'),
  'api.cors.origins': list([], 'Origins that may call when CORS is on.'),
  'ui.enabled': flag(true, 'Serve the studio at /ui.'),
  'audio.ffmpeg_path': text('ffmpeg', 'Program that decodes what the built-in decoders do not know, where installed.'),
  'audio.ffmpeg_timeout': duration('120s', 'Longest time ffmpeg may go without output.'),
  'audio.max_duration': duration('4h', 'Longest recording.'),
  'audio.channel_mode': choice(['downmix', 'first', 'split'], 'downmix', 'What is done with several channels.'),
  'audio.max_split_channels': int(2, 'Most channels that are transcribed one by one.', { min: 1, max: 8 }),
  'audio.media_processes': int(0, 'Processes that decode audio; 0 is one for each core, at most 4.', {
    min: 0,
    max: 64,
  }),
  'vad.enabled': flag(true, 'Look for speech and leave silence out.'),
  'vad.model': choice(
    ['auto', 'webrtc', 'silero'],
    'auto',
    'Detector: silero (18 CPU s per hour of audio) when installed, else webrtc (0.3).',
  ),
  'vad.threshold': number(0.5, 'Probability from which sound counts as speech.', { min: 0, max: 1 }),
  'vad.min_silence_ms': int(300, 'Shortest silence, ms.', { min: 20, max: 60_000 }),
  'vad.min_speech_ms': int(250, 'Shortest speech, ms.', { min: 20, max: 60_000 }),
  'vad.max_speech_sec': number(20, 'Longest segment for engines that leave it open, s.', { min: 1, max: 120 }),
  'asr.models_dir': text('', 'Folder of models; empty is models in the data folder.'),
  'asr.default_model': text('', 'Model for requests that name none.'),
  'asr.default_models': map({}, 'Default model by language, as in ru=gigaam-v3-ctc-punct-ru.'),
  'asr.max_resident_models': int(0, 'Most models in memory at once; 0 is what their memory holds, at most 6.', {
    min: 0,
    max: 64,
  }),
  'asr.max_model_rss_mb': int(0, "Memory for models, MiB; 0 is half of the machine's, from 1024 to 16384.", { min: 0 }),
  'asr.inference_slots': int(0, 'Segments in flight on one model; 0 is one more than there are cores.', {
    min: 0,
    max: 256,
  }),
  'asr.num_threads': int(1, 'Threads within one segment; more than 1 lowers throughput.', { min: 1, max: 64 }),
  'asr.idle_ttl': duration('15m', 'A model nobody used for this long leaves memory.'),
  'asr.acquire_timeout': duration('30s', 'Longest wait for a model to be loaded.'),
  'asr.engine_start_timeout': duration('120s', 'Longest time a model may take to load.'),
  'registry.allow_download': flag(true, 'Download models from the catalog.'),
  'registry.catalog_url': text('', 'A catalog of your own: a URL or a file; empty is the built-in one.'),
  'registry.mirrors': map({}, 'Hosts to fetch from instead, as in https://github.com=https://mirror.example.'),
  'registry.download_concurrency': int(2, 'Downloads at once.', { min: 1, max: 16 }),
  'registry.strict_license': flag(false, 'Refuse models whose licence does not clearly allow commercial use.'),
  'registry.first_start': choice(
    ['auto', 'offline', 'demo'],
    'auto',
    'Where a first start looks for a model: auto tries the catalog, then Debian, then the demonstration model; offline takes nothing from the network.',
  ),
  'jobs.sync_max_waiting': int(32, 'Synchronous requests that may wait for their first segment.', {
    min: 1,
    max: 100_000,
  }),
  'jobs.max_processing_time': duration('30m', 'Longest time one request or one attempt at a job may take.'),
  'jobs.queue_size': int(100, 'Most jobs that may wait.', { min: 1, max: 1_000_000 }),
  'jobs.max_queued_bytes': bytes('4GiB', 'Most bytes of audio that jobs not yet over may hold.'),
  'jobs.max_concurrent': int(0, 'Jobs that run at once; 0 is one for each core, at most 8.', { min: 0, max: 64 }),
  'jobs.max_attempts': int(3, 'How often a job is begun before it counts as failed.', { min: 1, max: 100 }),
  'jobs.max_queue_wait': duration('24h', 'A job that waited longer for its start expires.'),
  'jobs.history_ttl': duration('720h', 'How long jobs that are over are kept.'),
  'jobs.lease': duration('30s', 'How long a process may be silent before others take over its jobs.'),
  'jobs.webhook_secret': list(
    [],
    'Secret that signs deliveries; two during a rotation, the first signs X-Service-Signature.',
    {
      secret: true,
    },
  ),
  'jobs.webhook_on_cancel': flag(true, 'Deliver for cancelled jobs too.'),
  'jobs.webhook_allowed_hosts': list(
    [],
    'Hosts (host or host:port) that deliveries may reach although private or without TLS.',
  ),
  'realtime.model': text('', 'Model of realtime sessions that name none; empty is the best streaming one installed.'),
  'realtime.final_model': text('', 'Offline model that hears each utterance again for its final text; empty is none.'),
  'realtime.max_sessions': int(0, 'Realtime sessions at once; 0 is 16 for each core, from 16 to 256.', {
    min: 0,
    max: 10_000,
  }),
  'realtime.max_buffered_seconds': number(30, 'Audio a realtime client may be ahead of the engine, s.', {
    min: 1,
    max: 600,
  }),
  'realtime.max_utterance': duration('20s', 'Longest utterance where the voice detector finds the ends.'),
  'realtime.max_session': duration('2h', 'Longest realtime session.'),
  'realtime.idle_timeout': duration('5m', 'A realtime client that sent nothing for this long is disconnected.'),
  'realtime.no_audio_timeout': duration('60s', 'So is one that has not sent any audio this long after connecting.'),
  'realtime.ping_interval': duration('20s', 'Between two pings; a client that does not answer one is disconnected.'),
  'realtime.ga_events': flag(true, 'Send realtime events under their newer names too.'),
  'postproc.punctuation.enabled': flag(false, 'Punctuate unless a request says otherwise.'),
  'postproc.punctuation.model': text('', 'Punctuation model to prefer where several fit the language.'),
  'postproc.itn.enabled': flag(false, 'Write numbers as digits unless a request says otherwise.'),
  'postproc.hotwords.enabled': flag(true, 'Allow hotwords.'),
  'postproc.hotwords.default_score': number(1.5, 'Weight of a hotword that brings none.', { min: 0, max: 10 }),
  'diarization.enabled': flag(true, 'Tell speakers apart where models for it are installed.'),
  'diarization.segmentation_model': text(
    'pyannote-segmentation-3',
    'Segmentation model to prefer where several are installed.',
  ),
  'diarization.embedding_model': text(
    'campplus-sv-zh-en',
    'Speaker embedding model to prefer where several are installed.',
  ),
  'diarization.clustering.num_clusters': int(0, 'How many speakers when a request does not say; 0 is unknown.', {
    min: 0,
    max: 32,
  }),
  'diarization.clustering.threshold': number(
    0.85,
    'Distance from which two voices count as two speakers, when their number is not known.',
    { min: 0, max: 2 },
  ),
  'diarization.min_duration_on': number(0.3, 'Shortest turn, s.', { min: 0, max: 60 }),
  'diarization.min_duration_off': number(0.5, 'Shorter pauses within a turn are closed, s.', { min: 0, max: 60 }),
  'diarization.max_concurrent': int(
    1,
    'Recordings whose speakers are told apart at once; each needs up to 350 MB an hour of sound, and more as it grows long.',
    { min: 1, max: 64 },
  ),
  'diarization.max_duration': duration('2h', 'Longest recording whose speakers are told apart.'),
  'subtitles.max_chars': int(84, 'Most characters in one cue.', { min: 10, max: 1000 }),
  'subtitles.max_lines': int(2, 'Most lines in one cue.', { min: 1, max: 10 }),
  'subtitles.max_seconds': number(7, 'Longest cue, s.', { min: 0.5, max: 600 }),
  'legacy.speaker_prefix': text('SPEAKER_', 'How speakers are called on the legacy paths, before two digits.'),
  'metrics.enabled': flag(false, 'Serve /metrics to administrative keys.'),
  'metrics.addr': text('', 'Serve /metrics without a key on this host:port instead.', { env: ['PARLEY_METRICS_ADDR'] }),
  'log.level': choice(['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace'], 'info', 'What is logged.'),
};

export type SpeechSettings = Settings<typeof SPEECH_SETTINGS>;

const clamp = (value: number, low: number, high: number): number => Math.min(high, Math.max(low, value));

/** Sizes that follow from the machine when the settings leave them at 0. */
export type Sizing = {
  readonly modelMemoryBytes: number;
  readonly maxResidentModels: number;
  readonly mediaProcesses: number;
  readonly jobWorkers: number;
  readonly realtimeSessions: number;
};

const MIB = 2 ** 20;
/** Real-time sessions a core is trusted with. */
const SESSIONS_PER_CORE = 16;
/** A model of the catalog takes about this much, MiB; only used to guess how many fit. */
const TYPICAL_MODEL_MIB = 1500;

/** Fills in what the settings leave to the machine: half its memory for models, one media process a core. */
export const sizeFor = ({ values }: SpeechSettings): Sizing => {
  const memoryMib = values['asr.max_model_rss_mb'] || clamp(totalmem() / 2 / MIB, 1024, 16_384);
  return {
    modelMemoryBytes: memoryMib * MIB,
    maxResidentModels: values['asr.max_resident_models'] || clamp(Math.floor(memoryMib / TYPICAL_MODEL_MIB), 1, 6),
    mediaProcesses: values['audio.media_processes'] || clamp(availableParallelism(), 1, 4),
    jobWorkers: values['jobs.max_concurrent'] || clamp(availableParallelism(), 1, 8),
    realtimeSessions: values['realtime.max_sessions'] || clamp(availableParallelism() * SESSIONS_PER_CORE, 16, 256),
  };
};
