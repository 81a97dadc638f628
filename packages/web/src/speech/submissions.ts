/**
 * Recordings on their way: sent as jobs, one after the other, then followed. It goes on while pages change. The browser's own
 * file is kept by job, in memory, so that the result can be heard; a reload forgets it.
 */
import type { JobRecord } from '@parley/speech/core/job-record.ts';
import { type Api, isAbort } from '../shared/api.ts';
import { createStore, type Store } from '../shared/store.ts';
import { isOver, type JobHub } from './job-hub.ts';

export type Fields = Readonly<Record<string, string>>;

export type Submission = {
  readonly key: string;
  readonly file: File;
  readonly state:
    | { readonly name: 'waiting' }
    | { readonly name: 'sending'; readonly share: number }
    | { readonly name: 'job'; readonly job: JobRecord }
    | { readonly name: 'failed'; readonly error: Error };
};

export type Submissions = {
  readonly store: Store<readonly Submission[]>;
  /** Sends the recordings; resolves with the job of the first one, or undefined when it could not be sent. */
  submit(files: readonly File[], fields: Fields): Promise<JobRecord | undefined>;
  /** Stops sending, cancels the job, or takes a finished one off the list. */
  drop(key: string): void;
  fileOf(jobId: string): File | undefined;
  keepFile(jobId: string, file: File): void;
};

/** Files are handles to the disk, not bytes; still no page needs more. */
const MAX_KEPT_FILES = 100;

export const createSubmissions = (api: Api, hub: JobHub): Submissions => {
  const store = createStore<readonly Submission[]>([]);
  const files = new Map<string, File>();
  const ends = new Map<string, () => void>();
  let sending: Promise<unknown> = Promise.resolve();

  const setState = (key: string, state: Submission['state']): void =>
    store.set((before) => before.map((one) => (one.key === key ? { ...one, state } : one)));
  const isListed = (key: string): boolean => store.get().some((one) => one.key === key);

  const keepFile = (jobId: string, file: File): void => {
    files.set(jobId, file);
    if (files.size > MAX_KEPT_FILES) files.delete(files.keys().next().value!);
  };

  const send = async (key: string, file: File, fields: Fields): Promise<JobRecord | undefined> => {
    if (!isListed(key)) return undefined;
    const controller = new AbortController();
    ends.set(key, () => controller.abort());
    try {
      const job = await api.upload<JobRecord>('/api/v1/jobs', formOf(file, fields), {
        // A repetition after a lost answer gets the same job.
        headers: { 'x-parley-source': 'ui', 'idempotency-key': key },
        signal: controller.signal,
        onProgress: (share) => setState(key, { name: 'sending', share }),
      });
      keepFile(job.id, file);
      setState(key, { name: 'job', job });
      ends.set(key, hub.follow(job.id, { onRecord: (state) => setState(key, { name: 'job', job: state }) }));
      return job;
    } catch (thrown) {
      const error = thrown instanceof Error ? thrown : new Error(String(thrown));
      if (!isAbort(thrown)) setState(key, { name: 'failed', error });
      return undefined;
    }
  };

  return {
    store,
    keepFile,
    fileOf: (jobId) => files.get(jobId),
    submit: (chosen, fields) => {
      const added = chosen.map((file): Submission => ({ key: crypto.randomUUID(), file, state: { name: 'waiting' } }));
      store.set((before) => [...added, ...before]);
      const sent = added.map(({ key, file }) => {
        const mine = sending.then(() => send(key, file, fields));
        sending = mine;
        return mine;
      });
      return sent[0] ?? Promise.resolve(undefined);
    },
    drop: (key) => {
      const dropped = store.get().find((one) => one.key === key);
      ends.get(key)?.();
      ends.delete(key);
      store.set((before) => before.filter((one) => one.key !== key));
      if (dropped?.state.name === 'job' && !isOver(dropped.state.job)) {
        void api.request(`/api/v1/jobs/${dropped.state.job.id}`, { method: 'DELETE' }).catch(() => undefined);
      }
    },
  };
};

/** The fields first: the service then knows what is wanted before the bytes come. */
const formOf = (file: File, fields: Fields): FormData => {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) if (value !== '') form.append(name, value);
  form.append('file', file, file.name);
  return form;
};
