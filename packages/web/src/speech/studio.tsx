/** What every place in the studio works with: the session, the followed jobs, recordings and models under way. */
import type { CatalogEntry, ModelInfo } from '@parley/speech/core/types.ts';
import { createContext, type ReactNode, useContext, useMemo } from 'react';
import type { Api } from '../shared/api.ts';
import { type Loaded, useLoaded } from '../shared/hooks.ts';
import { createDownloads, type Downloads } from './downloads.ts';
import { createJobHub, type JobHub } from './job-hub.ts';
import { type Session, useSession } from './session.tsx';
import { createSubmissions, type Submissions } from './submissions.ts';

export type Studio = {
  readonly session: Session;
  readonly api: Api;
  readonly hub: JobHub;
  readonly submissions: Submissions;
  readonly downloads: Downloads;
};

const StudioContext = createContext<Studio | undefined>(undefined);

export const StudioProvider = ({ children }: { children: ReactNode }) => {
  const session = useSession();
  const studio = useMemo((): Studio => {
    const hub = createJobHub(session.api);
    const { api } = session;
    return { session, api, hub, submissions: createSubmissions(api, hub), downloads: createDownloads(api) };
  }, [session]);
  return <StudioContext value={studio}>{children}</StudioContext>;
};

export const useStudio = (): Studio => {
  const studio = useContext(StudioContext);
  if (!studio) throw new Error('StudioProvider is missing.');
  return studio;
};

/** The installed models. */
export const useModels = (): Loaded<readonly ModelInfo[]> => {
  const { api } = useStudio();
  return useLoaded(async (signal) => (await api.json<{ data: ModelInfo[] }>('/api/v1/models', { signal })).data, [api]);
};

/** The models that can be had. */
export const useCatalog = (): Loaded<readonly CatalogEntry[]> => {
  const { api } = useStudio();
  return useLoaded(
    async (signal) => (await api.json<{ data: CatalogEntry[] }>('/api/v1/catalog', { signal })).data,
    [api],
  );
};

/** Models that transcribe a whole recording. */
export const isOffline = (model: ModelInfo): boolean =>
  model.kind === 'asr' && !model.streaming && model.problem === undefined;
