/** Words to favour, out of comma-separated fields. What is over the limits is left out and reported. */
import type { Hotword, Warning } from '../core/types.ts';

const MAX_HOTWORDS = 500;
const MAX_HOTWORD_CHARS = 100;
const MAX_HOTWORDS_BYTES = 16 * 1024;

export type HotwordList = { readonly hotwords: readonly Hotword[]; readonly warnings: readonly Warning[] };

/** Splits every value at commas. Phrases too long, too many or together too big are dropped with one warning. */
export const parseHotwords = (values: readonly string[], param: string): HotwordList => {
  const phrases = new Set(
    values.flatMap((value) => value.split(',').map((phrase) => phrase.replaceAll(/\s+/g, ' ').trim())),
  );
  phrases.delete('');
  const hotwords: Hotword[] = [];
  let sizeBytes = 0;
  for (const phrase of phrases) {
    const phraseBytes = Buffer.byteLength(phrase);
    if (phrase.length > MAX_HOTWORD_CHARS) continue;
    if (hotwords.length === MAX_HOTWORDS || sizeBytes + phraseBytes > MAX_HOTWORDS_BYTES) break;
    sizeBytes += phraseBytes;
    hotwords.push({ phrase });
  }
  if (hotwords.length === phrases.size) return { hotwords, warnings: [] };
  const message =
    `${phrases.size - hotwords.length} of ${phrases.size} hotwords were left out: at most ${MAX_HOTWORDS} phrases ` +
    `of ${MAX_HOTWORD_CHARS} characters, ${MAX_HOTWORDS_BYTES / 1024} KiB together.`;
  return { hotwords, warnings: [{ code: 'hotwords_truncated', message, param }] };
};
