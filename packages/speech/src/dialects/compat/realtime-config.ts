/**
 * What a client declares about its session, in the words of both generations of the API: `audio.input.…` and the flat
 * names before it. A declaration is read as a whole or refused as a whole, with the field named.
 */
import type { Problem } from '@parley/kit/problem.ts';
import { problem } from '../../core/codes.ts';
import type { RealtimeFormat, TurnDetection } from '../../core/realtime.ts';

/** A session as declared so far. */
export type Declared = {
  readonly format: RealtimeFormat;
  readonly turnDetection: TurnDetection | null;
  readonly transcription: Transcription;
  readonly include: readonly string[];
  /** null is none; `undefined` was not said. */
  readonly finalModel: string | null | undefined;
  readonly punctuate: boolean | undefined;
  readonly itn: boolean | undefined;
};

export type Transcription = {
  readonly model: string | undefined;
  readonly language: string | undefined;
  readonly prompt: string | undefined;
  readonly keywords: readonly string[];
};

export type Update = {
  readonly declared: Declared;
  /** Fields that have no effect here. */
  readonly ignored: readonly string[];
};

const DEFAULT_TURNS: TurnDetection = { threshold: 0.5, prefixPaddingMs: 300, silenceDurationMs: 500 };
export const DEFAULT_DECLARED: Declared = {
  format: { encoding: 'pcm16', rate: 24_000 },
  turnDetection: DEFAULT_TURNS,
  transcription: { model: undefined, language: undefined, prompt: undefined, keywords: [] },
  include: [],
  finalModel: undefined,
  punctuate: undefined,
  itn: undefined,
};

const MIN_RATE = 8000;
const MAX_RATE = 48_000;
const TELEPHONE_RATE = 8000;
const MAX_PREFIX_MS = 5000;
const MIN_SILENCE_MS = 50;
const MAX_SILENCE_MS = 10_000;
const MAX_NAME_CHARS = 130;
const MAX_PROMPT_CHARS = 16 * 1024;
const MAX_LIST = 500;

type Fields = Readonly<Record<string, unknown>>;

const fault = (param: string, message: string): Problem => problem('invalid_request', message, { param });

/** Undefined and null both mean "not said", except where null has a meaning of its own. */
const readObject = (value: unknown, param: string): Fields | undefined => {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'object' || Array.isArray(value)) throw fault(param, `${param} must be an object.`);
  return value as Fields;
};

const readText = (value: unknown, param: string, maxChars: number): string | undefined => {
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value !== 'string' || value.length > maxChars)
    throw fault(param, `${param} must be text of at most ${maxChars} characters.`);
  return value;
};

const readNumber = (value: unknown, param: string, min: number, max: number): number | undefined => {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'number' || !(value >= min && value <= max))
    throw fault(param, `${param} must be a number from ${min} to ${max}.`);
  return value;
};

const readTexts = (value: unknown, param: string): readonly string[] | undefined => {
  if (value === undefined || value === null) return undefined;
  if (!Array.isArray(value) || value.length > MAX_LIST || value.some((one) => typeof one !== 'string'))
    throw fault(param, `${param} must be a list of at most ${MAX_LIST} texts.`);
  return value;
};

const FORMATS: Readonly<Record<string, RealtimeFormat['encoding']>> = {
  pcm16: 'pcm16',
  'audio/pcm': 'pcm16',
  g711_ulaw: 'ulaw',
  'audio/pcmu': 'ulaw',
  g711_alaw: 'alaw',
  'audio/pcma': 'alaw',
};

const PCM16_WITH_RATE = /^(pcm16)\s*;\s*rate=(\d{1,6})$/;

/** A name, a name with its rate (`pcm16;rate=16000`), or an object of both. */
const readFormat = (value: unknown, param: string, current: RealtimeFormat): RealtimeFormat => {
  if (value === undefined || value === null) return current;
  const { type = 'pcm16', rate } = typeof value === 'string' ? partFormat(value) : readObject(value, param)!;
  const encoding = typeof type === 'string' && Object.hasOwn(FORMATS, type) ? FORMATS[type] : undefined;
  if (!encoding) throw fault(`${param}.type`, `The audio format is one of ${Object.keys(FORMATS).join(', ')}.`);
  return { encoding, rate: readRate(rate, `${param}.rate`, encoding === 'pcm16') };
};

