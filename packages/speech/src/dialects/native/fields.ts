/** The form of `POST /api/v1/transcribe`: every field with its bounds, and how it becomes a request. */
import type { ChannelMode, DecodingMethod, TranscriptionRequest, Warning } from '../../core/types.ts';
import { createFormReader, type Form, type FormReader } from '../form.ts';
import { parseHotwords } from '../hotwords.ts';
import { isLanguageTag, toLanguage } from '../language.ts';

export const RESPONSE_FORMATS = ['json', 'text', 'srt', 'vtt', 'tsv'] as const;
export type ResponseFormat = (typeof RESPONSE_FORMATS)[number];

export const CHANNEL_MODES = ['downmix', 'first', 'split'] as const satisfies readonly ChannelMode[];
export const DECODING_METHODS = ['greedy_search', 'modified_beam_search'] as const satisfies readonly DecodingMethod[];
const MODEL = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}(@[A-Za-z0-9][A-Za-z0-9._-]{0,63})?$/;
const MAX_SPEAKERS = 32;
const MAX_HOTWORDS_SCORE = 10;
const MAX_ACTIVE_PATHS = 32;
const MAX_URL_CHARS = 2048;
/** Names of unknown fields are cut to this in messages. */
const MAX_SHOWN_NAME_CHARS = 64;

export type NativeForm = { readonly request: TranscriptionRequest; readonly format: ResponseFormat };

export type JobForm = { readonly request: TranscriptionRequest; readonly webhookUrl: string | undefined };

/** Reads the form of a synchronous request. Problem: invalid_request naming the bad field, all of them under `errors`. */
export const parseTranscribeForm = (form: Form, strictHeader: boolean): NativeForm => {
  const read = createFormReader(form);
  const request = readRequest(read, strictHeader);
  const format = read.choice('response_format', RESPONSE_FORMATS) ?? 'json';
  if (read.text('webhook_url') !== undefined) read.fault('webhook_url', 'webhook_url is for jobs only.');
  return { request: finishRequest(read, request), format };
};

/** Reads the form of a job: the same fields and `webhook_url`. `response_format` belongs to reading the result. */
export const parseJobForm = (form: Form, strictHeader: boolean): JobForm => {
  const read = createFormReader(form);
  const request = readRequest(read, strictHeader);
  read.choice('response_format', RESPONSE_FORMATS);
  const webhookUrl = read.text('webhook_url');
  if (webhookUrl !== undefined && webhookUrl.length > MAX_URL_CHARS) {
    read.fault('webhook_url', `webhook_url has at most ${MAX_URL_CHARS} characters.`);
  }
  return { request: finishRequest(read, request), webhookUrl };
};

const readRequest = (read: FormReader, strictHeader: boolean): TranscriptionRequest => {
  const strict = read.flag('strict') ?? false;
  const model = readModel(read);
  const language = readLanguage(read);
  const hotwords = parseHotwords(read.all('hotwords', 'hotwords[]'), 'hotwords');
  return {
    model,
    language,
    channelMode: read.choice('channel_mode', CHANNEL_MODES),
    diarize: read.flag('diarize') ?? false,
    numSpeakers: read.int('num_speakers', 0, MAX_SPEAKERS) ?? 0,
    punctuate: read.flag('punctuate'),
    itn: read.flag('itn'),
    hotwords: hotwords.hotwords,
    hotwordsScore: read.number('hotwords_score', 0, MAX_HOTWORDS_SCORE),
    decodingMethod: read.choice('decoding_method', DECODING_METHODS),
    maxActivePaths: read.int('max_active_paths', 1, MAX_ACTIVE_PATHS),
    wordTimestamps: read.flag('word_timestamps'),
    voiceActivity: read.flag('vad'),
    strict: strict || strictHeader,
    warnings: hotwords.warnings,
  };
};

/** Says what nobody asked about, and throws when anything was wrong. */
const finishRequest = (read: FormReader, request: TranscriptionRequest): TranscriptionRequest => {
  const unknown = readUnknown(read, request.strict);
  read.finish();
  return { ...request, warnings: [...request.warnings, ...unknown] };
};

const readModel = (read: FormReader): string | undefined => {
  const model = read.text('model');
  if (model === undefined || MODEL.test(model)) return model;
  return read.fault('model', 'model must be an id of letters, digits, dots, dashes, optionally with @revision.');
};

const readLanguage = (read: FormReader): string | undefined => {
  const tag = read.text('language');
  if (tag === undefined) return undefined;
  return isLanguageTag(tag) ? toLanguage(tag) : read.fault('language', 'language must be a tag such as en or pt-BR.');
};

/** A warning for each field that nobody asked for, a fault when strict. */
export const readUnknown = (read: FormReader, strict: boolean): Warning[] =>
  read.unknown().flatMap((name) => {
    const shown = name.slice(0, MAX_SHOWN_NAME_CHARS);
    if (!strict) return [{ code: 'unknown_parameter', message: `There is no field ${shown}.`, param: shown } as const];
    read.fault(shown, `There is no field ${shown}.`);
    return [];
  });
