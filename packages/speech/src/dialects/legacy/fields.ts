/** The parameters of `/asr` and `/asr_task`, and how they become a request. Names nobody here knows are ignored. */
import { problem } from '../../core/codes.ts';
import type { TranscriptionRequest, Warning } from '../../core/types.ts';
import { parseHotwords } from '../hotwords.ts';
import { isLanguageTag, toLanguage } from '../language.ts';
import type { Parameters } from './parameters.ts';

export const OUTPUTS = ['txt', 'json', 'srt', 'vtt', 'tsv'] as const;
export type Output = (typeof OUTPUTS)[number];

/** The output that was asked for: how it is rendered, and the ending of the file's name. */
export type OutputChoice = {
  readonly output: Output;
  readonly extension: string;
  readonly warnings: readonly Warning[];
};

export type Ask = {
  readonly request: TranscriptionRequest;
  readonly choice: OutputChoice;
  /** Whether json shows words. */
  readonly showsWords: boolean;
};

/** Bazarr and its kin send bare samples of this rate, as the web service made them with ffmpeg. */
const RAW_PCM_RATE = 16_000;
const MAX_SPEAKERS = 32;
const MAX_EXTENSION_CHARS = 16;
/** Longer than a tag may be: `haitian creole`. */
const LANGUAGE_NAME = /^[a-z ]{2,40}$/i;

/** What `output` means. An unknown one is rendered as txt under its own ending, with a warning. */
export const readOutput = (asked: string | undefined): OutputChoice => {
  const name = (asked ?? 'txt').toLowerCase();
  const known = name === 'text' ? 'txt' : OUTPUTS.find((output) => output === name);
  if (known) return { output: known, extension: known, warnings: [] };
  const extension = name.replaceAll(/[^a-z0-9_-]/g, '').slice(0, MAX_EXTENSION_CHARS) || 'txt';
  const message = `There is no output of this name; the answer is txt. Known are ${OUTPUTS.join(', ')}.`;
  return {
    output: 'txt',
    extension,
    warnings: [{ code: 'output_unknown_rendered_as_txt', message, param: 'output' }],
  };
};

/** Problem not_implemented when a translation is asked for. */
export const refuseTranslation = (task: unknown): void => {
  if ([task].flat().at(-1) !== 'translate') return;
  throw problem('not_implemented', 'This service transcribes only; task=translate is not available.', {
    param: 'task',
  });
};

/** Rate of bare samples when `encode` is off; nothing when the bytes are to be decoded whatever they are. */
export const readRawPcmRate = (read: Parameters): number | undefined =>
  read.flag('encode') === false ? RAW_PCM_RATE : undefined;

/** Reads all parameters but the file. Problem: not_implemented for a translation; faults stay in `read`. */
export const readAsk = (read: Parameters, strict: boolean): Ask => {
  refuseTranslation(read.text('task'));
  read.choice('task', ['transcribe', 'translate']);
  const choice = readOutput(read.text('output'));
  const words = read.flag('word_timestamps') ?? false;
  const diarize = read.flag('diarize', 'enable_diarization') ?? false;
  const rawPcmRate = readRawPcmRate(read);
  const hotwords = readHotwords(read);
  const speakers = readSpeakers(read, diarize);
  const request = {
    model: read.text('model'),
    language: readLanguage(read),
    channelMode: undefined,
    diarize,
    numSpeakers: speakers.count,
    punctuate: undefined,
    itn: undefined,
    hotwords: hotwords.phrases,
    hotwordsScore: undefined,
    decodingMethod: undefined,
    maxActivePaths: undefined,
    wordTimestamps: words ? true : undefined,
    voiceActivity: undefined,
    strict,
    ...(rawPcmRate !== undefined && { rawPcmRate }),
  };
  const warnings = [...choice.warnings, ...hotwords.warnings, ...speakers.warnings, ...readIgnored(read)];
  return { request: { ...request, warnings }, choice, showsWords: words || diarize };
};

const readLanguage = (read: Parameters): string | undefined => {
  const found = read.find('language');
  if (found === undefined) return undefined;
  if (isLanguageTag(found.text)) return toLanguage(found.text);
  if (LANGUAGE_NAME.test(found.text)) return found.text.toLowerCase();
  return read.fault(found, 'value is not a language code', 'value_error');
};

type Phrases = { readonly phrases: TranscriptionRequest['hotwords']; readonly warnings: readonly Warning[] };

const readHotwords = (read: Parameters): Phrases => {
  const prompt = read.text('initial_prompt');
  if (prompt === undefined) return { phrases: [], warnings: [] };
  const { hotwords, warnings } = parseHotwords([prompt], 'initial_prompt');
  const message = 'initial_prompt was read as a comma-separated list of hotwords.';
  return {
    phrases: hotwords,
    warnings: [{ code: 'initial_prompt_mapped_to_hotwords', message, param: 'initial_prompt' }, ...warnings],
  };
};

type Speakers = { readonly count: number; readonly warnings: readonly Warning[] };

/** Speakers are told apart with a number of them or with none; a range is neither. 0 counts as not said. */
const readSpeakers = (read: Parameters, diarize: boolean): Speakers => {
  const min = read.int('min_speakers', 0) ?? 0;
  const max = read.int('max_speakers', 0) ?? 0;
  if (max > 0 && max < min) read.tooSmall('max_speakers', min);
  const isExact = max > 0 && (max === min || max === 1);
  const count = isExact ? Math.min(max, MAX_SPEAKERS) : 0;
  if (!diarize || (isExact ? count === max : min <= 1 && max === 0))
    return { count: diarize ? count : 0, warnings: [] };
  const message = isExact
    ? `At most ${MAX_SPEAKERS} speakers are told apart.`
    : 'A range is not used: speakers are counted.';
  return { count, warnings: [{ code: 'speaker_range_reduced', message, param: 'max_speakers' }] };
};

const readIgnored = (read: Parameters): Warning[] =>
  read.flag('vad_filter') === undefined
    ? []
    : [{ code: 'vad_filter_ignored', message: 'Silence is always left out.', param: 'vad_filter' }];
