/**
 * Takes uploads in: the file goes to the spool folder while it comes, the fields to memory. The order of the parts does
 * not matter. Whatever goes wrong, nothing stays in the spool; what went well is the caller's to remove.
 */
import type { IncomingMessage } from 'node:http';
import { PassThrough, type Readable } from 'node:stream';
import { Busboy, type BusboyHeaders, type BusboyInstance } from '@fastify/busboy';
import type { FastifyRequest } from 'fastify';
import { Problem } from '../problem.ts';
import { watchBody } from './body.ts';
import { type SpoolBudget, type SpoolFile, spoolStream, tooLarge } from './spool.ts';

/** A file on disk that holds what was uploaded. */
export type Upload = SpoolFile & {
  /** The name the client gave, as metadata only; never a path. */
  readonly filename: string | undefined;
};

export type FormUpload = {
  /** Absent when no part of the form was the file. */
  readonly file: Upload | undefined;
  /** Field values by name, in the order they came. */
  readonly fields: ReadonlyMap<string, readonly string[]>;
};

export type OctetOptions = {
  /** An existing folder of mode 0700. */
  readonly spoolDir: string;
  /** Largest file. */
  readonly maxBytes: number;
  /** Longest pause within the body; a minute when not given. */
  readonly idleTimeoutMs?: number;
  /** Counts the bytes of all uploads that are in the spool. */
  readonly budget?: SpoolBudget;
};

export type UploadOptions = OctetOptions & {
  /** Names under which the file may come; a file under another name, or a second file, is refused. */
  readonly fileFields: readonly string[];
  /** Largest field value; 64 KiB when not given. */
  readonly maxFieldBytes?: number;
  /** Most fields; 100 when not given. */
  readonly maxFields?: number;
};

const MAX_FIELD_BYTES = 64 * 1024;
const MAX_FIELDS = 100;
const MAX_FIELD_NAME_CHARS = 200;
const MAX_PART_HEADER_BYTES = 16 * 1024;
const MAX_FILENAME_CHARS = 255;
const IDLE_TIMEOUT_MS = 60_000;
/** The file, and one more so that a second file is named in the refusal. */
const MAX_FILES = 2;

/**
 * Reads `multipart/form-data`. Throws a Problem: `unsupported_media_type` when it is not that, `invalid_request` when it
 * is broken or has a file too many, `file_too_large` as soon as the limit is passed, `upload_timeout` when it stalls,
 * `storage_unavailable` when the spool cannot take it.
 */
export const readUpload = async ({ raw }: FastifyRequest, options: UploadOptions): Promise<FormUpload> => {
  const limits = { fieldBytes: options.maxFieldBytes ?? MAX_FIELD_BYTES, fields: options.maxFields ?? MAX_FIELDS };
  const parser = openParser(raw, limits);
  const mostBytes = options.maxBytes + (limits.fields + MAX_FILES) * (limits.fieldBytes + MAX_PART_HEADER_BYTES);
  if (announcedBytes(raw) > mostBytes) throw tooLarge(options.maxBytes, options.fileFields[0]);
  const form = createForm(options, limits);
  parser.on('field', form.takeField);
  parser.on('file', form.takeFile);
  parser.on('fieldsLimit', () => form.fail(invalid(`The form has more than ${limits.fields} fields.`)));
  parser.on('partsLimit', () => form.fail(invalid('The form has too many parts.')));
  parser.on('error', (error) => form.fail(invalid('The form data is broken or cut short.', undefined, error)));
  parser.on('finish', form.finish);
  const stop = watchRequest(raw, options.idleTimeoutMs ?? IDLE_TIMEOUT_MS, form.fail);
  try {
    raw.pipe(parser);
    return await form.done;
  } catch (thrown) {
    await form.discard();
    throw thrown;
  } finally {
    stop();
    raw.unpipe(parser);
    // What follows the form, or was refused, is dropped; the server bounds for how long.
    raw.resume();
  }
};

/** Reads a body that is the file itself, whatever its content type. Throws as `readUpload` does. */
export const readOctets = async ({ raw }: FastifyRequest, options: OctetOptions): Promise<Upload> => {
  if (announcedBytes(raw) > options.maxBytes) throw tooLarge(options.maxBytes);
  const body = new PassThrough();
  const stop = watchRequest(raw, options.idleTimeoutMs ?? IDLE_TIMEOUT_MS, (problem) => body.destroy(problem));
  try {
    raw.pipe(body);
    return { ...(await spoolStream(body, options)), filename: undefined };
  } finally {
    stop();
    raw.unpipe(body);
    raw.resume();
  }
};

const announcedBytes = ({ headers }: IncomingMessage): number => Number(headers['content-length'] ?? 0);

