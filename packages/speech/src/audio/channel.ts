/** One channel at the recogniser's rate: keeps the samples that are still needed, asks the detector, hands out pieces. */
import { type CutOptions, createCutter, type Span } from './cut.ts';
import { toInt16 } from './pcm.ts';
import { createResampler } from './resample.ts';
import { type Detector, VOICE_RATE } from './voice-activity.ts';

export type Piece = { readonly startSample: number; readonly samples: Int16Array };

export type Channel = {
  /** Samples at the channel's rate. */
  push(samples: Float32Array): Piece[];
  flush(): Piece[];
  /** Stretches of speech in seconds; complete after `flush`. */
  speech(): { start: number; end: number }[];
  dispose(): void;
};

export type ChannelOptions = {
  readonly rate: number;
  /** Without one everything counts as speech and only length and loudness cut. */
  readonly detector: Detector | undefined;
  readonly cut: Omit<CutOptions, 'frameSec'>;
};

/** Frame length where no detector says one. */
const PLAIN_FRAME_SEC = 0.03;
/** Frames quieter than this are no speech, whatever a detector says; 16-bit dither lies here (-84 dB). */
const MIN_RMS = 2;

/** Samples by absolute index; forgets the old ones. */
const createBuffer = () => {
  let held = new Int16Array(1 << 15);
  let first = 0;
  let count = 0;
  return {
    append(samples: Int16Array): void {
      if (count + samples.length > held.length) {
        const grown = new Int16Array(2 * (count + samples.length));
        grown.set(held.subarray(0, count));
        held = grown;
      }
      held.set(samples, count);
      count += samples.length;
    },
    dropBefore(index: number): void {
      const stale = Math.min(count, index - first);
      // Moving the rest down costs its length, so it waits until there is as much to drop.
      if (stale <= 0 || stale < count - stale) return;
      held.copyWithin(0, stale, count);
      first += stale;
      count -= stale;
    },
    slice: (start: number, end: number): Int16Array =>
      held.slice(Math.max(0, start - first), Math.min(count, end - first)),
    rms(start: number, end: number): number {
      let sum = 0;
      const to = Math.min(count, end - first);
      for (let i = start - first; i < to; i++) sum += held[i]! * held[i]!;
      return Math.sqrt(sum / Math.max(1, end - start));
    },
    end: (): number => first + count,
  };
};

/** Joins blocks into frames of one length. */
const createFramer = (length: number) => {
  let rest = new Int16Array(0);
  return {
    *push(samples: Int16Array): Generator<Int16Array> {
      const joined = new Int16Array(rest.length + samples.length);
      joined.set(rest);
      joined.set(samples, rest.length);
      let at = 0;
      for (; at + length <= joined.length; at += length) yield joined.subarray(at, at + length);
      rest = joined.slice(at);
    },
    /** The last frame, filled up with silence; none when nothing is left. */
    *flush(): Generator<Int16Array> {
      if (rest.length === 0) return;
      const last = new Int16Array(length);
      last.set(rest);
      rest = new Int16Array(0);
      yield last;
    },
  };
};

/** A channel that hands out pieces as soon as they are settled. */
export const createChannel = ({ rate, detector, cut }: ChannelOptions): Channel => {
  const frameSec = detector === undefined ? PLAIN_FRAME_SEC : detector.frameSamples / VOICE_RATE;
  const frameRate = detector === undefined ? rate : VOICE_RATE;
  const cutter = createCutter({ ...cut, frameSec, leadFrames: detector?.leadFrames ?? 0 });
  const buffer = createBuffer();
  const framer = createFramer(Math.round(frameSec * frameRate));
  const voice = createResampler(rate, frameRate);
  const sampleOf = (frame: number): number => Math.round(frame * frameSec * rate);
  let frames = 0;

  const pieceOf = (span: Span): Piece => {
    const startSample = sampleOf(span.start);
    return { startSample, samples: buffer.slice(startSample, sampleOf(span.end)) };
  };
  const decide = (frame: Int16Array): Piece[] => {
    const level = buffer.rms(sampleOf(frames), sampleOf(frames + 1));
    frames++;
    const heard = detector === undefined || detector.isSpeech(frame);
    return cutter.push(heard && (detector === undefined || level >= MIN_RMS), level).map(pieceOf);
  };
  const take = (pieces: Iterable<Int16Array>): Piece[] => {
    const settled = Array.from(pieces, decide).flat();
    buffer.dropBefore(sampleOf(cutter.oldestNeeded()));
    return settled;
  };
  return {
    push(samples) {
      const exact = toInt16(samples);
      buffer.append(exact);
      return take(framer.push(rate === frameRate ? exact : toInt16(voice.push(samples))));
    },
    flush() {
      const pieces = take(framer.push(toInt16(voice.flush())));
      pieces.push(...take(framer.flush()), ...cutter.flush().map(pieceOf));
      return pieces.filter((piece) => piece.samples.length > 0);
    },
    speech() {
      const end = buffer.end() / rate;
      return cutter.speech.map((span) => ({ start: span.start * frameSec, end: Math.min(end, span.end * frameSec) }));
    },
    dispose: () => detector?.dispose(),
  };
};
