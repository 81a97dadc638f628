/** Bytes of a client into samples at the one rate a session works with. A sample may be split between two messages. */
import { decodeAlaw, decodePcm16, decodeUlaw, toFloats, toInt16 } from '../audio/pcm.ts';
import { createResampler } from '../audio/resample.ts';
import type { RealtimeFormat } from '../core/realtime.ts';

/** Hz; what the voice detector and nearly every model want. */
export const SESSION_RATE = 16_000;

export type Intake = {
  readonly format: RealtimeFormat;
  /** Where the band of this format ends, Hz. */
  readonly bandHz: number;
  /** Samples at SESSION_RATE, as many as can be said by now. */
  take(bytes: Uint8Array): Int16Array;
  /** What the filter still holds back (about a millisecond). */
  flush(): Int16Array;
  /** Forgets half a sample and what the filter holds. */
  reset(): void;
};

const NONE = new Int16Array(0);

/** Whole samples of 16-bit PCM; an odd last byte is kept for the next message. */
const createPcm16Reader = () => {
  let kept: number | undefined;
  return {
    read: (bytes: Uint8Array): Int16Array => {
      let whole = bytes;
      if (kept !== undefined) {
        whole = new Uint8Array(bytes.length + 1);
        whole[0] = kept;
        whole.set(bytes, 1);
      }
      kept = whole.length % 2 === 1 ? whole.at(-1) : undefined;
      return decodePcm16(whole);
    },
    reset: (): void => {
      kept = undefined;
    },
  };
};

export const createIntake = (format: RealtimeFormat): Intake => {
  const pcm16 = createPcm16Reader();
  const read = { pcm16: pcm16.read, ulaw: decodeUlaw, alaw: decodeAlaw }[format.encoding];
  const isSameRate = format.rate === SESSION_RATE;
  let resampler = createResampler(format.rate, SESSION_RATE);
  return {
    format,
    bandHz: Math.min(format.rate, SESSION_RATE) / 2,
    take: (bytes) => {
      const samples = read(bytes);
      return isSameRate || samples.length === 0 ? samples : toInt16(resampler.push(toFloats(samples)));
    },
    flush: () => {
      if (isSameRate) return NONE;
      const rest = toInt16(resampler.flush());
      resampler = createResampler(format.rate, SESSION_RATE);
      return rest;
    },
    reset: () => {
      pcm16.reset();
      if (!isSameRate) resampler = createResampler(format.rate, SESSION_RATE);
    },
  };
};
