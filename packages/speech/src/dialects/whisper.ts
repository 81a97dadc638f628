/** A segment as whisper writes it, which its clients expect in two dialects. What is not known is 0 or empty. */
import { deflateSync } from 'node:zlib';
import type { Segment } from '../core/types.ts';

/** To three decimals. */
export const round = (value: number): number => Math.round(value * 1000) / 1000;

/**
 * The ten keys of whisper's segment. Whisper puts the space between segments (`lead`) in front of each text, so that
 * joining them gives the whole.
 */
export const toWhisperSegment = (segment: Segment, lead: string): Record<string, unknown> => ({
  id: segment.id,
  seek: Math.round(segment.start * 100),
  start: round(segment.start),
  end: round(segment.end),
  text: `${lead}${segment.text.trim()}`,
  tokens: segment.tokens ?? [],
  temperature: 0,
  avg_logprob: segment.avg_confidence ? round(Math.log(segment.avg_confidence)) : 0,
  compression_ratio: compressionRatioOf(segment.text),
  no_speech_prob: segment.speech_probability === undefined ? 0 : round(1 - segment.speech_probability),
});

/** Whisper's measure of repetition: bytes of the text by bytes of it compressed (openai/whisper, utils.py). */
const compressionRatioOf = (text: string): number => {
  const bytes = Buffer.from(text);
  return bytes.length === 0 ? 0 : round(bytes.length / deflateSync(bytes).length);
};
