/** Looks at a sherpa-onnx model before native code does, which would end the process over most of these faults. */
import { stat } from 'node:fs/promises';
import type { EngineModel } from '../recognizer.ts';
import { EngineRefusal } from './engine.ts';
import { readOnnxFacts } from './onnx-metadata.ts';
import { SHERPA_FAMILIES, type SherpaFamily } from './sherpa-families.ts';
import { hasBlank, readTokens, type TokenTable } from './tokens.ts';

export type CheckedModel = {
  readonly family: SherpaFamily;
  /** Missing for families that bring a tokenizer folder instead of a token list. */
  readonly tokens: TokenTable | undefined;
  /** How hotwords are spelled for this model, or undefined when it takes none. */
  readonly hotwordUnit: string | undefined;
};

/** Units sherpa-onnx can spell a phrase in; those with sub-words need a vocabulary with scores. */
const PLAIN_UNITS = ['cjkchar'];
const SUBWORD_UNITS = ['bpe', 'cjkchar+bpe'];
/** Encoders of NeMo, whatever a manifest calls them. */
const NEMO_TYPES = ['EncDecRNNTBPEModel', 'EncDecHybridRNNTCTCBPEModel'];
const MAX_SAMPLE_RATE = 192_000;

const familyOf = (model: EngineModel): SherpaFamily => {
  const named =
    model.family === 'transducer' && model.modelType === 'nemo_transducer' ? 'nemo_transducer' : model.family;
  const family = Object.hasOwn(SHERPA_FAMILIES, named) ? SHERPA_FAMILIES[named] : undefined;
  if (!family) throw new EngineRefusal(`sherpa-onnx has no offline model family "${model.family}"`);
  return family;
};

const checkRoles = async (model: EngineModel, family: SherpaFamily): Promise<readonly string[]> => {
  const missing = family.roles.map((roles) => roles.filter((role) => model.files[role] === undefined));
  const fit = missing.findIndex((roles) => roles.length === 0);
  const roles = family.roles[fit];
  if (!roles)
    throw new EngineRefusal(`the manifest names no ${missing.map((some) => some.join(', ')).join('; or no ')}`);
  for (const role of roles) {
    const found = await stat(model.files[role]!).catch(() => undefined);
    if (!found) throw new EngineRefusal(`${role} is missing`);
    if (found.isDirectory() !== (role === 'tokenizer')) throw new EngineRefusal(`${role} is not what it should be`);
  }
  return roles;
};

const checkOnnx = async (model: EngineModel, family: SherpaFamily, role: string): Promise<number | undefined> => {
  const { metadata } = await readOnnxFacts(model.files[role]!, role);
  const absent = (family.metadata[role] ?? []).filter((key) => !metadata.has(key));
  if (absent.length > 0) throw new EngineRefusal(`${role} has no ${absent.join(', ')} in its metadata`);
  const type = metadata.get('model_type');
  if (family.beamSearch && type !== undefined && NEMO_TYPES.includes(type)) {
    throw new EngineRefusal(`${role} says ${type}: its family is nemo_transducer`);
  }
  const vocabulary = Number(metadata.get('vocab_size'));
  return Number.isInteger(vocabulary) && vocabulary > 0 ? vocabulary : undefined;
};

const hotwordUnitOf = (model: EngineModel, family: SherpaFamily): string | undefined => {
  const unit = model.modelingUnit;
  if (!family.beamSearch || unit === undefined) return undefined;
  if (PLAIN_UNITS.includes(unit)) return unit;
  return SUBWORD_UNITS.includes(unit) && model.files.bpe_vocab !== undefined ? unit : undefined;
};

/** "piece score" a line; sherpa-onnx reads it with a parser that does not forgive. */
const checkVocabulary = async (path: string): Promise<void> => {
  const found = await stat(path).catch(() => undefined);
  if (!found?.isFile() || found.size === 0) throw new EngineRefusal('bpe_vocab is missing or empty');
};

/** Throws EngineRefusal with the reason when this model must not reach sherpa-onnx's offline recogniser. */
export const checkSherpaModel = async (model: EngineModel): Promise<CheckedModel> => {
  const family = familyOf(model);
  if (model.streaming) throw new EngineRefusal('a streaming model cannot transcribe recordings');
  return checkSherpaFiles(model, family);
};

/** Looks into every file the family needs. Throws EngineRefusal. */
export const checkSherpaFiles = async (model: EngineModel, family: SherpaFamily): Promise<CheckedModel> => {
  if (!(model.sampleRate > 0 && model.sampleRate <= MAX_SAMPLE_RATE)) throw new EngineRefusal('sample_rate is wrong');
  const roles = await checkRoles(model, family);
  const vocabularies: number[] = [];
  for (const role of roles.filter((name) => name !== 'tokens' && name !== 'tokenizer')) {
    const vocabulary = await checkOnnx(model, family, role);
    if (vocabulary !== undefined) vocabularies.push(vocabulary);
  }
  const tokens = roles.includes('tokens') ? await readTokens(model.files.tokens!) : undefined;
  if (tokens && family.needsBlank && !hasBlank(tokens)) throw new EngineRefusal('tokens names no blank');
  const needed = Math.max(0, ...vocabularies);
  if (tokens && tokens.size < needed) {
    throw new EngineRefusal(`tokens holds ${tokens.size} symbols, the model has ${needed}`);
  }
  const hotwordUnit = hotwordUnitOf(model, family);
  if (hotwordUnit !== undefined && SUBWORD_UNITS.includes(hotwordUnit)) await checkVocabulary(model.files.bpe_vocab!);
  return { family, tokens, hotwordUnit };
};
