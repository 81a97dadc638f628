/**
 * What a model directory declares about itself: `model.json`. Checked when read, with a readable fault, because native
 * engines abort on wrong facts (docs/decisions.md). Guessing one for a folder that has none is inspect.ts.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import Type from 'typebox';
import { Compile } from 'typebox/compile';
import type { Capabilities, ModelKind } from '../core/types.ts';
import type { EngineModel } from '../recognizer/recognizer.ts';

export const MANIFEST_FILE = 'model.json';
/** Model ids and revisions (docs/speech-api.md). */
export const ID_PATTERN = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const MAX_MANIFEST_BYTES = 256 * 1024;
const MAX_FAULTS_TOLD = 3;

const MODEL_KINDS = [
  'asr',
  'vad',
  'punctuation',
  'diarization',
  'segmentation',
  'embedding',
  'itn',
  'denoise',
] as const satisfies readonly ModelKind[];

const Text = Type.String({ minLength: 1, maxLength: 200 });
const Id = Type.String({ pattern: ID_PATTERN.source });
const Flag = Type.Optional(Type.Boolean());
const Loose = Type.Record(Type.String(), Type.Unknown());

/** The file as written; everything with a safe default may be left out. */
const ManifestFile = Type.Object({
  id: Id,
  revision: Id,
  display_name: Type.Optional(Text),
  kind: Type.Enum([...MODEL_KINDS]),
  engine: Type.Optional(Type.Enum(['sherpa', 'pocketsphinx'])),
  family: Type.String({ pattern: '^[a-z0-9][a-z0-9_]{0,39}$' }),
  streaming: Flag,
  languages: Type.Optional(Type.Array(Type.String({ pattern: '^[A-Za-z0-9-]{1,35}$' }), { maxItems: 400 })),
  sample_rate: Type.Optional(Type.Integer({ minimum: 1000, maximum: 192_000 })),
  features: Type.Optional(Type.Object({ dim: Type.Integer({ minimum: 1, maximum: 1024 }) })),
  modeling_unit: Type.Optional(Type.String({ maxLength: 40 })),
  model_type: Type.Optional(Type.String({ maxLength: 60 })),
  files: Type.Record(Type.String(), Type.String({ minLength: 1, maxLength: 300 })),
  library_paths: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 300 }), { maxItems: 40 })),
  license: Type.Optional(Text),
  commercial_use: Type.Optional(Type.Enum(['yes', 'no', 'unknown'])),
  capabilities: Type.Optional(
    Type.Object({
      word_timestamps: Flag,
      confidence: Flag,
      language_detect: Flag,
      punctuation_builtin: Flag,
      hotwords: Flag,
      streaming: Flag,
    }),
  ),
  runtime: Type.Optional(Loose),
  source: Type.Optional(Loose),
  notes: Type.Optional(Type.String({ maxLength: 4000 })),
  resources: Type.Optional(Type.Object({ approx_rss_mb: Type.Optional(Type.Number({ minimum: 0 })) })),
  demonstration: Flag,
});

/** A checked manifest with every default filled in. Field names are the file's. */
export type Manifest = {
  readonly id: string;
  readonly revision: string;
  readonly display_name: string;
  readonly kind: ModelKind;
  readonly engine: 'sherpa' | 'pocketsphinx';
  readonly family: string;
  readonly streaming: boolean;
  /** Lower case; `multi` for supporting models that know no language. */
  readonly languages: readonly string[];
  readonly sample_rate: number;
  readonly features?: { readonly dim: number };
  readonly modeling_unit?: string;
  readonly model_type?: string;
  /** Role → path inside the model directory. */
  readonly files: Readonly<Record<string, string>>;
  /** Folders inside the model directory for the dynamic loader of the engine process. */
  readonly library_paths: readonly string[];
  readonly license: string;
  readonly commercial_use: 'yes' | 'no' | 'unknown';
  readonly capabilities: Capabilities;
  readonly runtime?: Readonly<Record<string, unknown>>;
  readonly source?: Readonly<Record<string, unknown>>;
  readonly notes?: string;
  readonly resources: { readonly approx_rss_mb: number };
  /** True for the small model in the repository that only knows a few words: the last choice of every rule. */
  readonly demonstration: boolean;
};

/** Why a manifest cannot be used; the message names the field. Meant for an operator, never sent raw to a caller. */
export class ManifestFault extends Error {
  override name = 'ManifestFault';
}

/** Whether `path` stays inside the folder it is relative to: no absolute path, no `..`, no backslash, no NUL. */
export const isInnerPath = (path: string): boolean =>
  path.length > 0 &&
  !path.startsWith('/') &&
  !/^[A-Za-z]:/.test(path) &&
  !/[\\\0]/.test(path) &&
  !path.split('/').includes('..');

const checkManifest = Compile(ManifestFile);

