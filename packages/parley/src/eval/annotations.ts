/**
 * Reference files in the formats of speech evaluations, line by line. Each function takes a file's text and returns what
 * it says of each recording it names; a line that cannot be read throws an Error with its number.
 */
import type { Span, Turn } from './diarization-errors.ts';
import type { TimedWord } from './word-times.ts';

/** A stretch with what is said in it; `ignored` ones are not scored. */
export type SpokenSpan = Span & { readonly text: string; readonly ignored: boolean };

/** A text and the recording it belongs to, by its name without ending. */
export type Named<T> = { readonly id: string; readonly value: T };

/** sclite's way to leave a stretch out of the score. */
const IGNORED = 'ignore_time_segment_in_scoring';
const COMMENT = ';;';
/** Labels between angle brackets that may stand before the text of a line of STM. */
const LABEL = /^<[^<>]*>$/;

const linesOf = (text: string): { readonly number: number; readonly line: string }[] =>
  text
    .replace(/^\ufeff/, '')
    .split(/\r?\n/)
    .map((line, index) => ({ number: index + 1, line: line.trim() }))
    .filter(({ line }) => line !== '' && !line.startsWith(COMMENT));

const readLines = <T>(text: string, read: (fields: readonly string[], line: string) => T | undefined): T[] =>
  linesOf(text).flatMap(({ number, line }) => {
    try {
      const value = read(line.split(/\s+/), line);
      return value === undefined ? [] : [value];
    } catch (thrown) {
      throw new Error(`line ${number}: ${(thrown as Error).message}`);
    }
  });

const toSeconds = (text: string | undefined, what: string): number => {
  const value = Number(text);
  if (text === undefined || text === '' || !Number.isFinite(value) || value < 0)
    throw new Error(`${what} is not a number of seconds.`);
  return value;
};

const toSpan = (start: string | undefined, end: string | undefined): Span => {
  const span = { start: toSeconds(start, 'the start'), end: toSeconds(end, 'the end') };
  if (span.end < span.start) throw new Error('ends before it starts.');
  return span;
};

const toLength = (start: string | undefined, length: string | undefined): Span => {
  const from = toSeconds(start, 'the start');
  return { start: from, end: from + toSeconds(length, 'the length') };
};

/** Choices between several readings are not understood. */
const checkText = (text: string): string => {
  if (/[{}]/.test(text)) throw new Error('alternatives in { } are not understood.');
  return text;
};

/** LibriSpeech's `*.trans.txt`: `ID TEXT`. */
export const readTrans = (text: string): Named<string>[] =>
  readLines(text, ([id = '', ...words]) => ({ id, value: words.join(' ') }));

/** sclite's `trn`: `TEXT (ID)`. */
export const readTrn = (text: string): Named<string>[] =>
  readLines(text, (_fields, line) => {
    const found = /^(.*?)\s*\(([^()]+)\)$/.exec(line);
    if (!found) throw new Error('must end with the id of the utterance in brackets.');
    return { id: found[2]!, value: checkText(found[1]!) };
  });

/** NIST's STM: `ID CHANNEL SPEAKER START END [<LABELS>] TEXT`. */
export const readStm = (text: string): Named<SpokenSpan>[] =>
  readLines(text, ([id = '', _channel, _speaker, start, end, ...words]) => {
    const span = toSpan(start, end);
    const spoken = words[0] !== undefined && LABEL.test(words[0]) ? words.slice(1) : words;
    const ignored = spoken.join(' ').toLowerCase() === IGNORED;
    return { id, value: { ...span, text: ignored ? '' : checkText(spoken.join(' ')), ignored } };
  });

/** NIST's CTM: `ID CHANNEL START LENGTH WORD [CONFIDENCE]`. */
export const readCtm = (text: string): Named<TimedWord>[] =>
  readLines(text, ([id = '', _channel, start, length, word]) => {
    if (word !== undefined && /^<alt/i.test(word)) throw new Error('alternatives are not understood.');
    const span = toLength(start, length);
    if (word === undefined) throw new Error('has no word.');
    return { id, value: { ...span, word } };
  });

/** NIST's RTTM; of its lines `SPEAKER ID CHANNEL START LENGTH <NA> <NA> NAME …`, others say nothing of turns. */
export const readRttm = (text: string): Named<Turn>[] =>
  readLines(text, ([type, id = '', _channel, start, length, _text, _kind, speaker]) => {
    if (type !== 'SPEAKER') return undefined;
    const span = toLength(start, length);
    if (speaker === undefined || speaker === '<NA>') throw new Error('names no speaker.');
    return { id, value: { ...span, speaker } };
  });

/** NIST's UEM, what is to be scored: `ID CHANNEL START END`. */
export const readUem = (text: string): Named<Span>[] =>
  readLines(text, ([id = '', _channel, start, end]) => ({ id, value: toSpan(start, end) }));
