/**
 * Punctuation with sherpa-onnx, inside a support process: CT-transformers, which give marks, and CNN-BiLSTMs, which give
 * marks and capitals. Files are checked first, because native code ends the process over bad ones.
 */
import { createRequire } from 'node:module';
import type { PunctuationModel } from '../support-messages.ts';
import { type Announce, EngineRefusal } from './engine.ts';
import { readOnnxFacts } from './onnx-metadata.ts';

type Punctuator = { addPunct(text: string): string };
type Config = { readonly model: Readonly<Record<string, string | number>> };
/** The part of sherpa-onnx-node 1.13.8 that is used here. */
type Addon = Readonly<Record<'OfflinePunctuation' | 'OnlinePunctuation', new (config: Config) => Punctuator>>;

type Family = {
  readonly kind: keyof Addon;
  readonly roles: readonly string[];
  readonly metadata: readonly string[];
  readonly config: (files: Readonly<Record<string, string>>) => Readonly<Record<string, string>>;
};

/** By the name a manifest uses. */
const FAMILIES: Readonly<Record<string, Family>> = {
  ct_transformer: {
    kind: 'OfflinePunctuation',
    roles: ['model'],
    metadata: ['tokens', 'punctuations', 'unk_symbol'],
    config: (files) => ({ ctTransformer: files.model! }),
  },
  cnn_bilstm: {
    kind: 'OnlinePunctuation',
    roles: ['model', 'bpe_vocab'],
    metadata: ['COMMA', 'PERIOD', 'QUESTION', 'UPPER', 'CAP', 'MIX_CASE'],
    config: (files) => ({ cnnBilstm: files.model!, bpeVocab: files.bpe_vocab! }),
  },
};

const checkModel = async (model: PunctuationModel): Promise<Family> => {
  const family = Object.hasOwn(FAMILIES, model.family) ? FAMILIES[model.family] : undefined;
  if (!family) throw new EngineRefusal(`there is no punctuation family "${model.family}"`);
  const missing = family.roles.filter((role) => model.files[role] === undefined);
  if (missing.length > 0) throw new EngineRefusal(`the manifest names no ${missing.join(', ')}`);
  const { metadata } = await readOnnxFacts(model.files.model!, 'model');
  const absent = family.metadata.filter((key) => !metadata.has(key));
  if (absent.length > 0) throw new EngineRefusal(`model has no ${absent.join(', ')} in its metadata`);
  return family;
};

/** Loads a model; what it answers takes a text and gives it with marks. Rejects with EngineRefusal. */
export const openSherpaPunctuation = async (
  model: PunctuationModel,
  announce: Announce,
): Promise<(text: string) => string> => {
  announce(`checking ${model.id}`);
  const family = await checkModel(model);
  announce(`loading ${model.id} (${model.family})`);
  const sherpa = createRequire(import.meta.url)('sherpa-onnx-node') as Addon;
  const config = { ...family.config(model.files), numThreads: model.numThreads, debug: 0, provider: 'cpu' };
  const punctuator = new sherpa[family.kind]({ model: config });
  return (text) => punctuator.addPunct(text);
};
