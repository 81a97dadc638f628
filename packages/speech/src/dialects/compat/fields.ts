/**
 * The form of `POST /v1/audio/transcriptions` in every spelling SDKs give it (`name`, `name[]`, JSON or comma lists),
 * and how it becomes a request. Fields nobody here knows are ignored: SDKs add new ones.
 */
import type { TranscriptionRequest, Warning } from '../../core/types.ts';
import { createFormReader, type Form, type FormReader } from '../form.ts';
import { parseHotwords } from '../hotwords.ts';
import { isLanguageTag, toLanguage } from '../language.ts';

export const RESPONSE_FORMATS = ['json', 'verbose_json', 'diarized_json', 'text', 'srt', 'vtt'] as const;
export type ResponseFormat = (typeof RESPONSE_FORMATS)[number];
export type Granularity = 'word' | 'segment';

/** What the form says. Model and language are still names: aliases and installed languages decide what they mean. */
export type CompatForm = {
  readonly request: TranscriptionRequest;
  readonly format: ResponseFormat;
  readonly granularities: ReadonlySet<Granularity>;
  readonly stream: boolean;
  /** Candidates of `languages[]`, best first. */
  readonly languages: readonly string[];
};

const MAX_SPEAKERS = 32;
const MAX_MODEL_CHARS = 256;
/** Formats that a stream of text pieces cannot carry. */
const UNSTREAMED_FORMATS: readonly ResponseFormat[] = ['verbose_json', 'srt', 'vtt'];

/** Reads the whole form. Problem: invalid_request naming the bad field. */
export const parseTranscriptionForm = (form: Form, strict: boolean): CompatForm => {
  const read = createFormReader(form);
  const warnings: Warning[] = [];
  const format = read.choice('response_format', RESPONSE_FORMATS) ?? 'json';
  const granularities = readGranularities(read, format, warnings);
  const stream = read.flag('stream') ?? false;
  if (stream && UNSTREAMED_FORMATS.includes(format)) {
    warnings.push(warn('response_format_ignored', 'response_format', `A stream carries text, not ${format}.`));
  }
  const request = {
    model: readModel(read),
    language: readLanguage(read, 'language', read.text('language')),
    channelMode: undefined,
    // Segments with speakers are what this format is for.
    diarize: format === 'diarized_json' || (read.flag('diarize') ?? false),
    numSpeakers: read.int('num_speakers', 0, MAX_SPEAKERS) ?? 0,
    punctuate: undefined,
    itn: undefined,
    hotwords: readHotwords(read, warnings),
    hotwordsScore: undefined,
    decodingMethod: undefined,
    maxActivePaths: undefined,
    // Asked for words in a format that has no place for them: the model must be able to all the same.
    wordTimestamps: granularities.has('word') ? true : undefined,
    voiceActivity: undefined,
    ...readProbabilities(read, format, warnings),
    ...readChunking(read, warnings),
    strict,
  };
  const languages = listOf(read, 'languages').flatMap((tag) => readLanguage(read, 'languages[]', tag) ?? []);
  noteIgnored(read, warnings);
  read.finish();
  return { request: { ...request, warnings }, format, granularities, stream, languages };
};

const warn = (code: Warning['code'], param: string, message: string): Warning => ({ code, message, param });

const readModel = (read: FormReader): string | undefined => {
  const model = read.text('model');
  if (model === undefined || model.length <= MAX_MODEL_CHARS) return model;
  return read.fault('model', `model must be at most ${MAX_MODEL_CHARS} characters.`);
};

const readLanguage = (read: FormReader, param: string, tag: string | undefined): string | undefined => {
  if (tag === undefined) return undefined;
  return isLanguageTag(tag) ? toLanguage(tag) : read.fault(param, `${param} must be a tag such as en or pt-BR.`);
};