const invalid = (message: string, param?: string, cause?: unknown): Problem =>
  new Problem({ code: 'invalid_request', status: 400, message, param, cause });

const namelessPart = (): Problem => invalid('A part of the form has no usable name.');

type FormLimits = { readonly fieldBytes: number; readonly fields: number };

const openParser = ({ headers }: IncomingMessage, limits: FormLimits): BusboyInstance => {
  if (!/^multipart\/form-data\s*(?:;|$)/i.test(headers['content-type'] ?? '')) {
    const message = 'The request must be multipart/form-data.';
    throw new Problem({ code: 'unsupported_media_type', status: 415, message });
  }
  try {
    return new Busboy({
      headers: headers as BusboyHeaders,
      limits: {
        fieldSize: limits.fieldBytes,
        fields: limits.fields,
        files: MAX_FILES,
        parts: limits.fields + MAX_FILES,
        headerSize: MAX_PART_HEADER_BYTES,
      },
    });
  } catch (cause) {
    throw invalid('The Content-Type of the form names no boundary.', undefined, cause);
  }
};

/** Fails when the client goes away or stalls. Answers a function that ends the watch. */
const watchRequest = (raw: IncomingMessage, idleMs: number, fail: (problem: Problem) => void): (() => void) => {
  const gone = (): void => {
    if (!raw.complete) fail(invalid('The client went away before the end of the request.'));
  };
  const endWatch = watchBody(raw, idleMs, () => {
    fail(new Problem({ code: 'upload_timeout', status: 408, message: 'The upload stalled.' }));
  });
  raw.once('close', gone);
  raw.once('error', gone);
  if (raw.destroyed) gone();
  return () => {
    endWatch();
    raw.off('close', gone);
    raw.off('error', gone);
  };
};

/** What has come of a form so far. `done` settles once, at its end or its first fault. */
const createForm = (options: UploadOptions, limits: FormLimits) => {
  const fields = new Map<string, string[]>();
  const { promise: done, resolve, reject } = Promise.withResolvers<FormUpload>();
  let source: Readable | undefined;
  let spooled: Promise<Upload> | undefined;

  const fail = (problem: Problem): void => {
    reject(problem);
    source?.destroy(problem);
  };

  const fileFault = (name: string | undefined): Problem | undefined => {
    if (!isFieldName(name)) return namelessPart();
    if (!options.fileFields.includes(name)) return invalid(`${name} must not be a file.`, name);
    return source && invalid(`${name} is a second file; one is taken.`, name);
  };

  const spool = async (part: Readable, field: string, filename: string | undefined): Promise<Upload> => ({
    ...(await spoolStream(part, { ...options, param: field })),
    filename,
  });

  return {
    done,
    fail,
    takeField: (name: string | undefined, value: string, _nameCut: boolean, valueCut: boolean): void => {
      if (!isFieldName(name)) fail(namelessPart());
      else if (valueCut) fail(invalid(`${name} is longer than ${limits.fieldBytes} bytes.`, name));
      else fields.set(name, [...(fields.get(name) ?? []), value]);
    },
    takeFile: (name: string | undefined, part: Readable, filename: string | undefined): void => {
      const fault = fileFault(name);
      if (fault) {
        // The parser reports a form cut short on the part as well.
        part.on('error', () => undefined);
        part.resume();
        fail(fault);
        return;
      }
      source = part;
      spooled = spool(part, name!, sanitizeFilename(filename));
      spooled.catch(fail);
    },
    finish: async (): Promise<void> => {
      try {
        resolve({ file: await withoutEmptyInput(spooled), fields });
      } catch (thrown) {
        reject(thrown);
      }
    },
    /** Removes what a fault left behind. */
    discard: async (): Promise<void> => {
      source?.destroy();
      const file = await spooled?.catch(() => undefined);
      await file?.remove();
    },
  };
};

const isFieldName = (name: string | undefined): name is string =>
  name !== undefined && name !== '' && name.length <= MAX_FIELD_NAME_CHARS;

/** Browsers send an input without a chosen file as a file of no bytes and no name. */
const withoutEmptyInput = async (spooled: Promise<Upload> | undefined): Promise<Upload | undefined> => {
  const file = await spooled;
  if (!file || file.sizeBytes > 0 || file.filename !== undefined) return file;
  await file.remove();
  return undefined;
};

/** The last part of the path, without control characters. */
export const sanitizeFilename = (given: string | undefined): string | undefined => {
  const name = (given ?? '')
    .split(/[\\/]/)
    .at(-1)!
    .replaceAll(/\p{C}/gu, '')
    .trim()
    .slice(0, MAX_FILENAME_CHARS)
    .toWellFormed();
  return name === '' || name === '.' || name === '..' ? undefined : name;
};
