/**
 * PocketSphinx 5prealpha: whole utterances, words with frame times and posteriors. Each utterance in flight has a
 * decoder of its own, made when it is first needed, because one decoder knows one utterance at a time.
 */
import { stat } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import type { EngineFacts, EngineModel, Recognition, Utterance } from '../recognizer.ts';
import { type Engine, EngineRefusal, type OpenEngine } from './engine.ts';
import { isNarrowband, NARROWBAND_TRANSFORM, takesNarrowband } from './narrowband.ts';
import { type Decoder, type FoundWord, openPocketsphinxLibrary } from './pocketsphinx-library.ts';

/** Short cuts hurt (its normalisation runs over the utterance), so it is cut only at pauses of a second. */
const CUT = { maxSec: 60, pauseSec: 1, padSec: 0.3 };
const SAMPLE_RATE = 16_000;
const FRAMES_PER_SEC = 100;
/** Best of about 50 settings tried: fewest errors at half the default's cost. */
const SETTINGS = {
  '-lw': '6',
  '-fwdflat': 'no',
  '-bestpathlw': '8',
  '-maxhmmpf': '10000',
  '-maxwpf': '20',
  // Silence taken out would shift the times of every word behind it; leaving it in cost no word where tried.
  '-remove_silence': 'no',
  '-logfn': '/dev/null',
};
/** Without these in its folder the acoustic model ends the process. */
const ACOUSTIC_FILES = ['mdef', 'means', 'variances', 'transition_matrices', 'feat.params'];
/** Shorter sound gives no frame with all its neighbours; it is filled up with zeros. */
const SHORTEST_SEC = 0.3;
/** Digital silence, on which the decoder guesses a word: no sample beyond this. */
const SILENT_PEAK = 8;
const FILLER = /^(?:<.*>|\[.*\]|\+\+.*\+\+)$/;
const ALTERNATE = /\(\d+\)$/;

const checkFile = async (path: string | undefined, role: string): Promise<void> => {
  if (path === undefined) throw new EngineRefusal(`the manifest names no ${role}`);
  const found = await stat(path).catch(() => undefined);
  if (!found?.isFile()) throw new EngineRefusal(`${role} is missing`);
  if (found.size === 0) throw new EngineRefusal(`${role} is empty`);
};

const checkModel = async (model: EngineModel): Promise<void> => {
  if (model.sampleRate !== SAMPLE_RATE) throw new EngineRefusal('PocketSphinx models here are of 16000 Hz');
  const { hmm, dict, lm } = model.files;
  if (hmm === undefined) throw new EngineRefusal('the manifest names no hmm');
  for (const name of ACOUSTIC_FILES) await checkFile(join(hmm, name), `hmm/${name}`);
  await checkFile(dict, 'dict');
  await checkFile(lm, 'lm');
};

const factsOf = (model: EngineModel, slots: number): EngineFacts => ({
  engine: 'pocketsphinx',
  family: model.family,
  sampleRate: SAMPLE_RATE,
  cut: CUT,
  slots,
  capabilities: {
    word_timestamps: true,
    confidence: true,
    language_detect: false,
    punctuation_builtin: false,
    hotwords: false,
    streaming: false,
  },
  decodingMethods: ['greedy_search'],
  timestamps: true,
});

const isSilent = (samples: Int16Array): boolean => samples.every((sample) => Math.abs(sample) <= SILENT_PEAK);

const toSamples = ({ samples, sampleRate }: Utterance): Int16Array => {
  if (sampleRate !== SAMPLE_RATE) throw new EngineRefusal('PocketSphinx takes 16000 Hz only');
  const shortest = SHORTEST_SEC * SAMPLE_RATE;
  if (samples.length >= shortest) return samples;
  const padded = new Int16Array(shortest);
  padded.set(samples);
  return padded;
};

