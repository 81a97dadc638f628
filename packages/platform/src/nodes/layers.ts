/**
 * Services of installed layers that a server can run, as its platform nodes leave them in `layers.json` of the data
 * folder for its supervisor: they outlive both.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export type LayerNode = {
  /** Name of the layer; its nodes and, where the configuration has one, its role are called so. */
  readonly layer: string;
  readonly version: string;
  /** The domain it is installed in. */
  readonly domain: string;
  /** Absolute paths of what was unpacked and of the module to run. */
  readonly folder: string;
  readonly module: string;
  /** Port it shall listen on; 0 takes a free one. */
  readonly port: number;
  readonly platformUrl: string;
  /** This server runs it where no line of the structure says otherwise. */
  readonly isHome: boolean;
};

const FILE = 'layers.json';

/** What was left last; nothing when there is no such file. */
export const readLayerNodes = (dataDir: string): LayerNode[] => {
  try {
    const read: unknown = JSON.parse(readFileSync(join(dataDir, FILE), 'utf8'));
    return Array.isArray(read) ? (read as LayerNode[]) : [];
  } catch {
    return [];
  }
};

/** Leaves it, in one step; false when it is what was left last. */
export const writeLayerNodes = (dataDir: string, layers: readonly LayerNode[]): boolean => {
  if (JSON.stringify(readLayerNodes(dataDir)) === JSON.stringify(layers)) return false;
  const draft = join(dataDir, `${FILE}.${process.pid}`);
  writeFileSync(draft, JSON.stringify(layers), { mode: 0o600 });
  renameSync(draft, join(dataDir, FILE));
  return true;
};
