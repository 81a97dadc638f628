/** Services of product layers as nodes: each a process of its own, which learns where it stands by its environment. */
import { isAbsolute } from 'node:path';
import { processEnvironment } from '@parley/kit/settings.ts';
import { type LayerNode, readLayerNodes } from '@parley/platform/nodes/layers.ts';
import type { PlannedNode } from '@parley/platform/nodes/plan.ts';
import type { SpecMaker } from './kinds.ts';

const KIND = 'layer';
/** What of our own environment a layer may know: where programs are, words and time. Nothing that opens anything. */
const PASSED = ['PATH', 'HOME', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR'];

/**
 * Layers that run on this server though no line of the structure names them: `<layer>_1`, further domains' `_2`. All
 * servers of a site call them alike.
 */
export const createInstalled = (dataDir: string) => (): PlannedNode[] => {
  const counts = new Map<string, number>();
  return readLayerNodes(dataDir).flatMap(({ layer, domain, isHome }) => {
    const index = (counts.get(layer) ?? 0) + 1;
    counts.set(layer, index);
    return isHome ? [{ name: `${layer}_${index}`, role: layer, kind: KIND, index, options: { domain } }] : [];
  });
};

/** The layer a role is for: the option `layer`, else its own name; the option `domain` where several have it. */
const layerOf = (layers: readonly LayerNode[], { role, options }: PlannedNode): LayerNode | undefined =>
  layers.find(
    ({ layer, domain }) =>
      layer === (options.layer ?? role) && (options.domain === undefined || options.domain === domain),
  );

/** Makes the nodes of roles of kind `layer`; none where that layer is not installed. */
export const createLayerMaker =
  (dataDir: string): SpecMaker =>
  async (planned, { memoryLimitBytes }) => {
    const found = layerOf(readLayerNodes(dataDir), planned);
    if (!found || !isAbsolute(found.module)) return undefined;
    const own = processEnvironment();
    const { port = found.port } = planned.options;
    return {
      name: planned.name,
      role: planned.role,
      kind: planned.kind,
      index: planned.index,
      module: found.module,
      args: [planned.kind, planned.name],
      memoryLimitBytes,
      cwd: found.folder,
      env: {
        ...Object.fromEntries(PASSED.flatMap((name) => (own[name] === undefined ? [] : [[name, own[name]]]))),
        PARLEY_LAYER: found.layer,
        PARLEY_LAYER_VERSION: found.version,
        PARLEY_LAYER_NODE: planned.name,
        PARLEY_LAYER_DOMAIN: found.domain,
        PARLEY_LAYER_HOST: '127.0.0.1',
        PARLEY_LAYER_PORT: String(port),
        PARLEY_PLATFORM_URL: found.platformUrl,
      },
    };
  };
