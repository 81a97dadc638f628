/** Bytes of a client into samples at the one rate a session works with. A sample may be split between two messages. */
import { decodeAlaw, decodePcm16, decodeUlaw, toFloats, toInt16 } from '../audio/pcm.ts';
import { createResampler } from '../audio/resample.ts';
import type { RealtimeFormat } from '../core/realtime.ts';
import { joinSamples } from './recent.ts';

/** Hz; what the voice detector and nearly every model want. */
export const SESSION_RATE = 16_000;

export type Intake = {
  readonly format: RealtimeFormat;
  /** Where the band of this format ends, Hz. */
  readonly bandHz: number;
  /** Samples at SESSION_RATE, as many as can be said by now; crumbs wait for each other. */
  take(bytes: Uint8Array): Int16Array;
  /** What still waits, in the filter (about a millisecond) or as crumbs. */
  flush(): Int16Array;
  /** Forgets half a sample and what still waits. */
  reset(): void;
};

const NONE = new Int16Array(0);
/** Less than this, 10 ms, is not worth a message to the engine. */
const LEAST_SAMPLES = SESSION_RATE / 100;

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
  let crumbs: Int16Array[] = [];
  let crumbSamples = 0;
  const sweep = (): Int16Array => {
    const swept = joinSamples(crumbs);
    crumbs = [];
    crumbSamples = 0;
    return swept;
  };
  const gather = (samples: Int16Array): Int16Array => {
    if (crumbSamples === 0 && samples.length >= LEAST_SAMPLES) return samples;
    crumbs.push(samples);
    crumbSamples += samples.length;
    return crumbSamples < LEAST_SAMPLES ? NONE : sweep();
  };
  return {
    format,
    bandHz: Math.min(format.rate, SESSION_RATE) / 2,
    take: (bytes) => {
      const samples = read(bytes);
      if (samples.length === 0) return NONE;
      return gather(isSameRate ? samples : toInt16(resampler.push(toFloats(samples))));
    },
    flush: () => {
      if (!isSameRate) {
        crumbs.push(toInt16(resampler.flush()));
        resampler = createResampler(format.rate, SESSION_RATE);
      }
      return sweep();
    },
    reset: () => {
      pcm16.reset();
      sweep();
      if (!isSameRate) resampler = createResampler(format.rate, SESSION_RATE);
    },
  };
};