const partFormat = (text: string): Fields => {
  const [, type, rate] = PCM16_WITH_RATE.exec(text) ?? [];
  return type === undefined ? { type: text } : { type, rate: Number(rate) };
};

const readRate = (value: unknown, param: string, isPcm: boolean): number => {
  if (value === undefined || value === null) return isPcm ? DEFAULT_DECLARED.format.rate : TELEPHONE_RATE;
  const [min, max] = isPcm ? [MIN_RATE, MAX_RATE] : [TELEPHONE_RATE, TELEPHONE_RATE];
  if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) return value;
  throw fault(param, isPcm ? `The rate is ${min} to ${max} Hz.` : `G.711 is of ${min} Hz.`);
};

const TURN_FIELDS = ['type', 'threshold', 'prefix_padding_ms', 'silence_duration_ms'];

const readTurns = (value: unknown, param: string, ignored: string[]): TurnDetection | null => {
  if (value === null) return null;
  const fields = readObject(value, param) ?? {};
  const type = fields.type ?? 'server_vad';
  if (type === 'none') return null;
  if (type !== 'server_vad' && type !== 'semantic_vad')
    throw fault(`${param}.type`, 'turn_detection is server_vad, or null for none.');
  if (type === 'semantic_vad') ignored.push(`${param}.type`);
  ignored.push(
    ...Object.keys(fields)
      .filter((name) => !TURN_FIELDS.includes(name))
      .map((name) => `${param}.${name}`),
  );
  const number = (name: string, min: number, max: number) => readNumber(fields[name], `${param}.${name}`, min, max);
  return {
    threshold: number('threshold', 0, 1) ?? DEFAULT_TURNS.threshold,
    prefixPaddingMs: number('prefix_padding_ms', 0, MAX_PREFIX_MS) ?? DEFAULT_TURNS.prefixPaddingMs,
    silenceDurationMs: number('silence_duration_ms', MIN_SILENCE_MS, MAX_SILENCE_MS) ?? DEFAULT_TURNS.silenceDurationMs,
  };
};

const TRANSCRIPTION_FIELDS = ['model', 'language', 'languages', 'keywords', 'prompt'];

/** Fields that are not sent stay as they were. */
const readTranscription = (value: unknown, param: string, current: Transcription, ignored: string[]): Transcription => {
  const fields = readObject(value, param);
  if (!fields) return current;
  const unknown = Object.keys(fields).filter((name) => !TRANSCRIPTION_FIELDS.includes(name));
  ignored.push(...unknown.map((name) => `${param}.${name}`));
  const has = (name: string): boolean => Object.hasOwn(fields, name);
  const languages = readTexts(fields.languages, `${param}.languages`);
  return {
    model: has('model') ? readText(fields.model, `${param}.model`, MAX_NAME_CHARS) : current.model,
    language:
      has('language') || languages
        ? (readText(fields.language, `${param}.language`, MAX_NAME_CHARS) ?? languages?.[0])
        : current.language,
    prompt: has('prompt') ? readText(fields.prompt, `${param}.prompt`, MAX_PROMPT_CHARS) : current.prompt,
    keywords: has('keywords') ? (readTexts(fields.keywords, `${param}.keywords`) ?? []) : current.keywords,
  };
};

const readNoise = (value: unknown, param: string, ignored: string[]): void => {
  if (readObject(value, param)) ignored.push(param);
};

type Service = Pick<Declared, 'finalModel' | 'punctuate' | 'itn'>;
const SERVICE_FIELDS = ['final_model', 'punctuate', 'itn'];
/** What a session tells of itself and a client may send back. */
const SERVICE_FACTS = [
  'model_sample_rate',
  'input_sample_rate',
  'languages',
  'punctuation',
  'word_timestamps',
  'streaming',
  'max_sessions',
  'active_sessions',
  'notes',
];