/** A list field: `name` and `name[]`, repeated, and a JSON or comma list inside one value. */
const listOf = (read: FormReader, name: string): string[] =>
  read.all(name, `${name}[]`).flatMap((value) =>
    value
      .replaceAll(/^\[|\]$/g, '')
      .split(',')
      .map((item) => item.trim().replaceAll(/^["']|["']$/g, ''))
      .filter((item) => item !== ''),
  );

const readGranularities = (read: FormReader, format: ResponseFormat, warnings: Warning[]): ReadonlySet<Granularity> => {
  const param = 'timestamp_granularities[]';
  const asked = new Set<Granularity>();
  for (const value of listOf(read, 'timestamp_granularities')) {
    if (value === 'word' || value === 'segment') asked.add(value);
    else read.fault(param, `${param} must be word or segment.`);
  }
  if (asked.size > 0 && format !== 'verbose_json') {
    warnings.push(warn('timestamp_granularities_ignored', param, `${format} carries no timings of this kind.`));
  }
  return asked;
};

const readHotwords = (read: FormReader, warnings: Warning[]): TranscriptionRequest['hotwords'] => {
  const prompt = read.text('prompt');
  const keywords = [...listOf(read, 'keywords'), ...listOf(read, 'hotwords')];
  const parsed = parseHotwords(prompt === undefined ? keywords : [...keywords, prompt], prompt ? 'prompt' : 'keywords');
  if (prompt !== undefined) {
    warnings.push(
      warn('prompt_mapped_to_hotwords', 'prompt', 'prompt was read as a comma-separated list of hotwords.'),
    );
  }
  warnings.push(...parsed.warnings);
  return parsed.hotwords;
};

/** Fields that are understood but change nothing here; temperature must still be a number. */
const noteIgnored = (read: FormReader, warnings: Warning[]): void => {
  if (read.number('temperature', 0, 1) !== undefined) {
    warnings.push(warn('temperature_ignored', 'temperature', 'The decoders do not sample; temperature has no effect.'));
  }
  const known = [
    ...listOf(read, 'known_speaker_names'),
    ...read.all('known_speaker_references', 'known_speaker_references[]'),
  ];
  if (known.length > 0) {
    warnings.push(warn('known_speakers_ignored', 'known_speaker_names[]', 'Speakers are not identified by voice.'));
  }
};

/** Token probabilities have a place in `json` only. */
const readProbabilities = (
  read: FormReader,
  format: ResponseFormat,
  warnings: Warning[],
): Pick<TranscriptionRequest, 'tokenProbabilities'> => {
  if (!listOf(read, 'include').includes('logprobs')) return {};
  if (format === 'json') return { tokenProbabilities: true };
  warnings.push(warn('logprobs_unavailable', 'include[]', `${format} has no place for token probabilities; json has.`));
  return {};
};

const CHUNKING = 'chunking_strategy';
const MIN_SILENCE_MS = 20;
const MAX_SILENCE_MS = 60_000;
/** Members of a chunking strategy that are put to use; its type goes without saying. */
const USED_MEMBERS: ReadonlySet<string> = new Set(['type', 'threshold', 'silence_duration_ms']);

/** The strategy's members, sent as JSON text or as `chunking_strategy[name]`; nothing for `auto`. */
const chunkingMembers = (read: FormReader): ReadonlyMap<string, unknown> => {
  const members = new Map<string, unknown>();
  const whole = read.text(CHUNKING);
  if (whole?.startsWith('{')) {
    try {
      for (const [name, value] of Object.entries(JSON.parse(whole) as object)) members.set(name, value);
    } catch {
      read.fault(CHUNKING, `${CHUNKING} must be auto or an object.`);
    }
  } else if (whole !== undefined && whole !== 'auto') read.fault(CHUNKING, `${CHUNKING} must be auto or an object.`);
  for (const name of read.unknown().filter((field) => field.startsWith(`${CHUNKING}[`) && field.endsWith(']'))) {
    members.set(name.slice(CHUNKING.length + 1, -1), read.text(name));
  }
  return members;
};

const numberIn = (read: FormReader, name: string, value: unknown, min: number, max: number): number | undefined => {
  if (value === undefined) return undefined;
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  if (typeof number === 'number' && number >= min && number <= max) return number;
  return read.fault(CHUNKING, `${CHUNKING}.${name} must be a number from ${min} to ${max}.`);
};

/** `server_vad` sets the detector for this request; how much is kept before speech is the engine's to say. */
const readChunking = (read: FormReader, warnings: Warning[]): Pick<TranscriptionRequest, 'voiceActivityTuning'> => {
  const members = chunkingMembers(read);
  if (members.size === 0) return {};
  const type = members.get('type');
  if (type !== undefined && type !== 'server_vad' && type !== 'auto') {
    read.fault(CHUNKING, `${CHUNKING}.type must be server_vad.`);
  }
  if ([...members.keys()].some((name) => !USED_MEMBERS.has(name))) {
    const message = 'Only threshold and silence_duration_ms are used; the engine cuts recordings its own way.';
    warnings.push(warn('chunking_strategy_applied_partially', CHUNKING, message));
  }
  const threshold = numberIn(read, 'threshold', members.get('threshold'), 0, 1);
  const silenceMs = numberIn(
    read,
    'silence_duration_ms',
    members.get('silence_duration_ms'),
    MIN_SILENCE_MS,
    MAX_SILENCE_MS,
  );
  return {
    voiceActivityTuning: {
      ...(threshold !== undefined && { threshold }),
      ...(silenceMs !== undefined && { minSilenceMs: Math.round(silenceMs) }),
    },
  };
};
