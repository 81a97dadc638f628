/** The part of the composition that installs product layers. */
import { resolve } from 'node:path';
import { systemClock } from '@parley/kit/clock.ts';
import type { Log } from '@parley/kit/log.ts';
import type { Store } from '@parley/kit/store/store.ts';
import { createProductLayerEndpoints } from './endpoints/product-layer.ts';
import type { Nodes } from './nodes/registry.ts';
import type { Platform } from './platform.ts';
import { createOrders } from './product-layer/orders.ts';
import { createRows } from './product-layer/rows.ts';
import { createServices, mendLinks, selfIn } from './product-layer/services.ts';
import { startWorker, type Worker } from './product-layer/worker.ts';
import type { RestEndpoint } from './rest/endpoint.ts';
import type { PlatformSettings } from './settings.ts';

type Parts = {
  readonly values: PlatformSettings;
  readonly platform: Platform;
  readonly store: Store;
  readonly nodes: Nodes;
  readonly log: Log;
  /** Of this platform, once it listens. */
  ownUrl(): string;
};

export type RunningLayers = AsyncDisposable & {
  readonly endpoints: readonly RestEndpoint[];
  /** Orders are carried out from now on: call when the platform listens, so that services can reach it. */
  begin(): void;
};

export const startLayers = ({ values, platform, store, nodes, log, ownUrl }: Parts): RunningLayers => {
  const { engine, model, resources } = platform;
  const rows = createRows(store);
  const folder = values['product.dir'] === '' ? '' : resolve(values['product.dir']);
  const site = (): string => selfIn(nodes)?.site ?? '';
  const common = { rows, domains: engine.domains, nodes, folder, dataDir: values.data_dir, log };
  const services = createServices({ ...common, url: ownUrl });
  const running = new Set<string>();
  let worker: Worker | undefined;
  const ring = (): void => worker?.ring();
  const orders = createOrders({ ...common, store, clock: systemClock, site, running, ring });
  const stopListening = nodes.onChange(ring);
  let isMended = false;
  const looked = async (): Promise<void> => {
    if (!isMended && folder !== '') await mendLinks({ ...common, url: ownUrl }, site());
    isMended = true;
    await services();
  };
  return {
    endpoints: createProductLayerEndpoints({ engine, orders }),
    begin: () => {
      worker ??= startWorker({
        store,
        rows,
        clock: systemClock,
        log,
        engine,
        resources,
        model,
        folder,
        vendorKeys: values['product.vendor_keys'],
        allowsUnsigned: values['product.allow_unsigned'],
        server: () => selfIn(nodes)?.server ?? '',
        site,
        running,
        looked,
      });
    },
    [Symbol.asyncDispose]: async () => {
      stopListening();
      await worker?.[Symbol.asyncDispose]();
    },
  };
};
