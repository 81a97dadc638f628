/**
 * Peaks of a recording for drawing, with memory that does not grow with its length: WAV is read piece by piece, MP3 decoded
 * piece by piece, other formats at once up to a size. Undefined for what is too long or cannot be decoded here.
 */

/** Peaks for each second: enough for a wide screen, and no more than 100; an hour has 36,000. */
const rateFor = (durationSec: number): number =>
  Math.min(100, Math.max(10, Math.ceil(2000 / Math.max(durationSec, 1))));
const PIECE_BYTES = 2 ** 21;
const HEAD_BYTES = 2 ** 16;
/** What a browser may hold decoded, as 32-bit samples of two channels at 48 kHz: about twenty minutes. */
const MAX_DECODED_SEC = 1200;
const DECODE_RATE = 8000;

export type Peaks = Float32Array<ArrayBuffer>;

export const readPeaks = async (file: Blob, durationSec: number, signal: AbortSignal): Promise<Peaks | undefined> => {
  const head = new DataView(await file.slice(0, HEAD_BYTES).arrayBuffer());
  const rate = rateFor(durationSec);
  const wav = readWavHead(head);
  if (wav) return readWavPeaks(file, wav, rate, signal);
  try {
    if (isMp3(head)) return await readPieces(file, PIECE_BYTES, durationSec * rate, rate, signal);
    return durationSec <= MAX_DECODED_SEC
      ? await readPieces(file, file.size, durationSec * rate, rate, signal)
      : undefined;
  } catch {
    return undefined;
  }
};

type Wav = {
  readonly dataAt: number;
  readonly dataBytes: number;
  readonly frameBytes: number;
  readonly sampleRate: number;
  readonly sampleOf: (view: DataView, at: number) => number;
};

const SAMPLES: Readonly<Record<string, (view: DataView, at: number) => number>> = {
  '1/8': (view, at) => (view.getUint8(at) - 128) / 128,
  '1/16': (view, at) => view.getInt16(at, true) / 32_768,
  '1/24': (view, at) => view.getInt16(at + 1, true) / 32_768,
  '1/32': (view, at) => view.getInt32(at, true) / 2 ** 31,
  '3/32': (view, at) => view.getFloat32(at, true),
};
const WAVE_EXTENSIBLE = 0xfffe;

const textAt = (view: DataView, at: number): string =>
  String.fromCharCode(...Array.from({ length: 4 }, (_, offset) => view.getUint8(at + offset)));

/** RIFF WAVE with plain samples; undefined for anything else. */
const readWavHead = (view: DataView): Wav | undefined => {
  if (view.byteLength < 44 || textAt(view, 0) !== 'RIFF' || textAt(view, 8) !== 'WAVE') return undefined;
  let format: Omit<Wav, 'dataAt' | 'dataBytes'> | undefined;
  for (let at = 12; at + 8 <= view.byteLength; ) {
    const name = textAt(view, at);
    const size = view.getUint32(at + 4, true);
    if (name === 'data') return format && { ...format, dataAt: at + 8, dataBytes: size };
    if (name === 'fmt ' && at + 34 <= view.byteLength) format = readWavFormat(view, at + 8);
    at += 8 + size + (size % 2);
  }
  return undefined;
};

const readWavFormat = (view: DataView, at: number): Omit<Wav, 'dataAt' | 'dataBytes'> | undefined => {
  const tag = view.getUint16(at, true);
  const kind = tag === WAVE_EXTENSIBLE ? view.getUint16(at + 24, true) : tag;
  const sampleOf = SAMPLES[`${kind}/${view.getUint16(at + 14, true)}`];
  const frameBytes = view.getUint16(at + 12, true);
  return sampleOf && frameBytes > 0 ? { frameBytes, sampleRate: view.getUint32(at + 4, true), sampleOf } : undefined;
};

/** The first channel's peaks; a piece is a whole number of peaks. */
const readWavPeaks = async (file: Blob, wav: Wav, rate: number, signal: AbortSignal): Promise<Peaks> => {
  const peakBytes = wav.frameBytes * Math.max(1, Math.round(wav.sampleRate / rate));
  const pieceBytes = Math.max(1, Math.floor(PIECE_BYTES / peakBytes)) * peakBytes;
  const end = Math.min(file.size, wav.dataAt + wav.dataBytes);
  const peaks: number[] = [];
  for (let at = wav.dataAt; at < end; at += pieceBytes) {
    signal.throwIfAborted();
    const view = new DataView(await file.slice(at, Math.min(end, at + pieceBytes)).arrayBuffer());
    for (let from = 0; from < view.byteLength; from += peakBytes) {
      let peak = 0;
      const until = Math.min(from + peakBytes, view.byteLength - wav.frameBytes);
      for (let frame = from; frame <= until; frame += wav.frameBytes) {
        const level = Math.abs(wav.sampleOf(view, frame));
        if (level > peak) peak = level;
      }
      peaks.push(peak);
    }
  }
  return Float32Array.from(peaks);
};

/** `ID3`, or the eleven set bits of a frame (ISO 11172-3). Frames find their own beginning, so that any cut will do. */
const isMp3 = (view: DataView): boolean =>
  view.byteLength > 4 &&
  (textAt(view, 0).startsWith('ID3') ||
    (view.getUint8(0) === 0xff && (view.getUint8(1) & 0xe0) === 0xe0 && (view.getUint8(1) & 0x06) === 0x02));

const readPieces = async (
  file: Blob,
  pieceBytes: number,
  count: number,
  rate: number,
  signal: AbortSignal,
): Promise<Peaks> => {
  const context = new OfflineAudioContext(1, 1, DECODE_RATE);
  const peaks: number[] = [];
  for (let at = 0; at < file.size; at += pieceBytes) {
    signal.throwIfAborted();
    const piece = await file.slice(at, at + pieceBytes).arrayBuffer();
    // A piece that holds a tag or a picture and no sound cannot be decoded and is left out.
    const audio = await context.decodeAudioData(piece).catch(() => undefined);
    if (audio) addPeaks(audio.getChannelData(0), DECODE_RATE / rate, peaks);
  }
  if (peaks.length === 0) throw new Error('Nothing in it can be decoded here.');
  return stretch(Float32Array.from(peaks), Math.max(1, Math.round(count)));
};

const addPeaks = (samples: Float32Array, perPeak: number, peaks: number[]): void => {
  for (let from = 0; from < samples.length; from += perPeak) {
    let peak = 0;
    for (let at = Math.floor(from); at < Math.min(from + perPeak, samples.length); at += 1) {
      peak = Math.max(peak, Math.abs(samples[at]!));
    }
    peaks.push(peak);
  }
};

/** Cuts lose a frame here and there; the drawing shall still end with the recording. */
const stretch = (peaks: Peaks, length: number): Peaks =>
  Float32Array.from({ length }, (_, at) => peaks[Math.floor((at * peaks.length) / length)] ?? 0);
