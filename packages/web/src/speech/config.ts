/** What the service tells about its settings; only administrative keys may ask, others go without. */
import { ApiError } from '../shared/api.ts';
import { type Loaded, useLoaded } from '../shared/hooks.ts';
import { useStudio } from './studio.tsx';

/** The settings as a tree, as GET /api/v1/config answers them. */
export type ConfigTree = {
  readonly [name: string]: ConfigTree | string | number | boolean | readonly unknown[] | null;
};

/** Undefined data for a key that may not see them. */
export const useConfig = (): Loaded<ConfigTree | undefined> => {
  const { api } = useStudio();
  return useLoaded(
    async (signal) => {
      try {
        return await api.json<ConfigTree>('/api/v1/config', { signal });
      } catch (thrown) {
        if (thrown instanceof ApiError && thrown.status === 403) return undefined;
        throw thrown;
      }
    },
    [api],
  );
};

/** `configured(config, 'audio.channel_mode')`; undefined where it is not known. */
export const configured = (config: ConfigTree | undefined, path: string): unknown => {
  let here: unknown = config;
  for (const name of path.split('.')) {
    if (typeof here !== 'object' || here === null) return undefined;
    here = (here as ConfigTree)[name];
  }
  return here;
};
