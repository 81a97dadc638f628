/** libpocketsphinx.so.3 (5prealpha) through koffi: the calls that are used here. The library of version 5 has another API. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import koffi, { type LibraryHandle } from 'koffi';
import { EngineRefusal } from './engine.ts';

/** A pointer of the library's; opaque here. */
type Pointer = unknown;

export type FoundWord = {
  /** As the dictionary spells it: alternates look like `word(2)`, fillers like `<sil>` or `[NOISE]`. */
  readonly word: string;
  readonly firstFrame: number;
  /** Inclusive. */
  readonly lastFrame: number;
  /** Posterior probability, 0..1. */
  readonly posterior: number;
};

export type Decoder = {
  /**
   * Decodes a whole utterance on another thread. One at a time. `transform`: path of the MLLR file that the acoustic
   * model is moved by for this utterance.
   */
  decode(samples: Int16Array, transform?: string): Promise<readonly FoundWord[]>;
};

export type PocketsphinxLibrary = {
  /** Loads a model with the given options on another thread. */
  createDecoder(options: Readonly<Record<string, string>>): Promise<Decoder>;
};

type AsyncFunction = { async: (...args: unknown[]) => void };

const POCKETSPHINX = 'libpocketsphinx.so.3';
const SPHINXBASE = 'libsphinxbase.so.3';
/** Debian's package name says 0.8+5prealpha; the library itself has no call that tells. */
const API_VERSION = '5prealpha';
const OTHER_API = /^libpocketsphinx\.so\.(?!3(?:\.|$))\d+/;
/** A transform that takes any other back: the library has no call for that. */
const UNMOVED = join(import.meta.dirname, 'unmoved.mllr');
/** A bound for the list of words of one utterance. */
const MAX_WORDS = 20_000;

/** The folder of the library, undefined when there is none, `other` when only another API is there. */
const findLibrary = (libraryPaths: readonly string[]): { path: string | undefined; other: string | undefined } => {
  const folder = libraryPaths.find((path) => existsSync(join(path, POCKETSPHINX)));
  if (folder !== undefined) return { path: join(folder, POCKETSPHINX), other: undefined };
  const names = libraryPaths.flatMap((path) => (existsSync(path) ? readdirSync(path) : []));
  return { path: undefined, other: names.find((name) => OTHER_API.test(name)) };
};

const load = (libraryPaths: readonly string[]): { sphinx: LibraryHandle; base: LibraryHandle } => {
  const found = findLibrary(libraryPaths);
  if (found.other !== undefined) {
    throw new EngineRefusal(`${found.other} has another interface; PocketSphinx needs ${POCKETSPHINX}`);
  }
  try {
    // Dependencies come from LD_LIBRARY_PATH, or from the system when no folders are given.
    return { base: koffi.load(SPHINXBASE), sphinx: koffi.load(found.path ?? POCKETSPHINX) };
  } catch (thrown) {
    throw new EngineRefusal(thrown instanceof Error ? thrown.message : 'the library cannot be loaded');
  }
};

const bind = (libraryPaths: readonly string[]) => {
  const { sphinx, base } = load(libraryPaths);
  return {
    parse: base.func('void *cmd_ln_parse_r(void *inout, void *defs, int argc, const char **argv, int strict)'),
    expOf: base.func('double logmath_exp(void *, int)'),
    definitions: sphinx.func('void *ps_args()'),
    init: sphinx.func('void *ps_init(void *)'),
    readTransform: sphinx.func('void *ps_mllr_read(const char *)'),
    useTransform: sphinx.func('void *ps_update_mllr(void *, void *)'),
    startStream: sphinx.func('int ps_start_stream(void *)'),
    start: sphinx.func('int ps_start_utt(void *)'),
    process: sphinx.func('int ps_process_raw(void *, const int16_t *, size_t, int, int)'),
    end: sphinx.func('int ps_end_utt(void *)'),
    firstSegment: sphinx.func('void *ps_seg_iter(void *)'),
    nextSegment: sphinx.func('void *ps_seg_next(void *)'),
    freeSegment: sphinx.func('void ps_seg_free(void *)'),
    wordOf: sphinx.func('const char *ps_seg_word(void *)'),
    framesOf: sphinx.func('void ps_seg_frames(void *, _Out_ int *, _Out_ int *)'),
    posteriorOf: sphinx.func('int32_t ps_seg_prob(void *, _Out_ int32_t *, _Out_ int32_t *, _Out_ int32_t *)'),
    logmath: sphinx.func('void *ps_get_logmath(void *)'),
  };
};

