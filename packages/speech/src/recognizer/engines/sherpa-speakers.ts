/**
 * Tells speakers apart with sherpa-onnx, inside a support process: segmentation, an embedding for each stretch, and
 * clustering over the whole recording. Holds the recording as 16-bit samples, then as floats: at its peak 96 kB a second,
 * 350 MB an hour. The clustering compares every stretch with every other: its memory grows with the square of the length.
 */
import { createRequire } from 'node:module';
import type { SpeakersOptions, Turn } from '../support-messages.ts';
import { type Announce, EngineRefusal } from './engine.ts';
import { readOnnxFacts } from './onnx-metadata.ts';

/** The part of sherpa-onnx-node's native module that is used here: the package's own class only works synchronously. */
type Addon = {
  createOfflineSpeakerDiarization(config: unknown): object;
  offlineSpeakerDiarizationProcessAsync(
    handle: object,
    samples: Float32Array,
    onProgress: () => number,
  ): Promise<Turn[]>;
};

const SAMPLE_RATE = 16_000;
const INT16_FULL_SCALE = 32_768;
/** Less than this is nobody's turn, s. */
const SHORTEST_SEC = 0.1;

const checkFile = async (path: string, role: string, keys: readonly string[]): Promise<void> => {
  const { metadata } = await readOnnxFacts(path, role);
  const absent = keys.filter((key) => !metadata.has(key));
  if (absent.length > 0) throw new EngineRefusal(`${role} has no ${absent.join(', ')} in its metadata`);
  const rate = Number(metadata.get('sample_rate'));
  if (rate !== SAMPLE_RATE) throw new EngineRefusal(`${role} wants ${rate} Hz`);
};

const configOf = (options: SpeakersOptions) => {
  const common = { numThreads: options.numThreads, debug: 0, provider: 'cpu' };
  return {
    segmentation: { pyannote: { model: options.segmentation }, ...common },
    embedding: { model: options.embedding, ...common },
    clustering: { numClusters: options.numSpeakers > 0 ? options.numSpeakers : -1, threshold: options.threshold },
    minDurationOn: options.minDurationOn,
    minDurationOff: options.minDurationOff,
  };
};

/** Samples that come in pieces, each with its place; what is left out is silence. */
const createRecording = () => {
  const pieces: { readonly at: number; readonly samples: Int16Array }[] = [];
  let length = 0;
  return {
    take: (at: number, samples: Int16Array): void => {
      pieces.push({ at, samples });
      length = Math.max(length, at + samples.length);
    },
    /** The whole as floats; the pieces are let go. */
    whole: (): Float32Array => {
      const floats = new Float32Array(length);
      for (const { at, samples } of pieces.splice(0)) {
        for (let index = 0; index < samples.length; index += 1) floats[at + index] = samples[index]! / INT16_FULL_SCALE;
      }
      return floats;
    },
  };
};

/** Loads both models. Rejects with EngineRefusal. */
export const openSherpaSpeakers = async (options: SpeakersOptions, announce: Announce) => {
  announce('checking the speaker models');
  await checkFile(options.segmentation, 'segmentation', ['num_speakers', 'window_size', 'receptive_field_shift']);
  await checkFile(options.embedding, 'embedding', ['output_dim']);
  announce('loading the speaker models');
  const addon = createRequire(import.meta.url)('sherpa-onnx-node/addon.js') as Addon;
  const handle = addon.createOfflineSpeakerDiarization(configOf(options));
  const recording = createRecording();
  // The native pass reads both on another thread and holds neither: collected, they would end the process.
  const held: { handle: object; samples: Float32Array | undefined } = { handle, samples: undefined };
  return {
    held,
    take: recording.take,
    /** Who speaks when. Runs on another thread and cannot be stopped but with the process. */
    tellApart: async (): Promise<Turn[]> => {
      const samples = recording.whole();
      if (samples.length < SHORTEST_SEC * SAMPLE_RATE) return [];
      announce('telling speakers apart');
      held.samples = samples;
      const turns = await addon.offlineSpeakerDiarizationProcessAsync(held.handle, samples, () => 0);
      held.samples = undefined;
      return turns.map(({ start, end, speaker }) => ({ start, end, speaker }));
    },
  };
};
