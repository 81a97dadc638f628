/** SubRip and WebVTT: the only place where time codes are written. Hours are always shown, milliseconds rounded. */
import type { Segment } from '../core/types.ts';
import { type Cue, cuesOf, type SubtitleLimits } from './cues.ts';

/** SubRip: numbered cues from 1, `HH:MM:SS,mmm`, a speaker as `[spk_0]: ` in front of the text. */
export const renderSrt = (segments: readonly Segment[], limits: SubtitleLimits): string =>
  cuesOf(segments, limits)
    .map((cue, at) => `${at + 1}\n${timesOf(cue, ',')}\n${speakerPrefix(cue)}${linesOf(cue).join('\n')}\n\n`)
    .join('');

/** WebVTT (W3C): `HH:MM:SS.mmm`, a speaker as a voice span `<v spk_0>`; `&` and `<` in text are escaped. */
export const renderVtt = (segments: readonly Segment[], limits: SubtitleLimits): string =>
  `WEBVTT\n\n${cuesOf(segments, limits)
    .map((cue) => `${timesOf(cue, '.')}\n${voiceOf(cue)}${linesOf(cue).map(escapeVtt).join('\n')}\n\n`)
    .join('')}`;

/** WebVTT as whisper writes it (openai/whisper, utils.py): `MM:SS.mmm`, `[speaker]: `, nothing escaped but arrows. */
export const renderWhisperVtt = (segments: readonly Segment[], limits: SubtitleLimits): string =>
  `WEBVTT\n\n${cuesOf(segments, limits)
    .map((cue) => {
      const times = `${shortTimeCodeOf(cue.startSec)} --> ${shortTimeCodeOf(cue.endSec)}`;
      return `${times}\n${speakerPrefix(cue)}${linesOf(cue).join('\n')}\n\n`;
    })
    .join('')}`;

const timesOf = (cue: Cue, point: ',' | '.'): string =>
  `${timeCodeOf(cue.startSec, point)} --> ${timeCodeOf(cue.endSec, point)}`;

/** Hours only from the first hour on. */
const shortTimeCodeOf = (seconds: number): string => timeCodeOf(seconds, '.').replace(/^00:/, '');

/** `HH:MM:SS` with milliseconds after `point`. */
export const timeCodeOf = (seconds: number, point: ',' | '.'): string => {
  const totalMs = Math.max(0, Math.round(seconds * 1000));
  const pad = (value: number, width: number): string => String(Math.floor(value)).padStart(width, '0');
  const [hours, minutes, secs] = [totalMs / 3_600_000, (totalMs / 60_000) % 60, (totalMs / 1000) % 60];
  return `${pad(hours, 2)}:${pad(minutes, 2)}:${pad(secs, 2)}${point}${pad(totalMs % 1000, 3)}`;
};

/** An arrow in the text would end the time line of a careless reader. */
const linesOf = (cue: Cue): string[] => cue.lines.map((line) => line.replaceAll('-->', '->'));

const speakerPrefix = (cue: Cue): string => (cue.speaker === null ? '' : `[${cue.speaker}]: `);
const voiceOf = (cue: Cue): string => (cue.speaker === null ? '' : `<v ${cue.speaker}>`);
const escapeVtt = (line: string): string => line.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