type Calls = ReturnType<typeof bind>;

/** Runs a call on one of libuv's threads. */
const callAsync = <T>(call: unknown, ...args: unknown[]): Promise<T> =>
  new Promise((resolve, reject) => {
    (call as AsyncFunction).async(...args, (error: Error | null, result: T) =>
      error ? reject(error) : resolve(result),
    );
  });

const readWords = (calls: Calls, decoder: Pointer): FoundWord[] => {
  const logmath = calls.logmath(decoder);
  const words: FoundWord[] = [];
  let segment: Pointer = calls.firstSegment(decoder);
  while (segment) {
    const first = [0];
    const last = [0];
    calls.framesOf(segment, first, last);
    const posterior = calls.expOf(logmath, calls.posteriorOf(segment, [0], [0], [0]));
    words.push({ word: calls.wordOf(segment), firstFrame: first[0]!, lastFrame: last[0]!, posterior });
    if (words.length >= MAX_WORDS) {
      calls.freeSegment(segment);
      break;
    }
    segment = calls.nextSegment(segment);
  }
  return words;
};

const applyTransform = async (calls: Calls, decoder: Pointer, path: string): Promise<void> => {
  const transform: Pointer = calls.readTransform(path);
  if (!transform) throw new Error('the transform cannot be read');
  // The decoder owns it from here on, and reads its means anew.
  const applied = await callAsync<Pointer>(calls.useTransform, decoder, transform);
  if (!applied) throw new Error('ps_update_mllr failed');
};

const createDecode = (calls: Calls, decoder: Pointer): Decoder['decode'] => {
  let applied = UNMOVED;
  return async (samples, transform = UNMOVED) => {
    if (transform !== applied) {
      await applyTransform(calls, decoder, transform);
      applied = transform;
    }
    // Forgets the noise of the utterance before, on which the words would depend.
    calls.startStream(decoder);
    if (calls.start(decoder) < 0) throw new Error('ps_start_utt failed');
    const frames = await callAsync<number>(calls.process, decoder, samples, samples.length, 0, 1);
    const ended = await callAsync<number>(calls.end, decoder);
    if (frames < 0 || ended < 0) throw new Error('decoding failed');
    return readWords(calls, decoder);
  };
};

/**
 * Loads the library from the first of the folders that has it, else from the system's own. Throws EngineRefusal when
 * there is none, or only one with another API.
 */
export const openPocketsphinxLibrary = (libraryPaths: readonly string[]): PocketsphinxLibrary => {
  const calls = bind(libraryPaths);
  return {
    createDecoder: async (options) => {
      const argv = ['parley', ...Object.entries(options).flat()];
      const config: Pointer = calls.parse(null, calls.definitions(), argv.length, argv, 1);
      if (!config) throw new EngineRefusal('PocketSphinx does not know one of its options');
      const decoder = await callAsync<Pointer>(calls.init, config);
      if (!decoder) throw new EngineRefusal('PocketSphinx cannot read the model');
      return { decode: createDecode(calls, decoder) };
    },
  };
};

/** Version of the library in these folders or of the system's, undefined when there is none that can be used. */
export const readPocketsphinxVersion = (libraryPaths: readonly string[]): string | undefined => {
  try {
    openPocketsphinxLibrary(libraryPaths);
    return API_VERSION;
  } catch {
    return undefined;
  }
};
