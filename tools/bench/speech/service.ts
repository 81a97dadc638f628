/** The speech service as a process, with models of the benchmark, as a client and an onlooker see it. */

import { openAsBlob } from 'node:fs';
import { cp, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { BenchModel } from '../../bench-models/make.ts';
import { KEY, startService } from '../../soak/service.ts';

/** Longest time one answer may take. */
const ANSWER_MS = 600_000;

export type BenchService = AsyncDisposable & {
  readonly url: string;
  readonly pid: number;
  /** Transcribes and gives the text. */
  transcribe(path: string, options?: TranscribeOptions): Promise<string>;
  fetch(path: string, init?: RequestInit): Promise<Response>;
};

export type TranscribeOptions = { readonly model?: string | undefined; readonly key?: string | undefined };

const checked = async (response: Response): Promise<Response> => {
  if (!response.ok) throw new Error(`the service answered ${response.status} ${await response.text()}`);
  return response;
};

/** A form with the file, which is read while it is sent. */
export const formOf = async (path: string, fields: Readonly<Record<string, string>>): Promise<FormData> => {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  form.append('file', await openAsBlob(path), path.slice(path.lastIndexOf('/') + 1));
  return form;
};

/** Starts the service on an empty folder below `folder` with these models; the first is the default. */
export const startBenchService = async (
  folder: string,
  models: readonly Pick<BenchModel, 'id' | 'folder'>[],
  signal: AbortSignal,
  settings: Readonly<Record<string, string>> = {},
): Promise<BenchService> => {
  const dataDir = join(folder, `data-${models.map(({ id }) => id).join('-')}`);
  await mkdir(join(dataDir, 'models'), { recursive: true });
  for (const model of models)
    await cp(model.folder, join(dataDir, 'models', model.folder.slice(model.folder.lastIndexOf('/') + 1)), {
      recursive: true,
    });
  signal.throwIfAborted();
  const service = await startService(dataDir, {
    'speech.asr.default_model': models[0]!.id,
    'speech.registry.allow_download': 'false',
    'speech.log.level': 'error',
    ...settings,
  });
  const end = (): void => void service.kill();
  signal.addEventListener('abort', end);
  const send = async (path: string, init: RequestInit = {}): Promise<Response> => {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)]);
    const headers = { authorization: `Bearer ${KEY}`, ...init.headers };
    return await checked(await fetch(`${service.url}${path}`, { ...init, headers, signal: limit }));
  };
  return {
    url: service.url,
    pid: service.pid,
    fetch: send,
    transcribe: async (path, { model } = {}) => {
      const body = await formOf(path, { response_format: 'text', ...(model === undefined ? {} : { model }) });
      return await (await send('/api/v1/transcribe', { method: 'POST', body })).text();
    },
    [Symbol.asyncDispose]: async () => {
      signal.removeEventListener('abort', end);
      await service.stop();
    },
  };
};
