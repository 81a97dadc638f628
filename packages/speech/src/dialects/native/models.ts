/** Model management of the native dialect: what is installed, what can be had, and what administrators do with it. */
import type { Call } from '@parley/kit/http/endpoint.ts';
import type { Caller, ModelInfo, Warning } from '../../core/types.ts';
import type { DialectParts, FieldNote, SpeechEndpoint } from '../dialect.ts';
import type { FormReader } from '../form.ts';
import { sendWarningCodes } from '../strict.ts';
import { readModelCall } from './models-body.ts';
import { followDownload } from './models-download.ts';

/** Every endpoint about models. */
export const modelEndpoints = (parts: DialectParts): SpeechEndpoint[] => [
  {
    method: 'GET',
    path: '/api/v1/models',
    access: 'key',
    tag: 'native',
    summary: 'List installed models and what is in memory',
    description: 'Supporting and streaming models included. Each carries state, languages and capabilities.',
    handle: async () => ({ data: await parts.speech.models.list() }),
  },
  {
    method: 'GET',
    path: '/api/v1/catalog',
    access: 'key',
    tag: 'native',
    summary: 'List models that can be downloaded',
    description: 'Entries say where a model comes from, its size, checksum, licence and whether somebody has tried it.',
    handle: async () => ({ data: await parts.speech.models.catalog() }),
  },
  operation('download', 'Install a model of the catalog', {
    description:
      'An event stream: `progress` a few times a second, and in the end exactly one `done` or `failed`. The download ' +
      'goes on when the client leaves; asking again joins it.',
    handle: (call) => download(parts, call),
  }),
  operation('load', 'Load a model into memory', {
    description: 'Answers the model record once the model is loaded and warm; at once when it is already.',
    handle: (call) => answer(parts, call, noFields, ({ name }) => parts.speech.models.load(name)),
  }),
  operation('unload', 'Release a model from memory', {
    description:
      'What is under way is finished first. Answers 200 when the memory is free, 202 when somebody still uses the ' +
      'model after `asr.acquire_timeout`; 409 for a pinned model unless `force`.',
    handle: (call) => unload(parts, call),
  }),
  operation('pin', 'Keep a model in memory, or stop keeping it', {
    description: 'Turns the pin over, or sets it to `pinned`. Pinning loads the model first.',
    handle: (call) => answer(parts, call, readPin, ({ name, fields }) => parts.speech.models.pin(name, fields.pinned)),
  }),
  operation('reload', 'Swap in another revision without dropping a request', {
    description:
      'The new instance is loaded and warmed up beside the serving one, which goes on serving when that fails. ' +
      'Without `revision` the newest installed one is taken.',
    handle: (call) => answer(parts, call, noFields, ({ name }) => parts.speech.models.reload(name)),
  }),
];

const operation = (
  verb: string,
  summary: string,
  more: Pick<SpeechEndpoint, 'description' | 'handle'>,
): SpeechEndpoint => ({
  method: 'POST',
  path: `/api/v1/models/:id/${verb}`,
  access: 'admin',
  tag: 'native',
  summary,
  ...more,
});

const noFields = (): Record<never, never> => ({});
const readPin = (read: FormReader) => ({ pinned: read.flag('pinned') });
const readUnload = (read: FormReader) => ({ force: read.flag('force') ?? false });
const readDownload = (read: FormReader) => ({
  force: read.flag('force') ?? false,
  load: read.flag('load') ?? false,
});

/** The record; warnings stand in it only when there are any. */
const render = (call: Call<Caller>, model: ModelInfo, warnings: readonly Warning[]): Record<string, unknown> => {
  sendWarningCodes(call.reply, warnings);
  return { ...model, ...(warnings.length > 0 && { warnings }) };
};

const answer = async <F>(
  parts: DialectParts,
  call: Call<Caller>,
  readFields: (read: FormReader) => F,
  run: (asked: Awaited<ReturnType<typeof readModelCall<F>>>) => Promise<ModelInfo>,
): Promise<unknown> => {
  const asked = await readModelCall(parts.uploads, call, readFields);
  return render(call, await run(asked), asked.warnings);
};

const unload = async (parts: DialectParts, call: Call<Caller>): Promise<unknown> => {
  const { name, fields, warnings } = await readModelCall(parts.uploads, call, readUnload);
  const { model, drained } = await parts.speech.models.unload(name, fields);
  return call.reply.code(drained ? 200 : 202).send(render(call, model, warnings));
};

const download = async (parts: DialectParts, call: Call<Caller>): Promise<void> => {
  const { name, fields, warnings } = await readModelCall(parts.uploads, call, readDownload);
  const started = await parts.speech.models.download(name, fields);
  sendWarningCodes(call.reply, warnings);
  await followDownload(call, started);
};

const REVISION: FieldNote = {
  name: 'revision',
  kind: 'text',
  about: 'Revision; also as `id@revision` in the address.',
};

/** The fields of each operation, told to people. */
export const MODEL_NOTES: Readonly<Record<string, readonly FieldNote[]>> = {
  'POST /api/v1/models/:id/download': [
    REVISION,
    { name: 'force', kind: 'switch', about: 'Fetch it again although it is installed.' },
    { name: 'load', kind: 'switch', about: 'Load it when it is installed.' },
  ],
  'POST /api/v1/models/:id/load': [REVISION],
  'POST /api/v1/models/:id/unload': [REVISION, { name: 'force', kind: 'switch', about: 'Release a pinned model too.' }],
  'POST /api/v1/models/:id/pin': [REVISION, { name: 'pinned', kind: 'switch', about: 'Left out: turns the pin over.' }],
  'POST /api/v1/models/:id/reload': [REVISION],
};