const faultsOf = (value: unknown): string =>
  checkManifest
    .Errors(value)
    .slice(0, MAX_FAULTS_TOLD)
    .map((fault) => {
      const allowed = (fault.params as { allowedValues?: unknown }).allowedValues;
      const values = Array.isArray(allowed) ? ` (${allowed.join(', ')})` : '';
      return `${fault.instancePath === '' ? 'the file' : fault.instancePath.slice(1).replaceAll('/', '.')} ${fault.message}${values}`;
    })
    .join('; ');

const checkPaths = (files: Readonly<Record<string, string>>, folders: readonly string[]): void => {
  for (const [role, path] of Object.entries(files)) {
    if (!/^[a-z0-9][a-z0-9_]{0,39}$/.test(role))
      throw new ManifestFault(`files: "${role.slice(0, 40)}" is not a role name`);
    if (!isInnerPath(path)) throw new ManifestFault(`files.${role} must be a path inside the model directory`);
  }
  if (folders.some((folder) => !isInnerPath(folder))) {
    throw new ManifestFault('library_paths must be paths inside the model directory');
  }
};

const toCapabilities = (given: Partial<Capabilities> | undefined, streaming: boolean): Capabilities => ({
  word_timestamps: given?.word_timestamps ?? false,
  confidence: given?.confidence ?? false,
  language_detect: given?.language_detect ?? false,
  punctuation_builtin: given?.punctuation_builtin ?? false,
  hotwords: given?.hotwords ?? false,
  streaming,
});

/** The fields that stay absent when the file does not have them. */
const leftOutOrGiven = (value: Type.Static<typeof ManifestFile>) => ({
  ...(value.features && { features: value.features }),
  ...(value.modeling_unit !== undefined && { modeling_unit: value.modeling_unit }),
  ...(value.model_type !== undefined && { model_type: value.model_type }),
  ...(value.runtime && { runtime: value.runtime }),
  ...(value.source && { source: value.source }),
  ...(value.notes !== undefined && { notes: value.notes }),
});

/**
 * Checks what was read from a `model.json` and fills in the defaults.
 * Throws ManifestFault naming the field at fault.
 */
export const parseManifest = (value: unknown): Manifest => {
  if (!checkManifest.Check(value)) throw new ManifestFault(faultsOf(value));
  const library_paths = value.library_paths ?? [];
  checkPaths(value.files, library_paths);
  const streaming = value.streaming ?? value.capabilities?.streaming ?? false;
  return {
    id: value.id,
    revision: value.revision,
    display_name: value.display_name ?? value.id,
    kind: value.kind,
    engine: value.engine ?? 'sherpa',
    family: value.family,
    streaming,
    languages: (value.languages ?? []).map((language) => language.toLowerCase()),
    sample_rate: value.sample_rate ?? 16_000,
    ...leftOutOrGiven(value),
    files: value.files,
    library_paths,
    license: value.license ?? 'unknown',
    commercial_use: value.commercial_use ?? 'unknown',
    capabilities: toCapabilities(value.capabilities, streaming),
    resources: { approx_rss_mb: value.resources?.approx_rss_mb ?? 0 },
    demonstration: value.demonstration ?? false,
  };
};

/** Reads and checks `model.json` of a directory. Throws ManifestFault when it is missing, too long or wrong. */
export const readManifest = async (dir: string): Promise<Manifest> => {
  const text = await readFile(join(dir, MANIFEST_FILE), 'utf8').catch((cause: NodeJS.ErrnoException) => {
    throw new ManifestFault(
      cause.code === 'ENOENT' ? `${MANIFEST_FILE} is missing` : `${MANIFEST_FILE} cannot be read (${cause.code})`,
    );
  });
  if (text.length > MAX_MANIFEST_BYTES)
    throw new ManifestFault(`${MANIFEST_FILE} is longer than ${MAX_MANIFEST_BYTES} bytes`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new ManifestFault(`${MANIFEST_FILE} is not JSON`);
  }
  return parseManifest(value);
};

/** What an engine needs of a checked manifest that lies in `dir` (absolute). `numThreads` is per recognition. */
export const toEngineModel = (manifest: Manifest, dir: string, numThreads = 1): EngineModel => ({
  id: manifest.id,
  revision: manifest.revision,
  engine: manifest.engine,
  family: manifest.family,
  streaming: manifest.streaming,
  sampleRate: manifest.sample_rate,
  featureDim: manifest.features?.dim,
  modelingUnit: manifest.modeling_unit,
  modelType: manifest.model_type,
  files: Object.fromEntries(Object.entries(manifest.files).map(([role, path]) => [role, join(dir, path)])),
  libraryPaths: manifest.library_paths.map((path) => join(dir, path)),
  languages: manifest.languages,
  capabilities: manifest.capabilities,
  numThreads,
});
