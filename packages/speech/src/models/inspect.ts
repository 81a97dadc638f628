/**
 * Guesses the manifest of a sherpa-onnx model folder that has none: roles from file names, family and rates from the
 * ONNX metadata, the rest from the folder's name. What it is not sure of it says; a person looks at the result.
 */
import { readdir } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import type { ModelKind } from '../core/types.ts';
import { readOnnxFacts } from '../recognizer/engines/onnx-metadata.ts';
import { SHERPA_FAMILIES } from '../recognizer/engines/sherpa-families.ts';
import { exists } from './apt.ts';
import { ID_PATTERN, MANIFEST_FILE, type Manifest, ManifestFault, parseManifest, readManifest } from './manifest.ts';

export type InspectOptions = {
  readonly id?: string;
  readonly revision?: string;
  readonly languages?: readonly string[];
  readonly license?: string;
};
export type Inspected = {
  readonly manifest: Manifest;
  /** Whether the folder brought its own `model.json`. */
  readonly described: boolean;
  /** What was guessed without good ground. */
  readonly doubts: readonly string[];
};

type Meta = ReadonlyMap<string, string>;
type Files = Readonly<Record<string, string>>;
type Guess = { readonly kind: ModelKind; readonly family: string };

/** Role by file name, the first that fits; `small` says whether the int8 file is the one to take (docs/decisions.md). */
const ROLES: readonly { readonly role: string; readonly name: RegExp; readonly int8?: boolean }[] = [
  { role: 'tokens', name: /tokens\.txt$/ },
  { role: 'bpe_vocab', name: /^bpe\.vocab$/ },
  { role: 'preprocessor', name: /^preprocess.*\.onnx$/ },
  { role: 'uncached_decoder', name: /^uncached_decode.*\.onnx$/, int8: true },
  { role: 'cached_decoder', name: /^cached_decode.*\.onnx$/, int8: true },
  { role: 'merged_decoder', name: /^decoder_model_merged.*\.(?:onnx|ort)$/ },
  { role: 'joiner', name: /joiner.*\.onnx$/, int8: true },
  { role: 'decoder', name: /decoder.*\.onnx$/, int8: false },
  { role: 'encoder', name: /encode.*\.(?:onnx|ort)$/, int8: true },
  { role: 'model', name: /\.onnx$/, int8: true },
];
const FAMILY_BY_TYPE: Readonly<Record<string, Guess>> = {
  EncDecRNNTBPEModel: { kind: 'asr', family: 'nemo_transducer' },
  EncDecMultiTaskModel: { kind: 'asr', family: 'canary' },
  EncDecCTCModelBPE: { kind: 'asr', family: 'nemo_ctc' },
  EncDecCTCModel: { kind: 'asr', family: 'nemo_ctc' },
  zipformer2_ctc: { kind: 'asr', family: 'zipformer_ctc' },
  zipformer_ctc: { kind: 'asr', family: 'zipformer_ctc' },
  sense_voice_ctc: { kind: 'asr', family: 'sense_voice' },
  paraformer: { kind: 'asr', family: 'paraformer' },
  wenet_ctc: { kind: 'asr', family: 'wenet_ctc' },
  telespeech_ctc: { kind: 'asr', family: 'telespeech_ctc' },
  tdnn: { kind: 'asr', family: 'tdnn' },
  tone: { kind: 'asr', family: 't_one_ctc' },
  ct_transformer: { kind: 'punctuation', family: 'ct_transformer' },
};
const LANGUAGE_WORDS: Readonly<Record<string, string>> = {
  english: 'en',
  russian: 'ru',
  german: 'de',
  french: 'fr',
  spanish: 'es',
  chinese: 'zh',
  japanese: 'ja',
  korean: 'ko',
  italian: 'it',
  portuguese: 'pt',
  thai: 'th',
};
const LANGUAGE_CODES = new Set('en ru de fr es zh ja ko it pt vi th uk pl yue be hr cs nl tr ar'.split(' '));

