/**
 * Who speaks when, frame by frame: WebRTC's detector (libfvad in WebAssembly) or Silero through sherpa-onnx. Runs in a
 * media process only; Silero is native code.
 */
import { open } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { Fvad } from '@echogarden/fvad-wasm';
import { problem } from '../core/codes.ts';
import { toFloats } from './pcm.ts';

/** Frames of `frameSamples` at VOICE_RATE go in, in order; whether each is speech comes out. */
export type Detector = {
  readonly frameSamples: number;
  /** Frames by which it tells of a beginning too late. */
  readonly leadFrames: number;
  isSpeech(frame: Int16Array): boolean;
  dispose(): void;
};

export type DetectorOptions = { readonly threshold: number; readonly sileroPath: string | undefined };

export const VOICE_RATE = 16_000;
/** WebRTC knows 10, 20 and 30 ms; 30 is the steadiest. */
const WEBRTC_FRAME = 480;
const SILERO_FRAME = 512;
/** Between Silero's own idea of the beginning and the moment it says so, as measured with these settings. */
const SILERO_LEAD = 3;
/** WebRTC's aggressiveness 0..3, by the threshold each stands for. */
const MODE_LIMITS = [0.25, 0.6, 0.85];
const MAX_MODEL_BYTES = 64 * 1024 * 1024;
const MIN_MODEL_BYTES = 10 * 1024;

const modeOf = (threshold: number): number => MODE_LIMITS.filter((limit) => threshold >= limit).length;

const createWebrtc = (fvad: Fvad, threshold: number): Detector => {
  const handle = fvad._fvad_new();
  const pointer = fvad._malloc(2 * WEBRTC_FRAME);
  if (handle === 0 || pointer === 0)
    throw problem('inference_failed', 'The voice activity detector has no memory left.');
  fvad._fvad_set_sample_rate(handle, VOICE_RATE);
  fvad._fvad_set_mode(handle, modeOf(threshold));
  return {
    frameSamples: WEBRTC_FRAME,
    leadFrames: 0,
    isSpeech(frame) {
      fvad.HEAP16.set(frame, pointer >> 1);
      return fvad._fvad_process(handle, pointer, WEBRTC_FRAME) === 1;
    },
    dispose() {
      fvad._free(pointer);
      fvad._fvad_free(handle);
    },
  };
};

/** What is used of sherpa-onnx's Vad; its package has no types for it. */
type SherpaVad = {
  acceptWaveform(samples: Float32Array): void;
  isDetected(): boolean;
  isEmpty(): boolean;
  pop(): void;
};
type Sherpa = { readonly Vad: new (config: unknown, bufferSec: number) => SherpaVad };

const unusable = (message: string, cause?: unknown): Error =>
  problem('model_unavailable', message, { cause, retryAfterSec: 60 });

/** Inputs that only Silero's versions have: `state` since 5, `h` before. */
const SILERO_INPUTS = ['state', 'h'] as const;
/** Tags of onnx.proto: GraphProto.input and ValueInfoProto.name. */
const [INPUT_TAG, NAME_TAG] = [0x5a, 0x0a];

/** Whether the network's graph has an input of this name; the entry's length, one byte, stands between the tags. */
const hasInput = (content: Buffer, name: string): boolean => {
  const entry = Buffer.from([NAME_TAG, name.length, ...Buffer.from(name)]);
  for (let at = content.indexOf(entry); at >= 0; at = content.indexOf(entry, at + 1)) {
    if (content[at - 2] === INPUT_TAG) return true;
  }
  return false;
};

/** Junk and networks that are no Silero abort the process (engine notes), so native code sees neither. */
const checkModel = async (path: string): Promise<void> => {
  const file = await open(path, 'r').catch((cause: unknown) => {
    throw unusable('The voice activity model cannot be read.', cause);
  });
  try {
    const { size } = await file.stat();
    if (size < MIN_MODEL_BYTES || size > MAX_MODEL_BYTES)
      throw unusable('The voice activity model is not an ONNX file.');
    const content = await file.readFile();
    // The first byte of every ONNX file: the tag of ir_version.
    if (content[0] !== 0x08) throw unusable('The voice activity model is not an ONNX file.');
    if (!SILERO_INPUTS.some((input) => hasInput(content, input)))
      throw unusable('The voice activity model is no Silero.');
  } finally {
    await file.close();
  }
};

const createSilero = (sherpa: Sherpa, model: string, threshold: number): Detector => {
  // The smoothing is done by cut.ts, the same for both detectors, so Silero's own is kept short.
  const sileroVad = { model, threshold, minSilenceDuration: 0.1, minSpeechDuration: 0.03, windowSize: SILERO_FRAME };
  const vad = new sherpa.Vad({ sileroVad, sampleRate: VOICE_RATE, numThreads: 1, debug: 0 }, 30);
  return {
    frameSamples: SILERO_FRAME,
    leadFrames: SILERO_LEAD,
    isSpeech(frame) {
      vad.acceptWaveform(toFloats(frame));
      while (!vad.isEmpty()) vad.pop();
      return vad.isDetected();
    },
    dispose: () => undefined,
  };
};

/** Makes detectors, one for each channel. Problems: model_unavailable (the Silero file is missing or no model). */
export const openDetectors = async ({ threshold, sileroPath }: DetectorOptions): Promise<() => Detector> => {
  if (sileroPath === undefined) {
    const { default: load } = await import('@echogarden/fvad-wasm');
    const fvad = await load();
    return () => createWebrtc(fvad, threshold);
  }
  await checkModel(sileroPath);
  const sherpa: Sherpa = createRequire(import.meta.url)('sherpa-onnx-node');
  return () => createSilero(sherpa, sileroPath, threshold);
};
