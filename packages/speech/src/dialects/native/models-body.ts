/** The fields of a model operation, wherever they come: query, JSON, urlencoded or multipart. None need be sent. */
import { hasBody } from '@parley/kit/http/body.ts';
import type { Call } from '@parley/kit/http/endpoint.ts';
import { readUpload } from '@parley/kit/http/upload.ts';
import type { FastifyInstance } from 'fastify';
import { problem } from '../../core/codes.ts';
import type { ModelName } from '../../core/speech.ts';
import type { Caller, Warning } from '../../core/types.ts';
import type { UploadLimits } from '../dialect.ts';
import { createFormReader, type Form, type FormReader } from '../form.ts';
import { readStrictHeader } from '../strict.ts';
import { readUnknown } from './fields.ts';

const ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const MAX_FIELDS = 16;
const MAX_FIELD_BYTES = 1024;
const URLENCODED = /^application\/x-www-form-urlencoded\s*(?:;|$)/i;
const MULTIPART = /^multipart\/form-data\s*(?:;|$)/i;

/** Lets urlencoded bodies in. Endpoints that want an upload refuse them as before. */
export const readForms = (app: FastifyInstance): void => {
  app.addContentTypeParser<string>(URLENCODED, { parseAs: 'string' }, (_request, body, done) =>
    done(null, new URLSearchParams(body)),
  );
};

export type ModelCall<F> = { readonly name: ModelName; readonly fields: F; readonly warnings: readonly Warning[] };

/**
 * Reads one operation's call: the model in the path (`id` or `id@revision`), `revision`, and what `readFields` reads.
 * Problems: invalid_request naming the bad field; unsupported_media_type.
 */
export const readModelCall = async <F>(
  limits: UploadLimits,
  { request }: Call<Caller>,
  readFields: (read: FormReader) => F,
): Promise<ModelCall<F>> => {
  const strictHeader = readStrictHeader(request);
  const read = createFormReader(await readFormOf(limits, request));
  const strict = read.flag('strict') ?? false;
  const name = readName(read, (request.params as { id: string }).id);
  const fields = readFields(read);
  const warnings = readUnknown(read, strict || strictHeader);
  read.finish();
  return { name, fields, warnings };
};

const readName = (read: FormReader, path: string): ModelName => {
  const at = path.indexOf('@');
  const id = at < 0 ? path : path.slice(0, at);
  const inPath = at < 0 ? undefined : path.slice(at + 1);
  const inForm = read.text('revision');
  if (inForm !== undefined && !ID.test(inForm)) {
    read.fault('revision', 'revision has up to 64 letters, digits, dots and dashes.');
  }
  if (inForm !== undefined && inPath !== undefined && inForm !== inPath) {
    read.fault('revision', 'revision and the revision in the address differ.');
  }
  return { id, revision: inPath ?? inForm };
};

const readFormOf = async (limits: UploadLimits, request: Call<Caller>['request']): Promise<Form> => {
  const form = new Map<string, string[]>();
  const add = (name: string, values: readonly string[]): void => {
    form.set(name, [...(form.get(name) ?? []), ...values]);
  };
  for (const [name, value] of Object.entries(request.query as Record<string, string | string[]>)) {
    add(name, [value].flat());
  }
  for (const [name, values] of await readBody(limits, request)) add(name, values);
  return form;
};

const readBody = async (
  limits: UploadLimits,
  request: Call<Caller>['request'],
): Promise<Iterable<readonly [string, readonly string[]]>> => {
  const { body } = request;
  if (body instanceof URLSearchParams) return [...body].map(([name, value]) => [name, [value]] as const);
  if (body !== undefined && body !== null) return readJson(body);
  // What is not JSON or urlencoded was left on the wire.
  if (!hasBody(request.raw)) return [];
  const type = request.headers['content-type'] ?? '';
  if (!MULTIPART.test(type)) {
    if (/^application\/octet-stream/i.test(type)) {
      throw problem('unsupported_media_type', 'The fields come as JSON or as a form.');
    }
    return [];
  }
  const { fields } = await readUpload(request, {
    spoolDir: limits.spoolDir,
    maxBytes: 0,
    idleTimeoutMs: limits.idleMs,
    fileFields: [],
    maxFields: MAX_FIELDS,
    maxFieldBytes: MAX_FIELD_BYTES,
  });
  return fields;
};

const readJson = (body: unknown): [string, string[]][] => {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw problem('invalid_request', 'The body must be a JSON object.');
  }
  return Object.entries(body).map(([name, value]) => {
    if (value === null) return [name, []];
    if (['string', 'number', 'boolean'].includes(typeof value)) return [name, [String(value)]];
    throw problem('invalid_request', `${name.slice(0, 64)} must be a text, a number or a switch.`, {
      param: name.slice(0, 64),
    });
  });
};
