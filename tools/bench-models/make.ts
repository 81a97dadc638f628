/** Puts the models of the speech benchmarks where the service can load them; they are made once and kept, never committed. */
import { createWriteStream } from 'node:fs';
import { access, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { type Shape, VOCABULARY, writeConformer } from './conformer.ts';

export type ModelSize = '30m' | '100m';

/** Made anew when a shape or the graph changes. */
const REVISION = '1';
const SHAPES: Readonly<Record<ModelSize, Shape>> = {
  '30m': { width: 256, layers: 16, heads: 4, blankBias: 1.2, seed: 7 },
  '100m': { width: 512, layers: 16, heads: 8, blankBias: 0.6, seed: 11 },
};
const CACHE = fileURLToPath(new URL('../../node_modules/.cache/parley-bench-models/', import.meta.url));

export type BenchModel = {
  readonly id: string;
  readonly folder: string;
  readonly model: string;
  readonly tokens: string;
};

const manifestOf = (id: string, size: ModelSize) => ({
  id,
  revision: REVISION,
  display_name: `Benchmark (${size.toUpperCase()} parameters, random weights)`,
  kind: 'asr',
  engine: 'sherpa',
  family: 'zipformer_ctc',
  streaming: false,
  languages: ['en'],
  sample_rate: 16_000,
  features: { dim: 80 },
  files: { model: 'model.onnx', tokens: 'tokens.txt' },
  license: 'MIT',
  commercial_use: 'yes',
  capabilities: { word_timestamps: true },
  notes: 'Made by tools/bench-models for its cost; what it writes means nothing.',
});

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

const make = async (folder: string, id: string, size: ModelSize): Promise<void> => {
  const half = `${folder}.${process.pid}.part`;
  await mkdir(half, { recursive: true });
  try {
    const lines = Array.from({ length: VOCABULARY - 1 }, (_, index) => `\u2581t${index + 1} ${index + 1}\n`);
    await writeFile(join(half, 'tokens.txt'), `<blk> 0\n${lines.join('')}`);
    await writeFile(join(half, 'model.json'), `${JSON.stringify(manifestOf(id, size), undefined, 2)}\n`);
    await pipeline(Readable.from(writeConformer(SHAPES[size])), createWriteStream(join(half, 'model.onnx')));
    await rename(half, folder);
  } finally {
    await rm(half, { recursive: true, force: true });
  }
};

/** The model's folder, made when it is not there yet: 35 or 120 MB, seconds. */
export const benchModel = async (size: ModelSize, cache: string = CACHE): Promise<BenchModel> => {
  const id = `bench-ctc-${size}`;
  const folder = join(cache, `${id}@${REVISION}`);
  if (!(await exists(folder))) await make(folder, id, size);
  return { id, folder, model: join(folder, 'model.onnx'), tokens: join(folder, 'tokens.txt') };
};