const toRecognition = (found: readonly FoundWord[]): Recognition => {
  const words = found
    .filter(({ word }) => !FILLER.test(word))
    .map(({ word, firstFrame, lastFrame, posterior }) => ({
      word: word.replace(ALTERNATE, ''),
      start: firstFrame / FRAMES_PER_SEC,
      end: (lastFrame + 1) / FRAMES_PER_SEC,
      confidence: Math.min(1, Math.max(0, posterior)),
    }));
  return { text: words.map(({ word }) => word).join(' '), tokens: [], words };
};

/** Decoders that are lent out one utterance at a time; those who find none wait in order. */
const createPool = (create: () => Promise<Decoder>, first: Decoder, most: number) => {
  const idle = [first];
  const waiting: ((decoder: Decoder) => void)[] = [];
  let made = 1;

  const giveBack = (decoder: Decoder): void => {
    const next = waiting.shift();
    if (next) next(decoder);
    else idle.push(decoder);
  };
  const makeOne = async (): Promise<void> => {
    made += 1;
    await create().then(giveBack, () => {
      // The others go on; the next that finds none free tries again.
      made -= 1;
    });
  };
  return {
    use: async <T>(work: (decoder: Decoder) => Promise<T>): Promise<T> => {
      const ready = idle.pop();
      if (!ready && made < most) void makeOne();
      const decoder = ready ?? (await new Promise<Decoder>((resolve) => waiting.push(resolve)));
      try {
        return await work(decoder);
      } finally {
        giveBack(decoder);
      }
    },
  };
};

/** Quiet that is added where an utterance seems to break off, s. */
const QUIET_END_SEC = 0.3;

/**
 * An utterance cut in the middle of a word reaches no final state of the lattice, and PocketSphinx then gives no words
 * at all (seen); with a little quiet behind it the words are there.
 */
const withQuietEnd = (samples: Int16Array): Int16Array => {
  const longer = new Int16Array(samples.length + QUIET_END_SEC * SAMPLE_RATE);
  longer.set(samples);
  return longer;
};

/** For the scheduler's express slot: a short utterance must not wait for a minute-long one. Made when first needed. */
const EXPRESS_DECODERS = 1;

/** Opens a model: checks it, loads its first decoder and says what it can do. */
export const openPocketsphinx: OpenEngine = async (model, slots, announce): Promise<Engine> => {
  announce(`checking ${model.id}`);
  await checkModel(model);
  announce(`loading ${model.id} (pocketsphinx)`);
  const library = openPocketsphinxLibrary(model.libraryPaths);
  const { hmm, dict, lm } = model.files;
  const settings = { ...SETTINGS, '-hmm': hmm!, '-dict': dict!, '-lm': lm! };
  const create = (): Promise<Decoder> => library.createDecoder(settings);
  // Everything it does is in native code, so more than a decoder a core gains nothing and costs memory.
  const decoders = Math.min(slots, availableParallelism());
  const pool = createPool(create, await create(), decoders + EXPRESS_DECODERS);
  const transforms = await takesNarrowband(hmm!);
  return {
    facts: factsOf(model, decoders),
    recognize: async (utterance, options) => {
      if ((options.hotwords ?? []).length > 0) {
        throw new EngineRefusal('PocketSphinx takes no hotwords.', 'capability_unavailable', 'hotwords');
      }
      if (options.decodingMethod === 'modified_beam_search') {
        throw new EngineRefusal('PocketSphinx has one decoding method.', 'capability_unavailable', 'decoding_method');
      }
      if (isSilent(utterance.samples)) return { text: '', tokens: [], words: [] };
      const samples = toSamples(utterance);
      const transform = transforms && isNarrowband(utterance.bandHz) ? NARROWBAND_TRANSFORM : undefined;
      return pool.use(async (decoder) => {
        const heard = toRecognition(await decoder.decode(samples, transform));
        return heard.text === '' ? toRecognition(await decoder.decode(withQuietEnd(samples), transform)) : heard;
      });
    },
  };
};
