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
/** Names of unknown fields are cut to this in messages. */
const MAX_SHOWN_NAME_CHARS = 64;

export type NativeForm = { readonly request: TranscriptionRequest; readonly format: ResponseFormat };

/** Reads the whole form. Problem: invalid_request naming the bad field, all of them under `errors` when several are. */
export const parseTranscribeForm = (form: Form, strictHeader: boolean): NativeForm => {
  const read = createFormReader(form);
  const strict = read.flag('strict') ?? false;
  const model = readModel(read);
  const language = readLanguage(read);
  const hotwords = parseHotwords(read.all('hotwords', 'hotwords[]'), 'hotwords');
  const request = {
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
  };
  const format = read.choice('response_format', RESPONSE_FORMATS) ?? 'json';
  if (read.text('webhook_url') !== undefined) read.fault('webhook_url', 'webhook_url is for jobs only.');
  const unknown = readUnknown(read, request.strict);
  read.finish();
  return { request: { ...request, warnings: [...hotwords.warnings, ...unknown] }, format };
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

const readUnknown = (read: FormReader, strict: boolean): Warning[] =>
  read.unknown().flatMap((name) => {
    const shown = name.slice(0, MAX_SHOWN_NAME_CHARS);
    if (!strict) return [{ code: 'unknown_parameter', message: `There is no field ${shown}.`, param: shown } as const];
    read.fault(shown, `There is no field ${shown}.`);
    return [];
  });