const pickFile = (names: readonly string[], int8: boolean | undefined): string | undefined => {
  const isInt8 = (name: string): boolean => name.includes('int8');
  const isFp16 = (name: string): boolean => name.includes('fp16');
  const preferred = int8 === undefined ? [] : names.filter((name) => isInt8(name) === int8 && !isFp16(name));
  return preferred[0] ?? names.find((name) => !isFp16(name)) ?? names[0];
};

/** Role → file name, for the files that lie in the folder itself. */
export const guessRoles = (names: readonly string[]): Files => {
  const left = new Set(names.toSorted());
  const files: Record<string, string> = {};
  for (const { role, name, int8 } of ROLES) {
    if (role === 'model' && Object.keys(files).some((known) => known.endsWith('coder'))) continue;
    const fitting = [...left].filter((candidate) => name.test(candidate));
    const picked = pickFile(fitting, int8);
    if (picked === undefined) continue;
    files[role] = picked;
    for (const other of fitting) left.delete(other);
  }
  return files;
};

const guessSupport = (files: Files, meta: Meta): Guess | undefined => {
  const model = files.model ?? '';
  if (/silero/i.test(model)) return { kind: 'vad', family: 'silero' };
  if (/ten[-_]vad/i.test(model)) return { kind: 'vad', family: 'ten' };
  const type = meta.get('model_type') ?? '';
  if (type.startsWith('pyannote')) return { kind: 'segmentation', family: 'pyannote' };
  if (meta.has('COMMA') && meta.has('MIX_CASE')) return { kind: 'punctuation', family: 'cnn_bilstm' };
  const framework = meta.get('framework') ?? '';
  if (framework === '3d-speaker' || type === '3d-speaker') return { kind: 'embedding', family: '3dspeaker' };
  return ['wespeaker', 'nemo'].includes(framework) ? { kind: 'embedding', family: framework } : undefined;
};

/** Kind and family, or undefined when neither names nor metadata say. */
export const guessFamily = (files: Files, meta: Meta): Guess | undefined => {
  const type = meta.get('model_type') ?? '';
  const support = guessSupport(files, meta);
  if (support) return support;
  if (files.preprocessor !== undefined || files.merged_decoder !== undefined)
    return { kind: 'asr', family: 'moonshine' };
  if (files.joiner !== undefined) {
    const nemo = /^EncDec(?:RNNT|Hybrid)/.test(type);
    return { kind: 'asr', family: nemo ? 'nemo_transducer' : 'transducer' };
  }
  if (/^whisper/i.test(type)) return { kind: 'asr', family: 'whisper' };
  if (type === 'EncDecHybridRNNTCTCBPEModel') return { kind: 'asr', family: 'nemo_ctc' };
  return Object.hasOwn(FAMILY_BY_TYPE, type) ? FAMILY_BY_TYPE[type] : undefined;
};

const guessLanguages = (name: string): string[] => {
  const words = name.toLowerCase().split(/[^a-z]+/);
  const found = words.flatMap((word) => (LANGUAGE_CODES.has(word) ? word : (LANGUAGE_WORDS[word] ?? [])));
  return [...new Set(found)];
};

/** Models that deal in sound alone know no language. */
const languagesOf = (kind: ModelKind, name: string): string[] =>
  kind === 'asr' || kind === 'punctuation' ? guessLanguages(name) : ['multi'];

const toId = (text: string): string => {
  const id = text
    .replace(/^sherpa-onnx-/, '')
    .replace(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^[^A-Za-z0-9]+/, '')
    .slice(0, 64);
  return ID_PATTERN.test(id) ? id : 'model';
};

const numberIn = (meta: Meta, keys: readonly string[]): number | undefined => {
  const value = keys.map((key) => Number(meta.get(key))).find((number) => Number.isInteger(number) && number > 0);
  return value;
};

const guessUnit = (names: readonly string[]): string | undefined => {
  if (names.includes('bbpe.model')) return 'bbpe';
  return names.includes('bpe.model') || names.includes('bpe.vocab') ? 'bpe' : undefined;
};

