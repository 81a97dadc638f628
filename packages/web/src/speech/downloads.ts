/** Models under way; goes on while pages change, as the service does. */
import type { Api } from '../shared/api.ts';
import { createStore, type Store } from '../shared/store.ts';

export type Download = {
  readonly state: string;
  readonly percent: number;
  /** Bytes; `total` 0 while unknown. */
  readonly downloaded: number;
  readonly total: number;
  readonly error?: Error;
};

export type Downloads = {
  /** By model id; gone when installed. */
  readonly store: Store<Readonly<Record<string, Download>>>;
  /** Resolves when it is over, true when the model is installed. */
  start(id: string): Promise<boolean>;
};

type Told = Omit<Download, 'error'> & { readonly error?: { readonly code: string; readonly message: string } };

const BEGUN: Download = { state: 'queued', percent: 0, downloaded: 0, total: 0 };

export const createDownloads = (api: Api): Downloads => {
  const store = createStore<Readonly<Record<string, Download>>>({});
  const put = (id: string, download: Download): void => store.set((before) => ({ ...before, [id]: download }));
  const remove = (id: string): void => store.set(({ [id]: _gone, ...rest }) => rest);
  return {
    store,
    start: async (id) => {
      put(id, BEGUN);
      let failure: Error | undefined;
      try {
        await api.events(
          `/api/v1/models/${encodeURIComponent(id)}/download`,
          ({ name, data }) => {
            const { error, ...told } = JSON.parse(data) as Told;
            if (name === 'failed') failure = new Error(error?.message ?? '');
            else put(id, told);
          },
          { method: 'POST' },
        );
      } catch (thrown) {
        failure = thrown instanceof Error ? thrown : new Error(String(thrown));
      }
      if (failure) put(id, { ...(store.get()[id] ?? BEGUN), error: failure });
      else remove(id);
      return failure === undefined;
    },
  };
};