const readSwitch = (value: unknown, param: string): boolean | undefined => {
  if (value === undefined || value === null || typeof value === 'boolean') return value ?? undefined;
  throw fault(param, `${param} must be true or false.`);
};

/** `service` is ours: options the hosted API has no word for. */
const readService = (value: unknown, current: Service, ignored: string[]): Service => {
  const at = 'session.service';
  const fields = readObject(value, at) ?? {};
  const unknown = Object.keys(fields).filter((name) => ![...SERVICE_FIELDS, ...SERVICE_FACTS].includes(name));
  ignored.push(...unknown.map((name) => `${at}.${name}`));
  const has = (name: string): boolean => Object.hasOwn(fields, name);
  return {
    finalModel: has('final_model')
      ? (readText(fields.final_model, `${at}.final_model`, MAX_NAME_CHARS) ?? null)
      : current.finalModel,
    punctuate: has('punctuate') ? readSwitch(fields.punctuate, `${at}.punctuate`) : current.punctuate,
    itn: has('itn') ? readSwitch(fields.itn, `${at}.itn`) : current.itn,
  };
};

const BETA_FIELDS = [
  'input_audio_format',
  'input_audio_transcription',
  'turn_detection',
  'input_audio_noise_reduction',
];
const INPUT_FIELDS = ['format', 'transcription', 'turn_detection', 'noise_reduction'];
/** Sent back by clients that return the session they were given. */
const ECHOED_FIELDS = ['id', 'object', 'type', 'model', 'expires_at', 'client_secret', 'audio', 'include', 'service'];

const isType = (type: unknown, fields: Fields): boolean => {
  if (type === undefined || type === 'transcription') return true;
  // A conversation is not had here; a client that only declares its microphone means a transcription.
  return type === 'realtime' && Object.keys(fields).every((name) => name === 'type' || name === 'audio');
};

/** Applies an update to what was declared. Problem invalid_request naming the field; nothing is changed then. */
export const parseUpdate = (session: unknown, current: Declared): Update => {
  const fields = readObject(session, 'session');
  if (!fields) throw fault('session', 'session is missing.');
  if (!isType(fields.type, fields)) throw fault('session.type', 'Only transcription sessions are had here.');
  const ignored: string[] = [];
  const audio = readObject(fields.audio, 'session.audio') ?? {};
  const input = readObject(audio.input, 'session.audio.input') ?? {};
  const at = 'session.audio.input';
  ignored.push(
    ...Object.keys(fields).filter((name) => ![...BETA_FIELDS, ...ECHOED_FIELDS].includes(name)),
    ...Object.keys(audio)
      .filter((name) => name !== 'input')
      .map((name) => `audio.${name}`),
    ...Object.keys(input)
      .filter((name) => !INPUT_FIELDS.includes(name))
      .map((name) => `audio.input.${name}`),
  );
  const flatFormat = readFormat(fields.input_audio_format, 'session.input_audio_format', current.format);
  const flatWords = readTranscription(
    fields.input_audio_transcription,
    'session.input_audio_transcription',
    current.transcription,
    ignored,
  );
  let turns = current.turnDetection;
  if (Object.hasOwn(fields, 'turn_detection'))
    turns = readTurns(fields.turn_detection, 'session.turn_detection', ignored);
  if (Object.hasOwn(input, 'turn_detection')) turns = readTurns(input.turn_detection, `${at}.turn_detection`, ignored);
  readNoise(fields.input_audio_noise_reduction, 'session.input_audio_noise_reduction', ignored);
  readNoise(input.noise_reduction, `${at}.noise_reduction`, ignored);
  return {
    declared: {
      format: readFormat(input.format, `${at}.format`, flatFormat),
      transcription: readTranscription(input.transcription, `${at}.transcription`, flatWords, ignored),
      turnDetection: turns,
      include: readTexts(fields.include, 'session.include') ?? current.include,
      ...readService(fields.service, current, ignored),
    },
    ignored,
  };
};
