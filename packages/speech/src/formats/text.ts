/** Plain text and tab-separated values, and how the texts of segments are joined. */
import type { Segment, Transcript } from '../core/types.ts';

/** Languages written without spaces between words; their segments are joined without one. */
const UNSPACED_LANGUAGES: ReadonlySet<string> = new Set(['ja', 'zh', 'yue', 'th']);

/** What stands between two segments of a language: one space, or nothing for Japanese, Chinese and Thai. */
export const separatorOf = (language: string): string =>
  UNSPACED_LANGUAGES.has(language.toLowerCase().split(/[-_]/, 1)[0] ?? '') ? '' : ' ';

/** Text on one line: every run of white space becomes one space. */
export const toOneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();

/** The whole text and a line feed. */
export const renderText = (transcript: Transcript): string => `${transcript.text}\n`;

/** One segment a line, as whisper writes its txt files; a speaker stands in front as `[speaker]: `. */
export const renderLines = (segments: readonly Segment[]): string =>
  segments.map(({ speaker, text }) => `${speaker === null ? '' : `[${speaker}]: `}${toOneLine(text)}\n`).join('');

/** Header `start end text`, then one segment a line; times in whole milliseconds, tabs in text become spaces. */
export const renderTsv = (segments: readonly Segment[]): string =>
  ['start\tend\ttext', ...segments.map(toTsvLine), ''].join('\n');

const toTsvLine = (segment: Segment): string =>
  `${Math.round(segment.start * 1000)}\t${Math.round(segment.end * 1000)}\t${toOneLine(segment.text)}`;
