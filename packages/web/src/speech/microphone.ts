/** The microphone as 16-bit samples, and what was recorded as a WAV file. */
import workletUrl from './microphone.worklet.ts?worker&url';

/** The rate realtime sessions expect unless told otherwise, Hz. */
export const RATE = 24_000;
/** What is kept of a recording; half an hour takes 86 MB. */
const MAX_KEPT_SAMPLES = RATE * 1800;
const WAV_HEAD_BYTES = 44;

export type Microphone = {
  stop(): void;
  /** What was recorded so far, up to half an hour. */
  recorded(): File;
};

/** Asks for the microphone; rejects with NotAllowedError when it is refused. `onSamples` also gets the level, 0 to 1. */
export const openMicrophone = async (onSamples: (samples: Int16Array, level: number) => void): Promise<Microphone> => {
  const stream = await navigator.mediaDevices.getUserMedia({ audio: { channelCount: 1 } });
  const context = new AudioContext({ sampleRate: RATE });
  const kept: Int16Array<ArrayBuffer>[] = [];
  let keptSamples = 0;
  const stop = (): void => {
    for (const track of stream.getTracks()) track.stop();
    if (context.state !== 'closed') void context.close();
  };
  try {
    await context.audioWorklet.addModule(workletUrl);
    const node = new AudioWorkletNode(context, 'microphone');
    node.port.onmessage = ({ data }: MessageEvent<Int16Array<ArrayBuffer>>) => {
      if (keptSamples < MAX_KEPT_SAMPLES) kept.push(data);
      keptSamples += data.length;
      onSamples(data, levelOf(data));
    };
    context.createMediaStreamSource(stream).connect(node);
  } catch (thrown) {
    stop();
    throw thrown;
  }
  return { stop, recorded: () => toWav(kept) };
};

const levelOf = (samples: Int16Array): number => {
  let peak = 0;
  for (const sample of samples) peak = Math.max(peak, Math.abs(sample));
  return peak / 32_768;
};

/** RIFF WAVE, 16 bit, mono. */
const toWav = (pieces: readonly Int16Array<ArrayBuffer>[]): File => {
  const dataBytes = pieces.reduce((sum, piece) => sum + piece.byteLength, 0);
  const head = new DataView(new ArrayBuffer(WAV_HEAD_BYTES));
  const text = (at: number, letters: string): void => {
    for (const [offset, letter] of [...letters].entries()) head.setUint8(at + offset, letter.charCodeAt(0));
  };
  text(0, 'RIFF');
  head.setUint32(4, dataBytes + WAV_HEAD_BYTES - 8, true);
  text(8, 'WAVEfmt ');
  head.setUint32(16, 16, true);
  head.setUint16(20, 1, true);
  head.setUint16(22, 1, true);
  head.setUint32(24, RATE, true);
  head.setUint32(28, RATE * 2, true);
  head.setUint16(32, 2, true);
  head.setUint16(34, 16, true);
  text(36, 'data');
  head.setUint32(40, dataBytes, true);
  const now = new Date().toISOString().slice(0, 19).replaceAll(':', '-');
  return new File([head, ...pieces], `recording-${now}.wav`, { type: 'audio/wav' });
};
