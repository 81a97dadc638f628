/**
 * The form of `POST /v1/audio/transcriptions` in every spelling SDKs give it (`name`, `name[]`, JSON or comma lists),
 * and how it becomes a request. Fields nobody here knows are ignored: SDKs add new ones.
 */
import type { TranscriptionRequest, Warning } from '../../core/types.ts';
import { createFormReader, type Form, type FormReader } from '../form.ts';
import { parseHotwords } from '../hotwords.ts';
import { isLanguageTag, toLanguage } from '../language.ts';

export const RESPONSE_FORMATS = ['json', 'verbose_json', 'text', 'srt', 'vtt'] as const;
type ResponseFormat = (typeof RESPONSE_FORMATS)[number];
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
    diarize: read.flag('diarize') ?? false,
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
  if (listOf(read, 'include').includes('logprobs')) {
    warnings.push(warn('logprobs_unavailable', 'include[]', 'The model reports no token probabilities.'));
  }
  const chunking = [
    read.text('chunking_strategy'),
    ...read.unknown().filter((name) => name.startsWith('chunking_strategy[')),
  ];
  if (chunking.some((value) => value !== undefined && value !== 'auto')) {
    warnings.push(
      warn(
        'chunking_strategy_applied_partially',
        'chunking_strategy',
        "The server's own voice activity settings apply.",
      ),
    );
  }
  const known = [
    ...listOf(read, 'known_speaker_names'),
    ...read.all('known_speaker_references', 'known_speaker_references[]'),
  ];
  if (known.length > 0) {
    warnings.push(warn('known_speakers_ignored', 'known_speaker_names[]', 'Speakers are not identified by voice.'));
  }
};