const isStreaming = (name: string, meta: Meta): boolean => meta.has('decode_chunk_len') || /streaming/i.test(name);

/** Facts out of the names and the metadata; the rest is left to the manifest's defaults. */
const describe = (
  name: string,
  names: readonly string[],
  files: Files,
  meta: Meta,
  guess: Guess,
  options: InspectOptions,
) => {
  const known = Object.hasOwn(SHERPA_FAMILIES, guess.family) ? SHERPA_FAMILIES[guess.family] : undefined;
  const dim = numberIn(meta, ['feature_dim', 'feat_dim', 'n_mels']) ?? (guess.family === 'transducer' ? 80 : undefined);
  const unit = guessUnit(names);
  const date = /\d{4}-\d{2}-\d{2}/.exec(name)?.[0];
  const languages = options.languages ?? languagesOf(guess.kind, name);
  return {
    id: options.id ?? toId(name.replace(/[-_]?\d{4}-\d{2}-\d{2}.*$/, '')),
    revision: options.revision ?? date ?? '1',
    display_name: name.slice(0, 200),
    kind: guess.kind,
    engine: 'sherpa',
    family: guess.family,
    streaming: guess.kind === 'asr' && isStreaming(name, meta),
    languages,
    sample_rate: numberIn(meta, ['sample_rate']) ?? 16_000,
    ...(dim !== undefined && guess.kind === 'asr' && { features: { dim } }),
    ...(unit !== undefined && { modeling_unit: unit }),
    files,
    license: options.license ?? 'unknown',
    capabilities: {
      word_timestamps: known?.timestamps ?? false,
      confidence: known?.confidence ?? false,
      language_detect: known?.language === 'detected',
      hotwords: known?.beamSearch === true && files.bpe_vocab !== undefined && unit === 'bpe',
    },
  };
};

const guessManifest = async (dir: string, options: InspectOptions): Promise<Inspected> => {
  const entries = await readdir(dir, { withFileTypes: true });
  const names = entries.filter((entry) => !entry.isDirectory()).map((entry) => entry.name);
  const files = guessRoles(names);
  const main = files.encoder ?? files.model;
  if (main === undefined) throw new ManifestFault('there is no ONNX model in this folder');
  const meta: Meta = main.endsWith('.onnx')
    ? await readOnnxFacts(join(dir, main), main).then(({ metadata }) => metadata)
    : new Map();
  const guess = guessFamily(files, meta);
  if (!guess) {
    const type = meta.get('model_type');
    throw new ManifestFault(
      `the family cannot be told (${type === undefined ? 'no model_type in the metadata' : `model_type ${type.slice(0, 60)}`}); write a ${MANIFEST_FILE}`,
    );
  }
  const manifest = parseManifest(describe(basename(dir), names, files, meta, guess, options));
  const doubts = [
    ...(manifest.languages.length === 0 ? ['languages: name them with --language'] : []),
    ...(manifest.license === 'unknown' ? ['license: name it with --license'] : []),
    ...(guess.kind === 'asr' && files.tokens === undefined ? ['tokens: no tokens.txt found'] : []),
  ];
  return { manifest, described: false, doubts };
};

/**
 * What a model folder is: its own `model.json` with what the options change, or a guess. Throws ManifestFault when
 * neither can be had.
 */
export const inspectFolder = async (folder: string, options: InspectOptions = {}): Promise<Inspected> => {
  const dir = resolve(folder);
  if (!(await exists(dir))) throw new ManifestFault(`there is no folder ${folder}`);
  if (!(await exists(join(dir, MANIFEST_FILE)))) return guessManifest(dir, options);
  const own = await readManifest(dir);
  const manifest = parseManifest({
    ...own,
    ...(options.id !== undefined && { id: options.id }),
    ...(options.revision !== undefined && { revision: options.revision }),
    ...(options.languages && { languages: options.languages }),
    ...(options.license !== undefined && { license: options.license }),
  });
  return { manifest, described: true, doubts: [] };
};
