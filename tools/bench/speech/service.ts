/** The speech service as a process, with models of the benchmark, as a client and an onlooker see it. */

import { openAsBlob } from 'node:fs';
import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { issueKey } from '../../../packages/speech/src/keys/issue.ts';
import { keyFileBook } from '../../../packages/speech/src/keys/key-file.ts';
import { keysPathOf } from '../../../packages/speech/src/keys/place.ts';
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
  /** Secrets of keys without administrative rights, by their priority. */
  readonly interactiveKey: string;
  readonly batchKey: string;
};

export type TranscribeOptions = { readonly model?: string | undefined; readonly key?: string | undefined };

const INTERACTIVE_KEY = 'sk-bench-interactive-0123456789';
const BATCH_KEY = 'sk-bench-batch-0123456789';

const authorization = (key: string) => ({ authorization: `Bearer ${key}` });

const checked = async (response: Response): Promise<Response> => {
  if (!response.ok) throw new Error(`the service answered ${response.status} ${await response.text()}`);
  return response;
};

/** A form with the file, which is read while it is sent. */
export const formOf = async (path: string, fields: Readonly<Record<string, string>>): Promise<FormData> => {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  form.append('file', await openAsBlob(path), basename(path));
  return form;
};

export type ServedModel = Pick<BenchModel, 'id' | 'folder'> & {
  /** Its folder's name in the service where it is not the same. */
  readonly name?: string;
};

/** Starts the service on an empty folder below `folder` with these models; the first is the default. */
export const startBenchService = async (
  folder: string,
  models: readonly ServedModel[],
  signal: AbortSignal,
  settings: Readonly<Record<string, string>> = {},
): Promise<BenchService> => {
  const dataDir = await mkdtemp(join(folder, 'data-'));
  for (const model of models)
    await cp(model.folder, join(dataDir, 'models', model.name ?? basename(model.folder)), { recursive: true });
  const keys = keyFileBook(keysPathOf(dataDir, ''));
  await mkdir(join(dataDir, 'speech'), { mode: 0o700 });
  await issueKey(keys, { name: 'interactive', priority: 'interactive', secret: INTERACTIVE_KEY });
  await issueKey(keys, { name: 'batch', secret: BATCH_KEY });
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
    const headers = { ...authorization(KEY), ...init.headers };
    return await checked(await fetch(`${service.url}${path}`, { ...init, headers, signal: limit }));
  };
  return {
    url: service.url,
    pid: service.pid,
    fetch: send,
    interactiveKey: INTERACTIVE_KEY,
    batchKey: BATCH_KEY,
    transcribe: async (path, { model, key = KEY } = {}) => {
      const body = await formOf(path, { response_format: 'text', ...(model === undefined ? {} : { model }) });
      return await (await send('/api/v1/transcribe', { method: 'POST', body, headers: authorization(key) })).text();
    },
    [Symbol.asyncDispose]: async () => {
      signal.removeEventListener('abort', end);
      await service.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
};
