/**
 * Bodies. A resource comes as JSON, as the field `data` of a urlencoded form, or (where the verb takes files too) as
 * octets or a multipart part that hold JSON. A file comes as octets or as a multipart part, and is streamed.
 */
import { Readable, Transform } from 'node:stream';
import { Busboy } from '@fastify/busboy';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { badRequest, problem } from '../codes.ts';
import { checkShape } from '../rest/json.ts';

/** What the body is for; says which content types it may have. */
export type BodyVerb = 'create' | 'replace' | 'patch' | 'delete' | 'custom';

/** A file on its way in. The stream fails with a Problem when it grows past the limit. */
export type Upload = { readonly stream: Readable; readonly name: string | undefined; readonly type: string };

const JSON_TYPE = 'application/json';
const FORM = 'application/x-www-form-urlencoded';
const MULTIPART = 'multipart/form-data';
const OCTETS = 'application/octet-stream';

const ALL: readonly string[] = [JSON_TYPE, FORM, MULTIPART, OCTETS];
const TEXTUAL: readonly string[] = [JSON_TYPE, FORM];
const ALLOWED: Readonly<Record<BodyVerb, readonly string[]>> = {
  create: ALL,
  replace: ALL,
  custom: ALL,
  patch: TEXTUAL,
  delete: TEXTUAL,
};

const MAX_DOCUMENT_BYTES = 1_048_576;
const MAX_PARTS = 16;
const MAX_HEADER_PAIRS = 20;

/** Lets every body through unread, so that each endpoint reads its own: sign-in and rights come first. */
export const prepareBodies = (app: FastifyInstance): void => {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, _payload, done) => done(null, undefined));
};

/** The JSON value in the body, its shape checked; undefined when there is none. 400, 413 or 415 as a Problem. */
export const readDocument = async (request: FastifyRequest, verb: BodyVerb): Promise<unknown> => {
  if (!hasBody(request)) return undefined;
  const type = mediaTypeOf(request);
  if (!ALLOWED[verb].includes(type)) throw problem('unsupported_media_type', { details: { allowed: ALLOWED[verb] } });
  const bytes = await readBytes(request);
  if (bytes.length === 0) return undefined;
  const document = await parseAs(type, bytes, request);
  checkShape(document);
  return document;
};

/** The file in the body: the first file part of a multipart form, else the whole body. */
export const openUpload = async (request: FastifyRequest, maxBytes: number): Promise<Upload> => {
  if (!hasBody(request)) throw badRequest('body', 'is empty');
  if (Number(request.headers['content-length'] ?? 0) > maxBytes + MAX_DOCUMENT_BYTES)
    throw problem('payload_too_large');
  const type = mediaTypeOf(request, OCTETS);
  if (type === FORM) throw problem('unsupported_media_type', { details: { allowed: [OCTETS, MULTIPART] } });
  if (type === MULTIPART) return openFilePart(request, maxBytes);
  const cap = createCap(maxBytes);
  endWithRequest(request, cap);
  return { stream: request.raw.pipe(cap), name: undefined, type };
};

/** A client that goes away half-way must not leave its reader waiting. */
const endWithRequest = (request: FastifyRequest, cap: Transform): void => {
  request.raw.once('close', () => {
    if (!request.raw.complete) cap.destroy(badRequest('body', 'ended early'));
  });
};

const hasBody = ({ headers }: FastifyRequest): boolean =>
  headers['transfer-encoding'] !== undefined || !['0', undefined].includes(headers['content-length']);

/** The media type in lower case without parameters. Only UTF-8 is understood, and no content coding. */
const mediaTypeOf = (request: FastifyRequest, fallback = JSON_TYPE): string => {
  const coding = request.headers['content-encoding'];
  if (coding !== undefined && coding.toLowerCase() !== 'identity') throw problem('unsupported_media_type');
  const [type = '', ...parameters] = (request.headers['content-type'] ?? '').split(';');
  for (const parameter of parameters) {
    const [name = '', value = ''] = parameter.split('=');
    if (name.trim().toLowerCase() !== 'charset') continue;
    if (!['utf-8', 'utf8', 'us-ascii'].includes(value.trim().replaceAll('"', '').toLowerCase())) {
      throw problem('unsupported_media_type', { details: { reason: 'charset must be UTF-8' } });
    }
  }
  return type.trim().toLowerCase() || fallback;
};

/** All of the body. Past the limit it is not kept, and the connection ends after the answer. */
const readBytes = (request: FastifyRequest): Promise<Buffer> => {
  const { raw } = request;
  if (Number(request.headers['content-length'] ?? 0) > MAX_DOCUMENT_BYTES) throw problem('payload_too_large');
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const pieces: Buffer[] = [];
  let length = 0;
  raw.on('data', (piece: Buffer) => {
    length += piece.length;
    if (length <= MAX_DOCUMENT_BYTES) pieces.push(piece);
    else {
      pieces.length = 0;
      reject(problem('payload_too_large'));
    }
  });
  raw.once('end', () => resolve(pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)));
  raw.once('error', () => reject(badRequest('body', 'ended early')));
  raw.once('close', () => {
    // Every request closes; only one that broke off is worth an error and its stack.
    if (!raw.readableEnded) reject(badRequest('body', 'ended early'));
  });
  return promise;
};

const parseAs = async (type: string, bytes: Buffer, request: FastifyRequest): Promise<unknown> => {
  if (type === JSON_TYPE) return parseJson(toText(bytes));
  if (type === FORM) return parseForm(toText(bytes));
  const content = type === MULTIPART ? await readJsonPart(bytes, request) : bytes;
  try {
    return parseJson(toText(content));
  } catch (cause) {
    throw problem('unsupported_media_type', { details: { reason: 'the content is not JSON' }, cause });
  }
};

/** Strict UTF-8; a byte order mark is dropped. */
const toText = (bytes: Uint8Array): string => {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw badRequest('body', 'is not UTF-8');
  }
};

const parseJson = (text: string): unknown => {
  if (text.trim() === '') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    throw badRequest('body', 'is not JSON');
  }
};

/** Plain JSON under this content type is what `curl -d` sends when it is told nothing else; it is understood too. */
const parseForm = (text: string): unknown => {
  const data = new URLSearchParams(text).get('data');
  if (data !== null) return parseJson(data);
  if (/^\s*[[{"]/.test(text)) return parseJson(text);
  throw badRequest('data', 'is missing from the form');
};

/** A parser of the form in the body. A form cut short fails twice, itself and on its file: only the first is waited for. */
const openForm = (request: FastifyRequest, maxBytes: number) => {
  const form = createParser(request, maxBytes);
  form.on('file', (_field, stream) => stream.on('error', () => {}));
  form.on('error', () => {});
  return form;
};

const createParser = (request: FastifyRequest, maxBytes: number) => {
  try {
    return Busboy({
      headers: { 'content-type': request.headers['content-type'] ?? '' },
      limits: {
        parts: MAX_PARTS,
        headerPairs: MAX_HEADER_PAIRS,
        fieldSize: MAX_DOCUMENT_BYTES,
        fileSize: maxBytes + 1,
      },
    });
  } catch {
    throw badRequest('content-type', 'multipart needs a boundary');
  }
};

/** The content of the part `data`, else of the only part. */
const readJsonPart = async (bytes: Buffer, request: FastifyRequest): Promise<Buffer> => {
  const form = openForm(request, MAX_DOCUMENT_BYTES);
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const parts: { name: string; content: Buffer[] }[] = [];
  form.on('field', (name, value) => parts.push({ name, content: [Buffer.from(value)] }));
  form.on('file', (name, stream) => {
    const part = { name, content: [] as Buffer[] };
    parts.push(part);
    stream.on('data', (piece: Buffer) => part.content.push(piece));
  });
  form.once('finish', () => {
    const part = parts.find(({ name }) => name === 'data') ?? (parts.length === 1 ? parts[0] : undefined);
    if (part) resolve(Buffer.concat(part.content));
    else reject(badRequest('data', 'is missing from the form'));
  });
  form.once('error', () => reject(badRequest('body', 'is not a multipart form')));
  Readable.from([bytes]).pipe(form);
  return promise;
};

const openFilePart = (request: FastifyRequest, maxBytes: number): Promise<Upload> => {
  const form = openForm(request, maxBytes);
  const { promise, resolve, reject } = Promise.withResolvers<Upload>();
  let taken = false;
  form.on('file', (_field, stream, name, _encoding, type) => {
    if (taken) return stream.resume();
    taken = true;
    const cap = createCap(maxBytes);
    endWithRequest(request, cap);
    form.once('error', () => cap.destroy(badRequest('body', 'is not a multipart form')));
    return resolve({ stream: stream.pipe(cap), name, type });
  });
  form.once('finish', () => reject(badRequest('body', 'holds no file')));
  form.once('error', () => reject(badRequest('body', 'is not a multipart form')));
  request.raw.once('close', () => reject(badRequest('body', 'ended early')));
  request.raw.pipe(form);
  return promise;
};

const createCap = (maxBytes: number): Transform => {
  let length = 0;
  const cap = new Transform({
    transform: (piece: Buffer, _encoding, done) => {
      length += piece.length;
      if (length > maxBytes) done(problem('payload_too_large'));
      else done(null, piece);
    },
  });
  // It may fail before its reader has begun; who reads then still gets the error.
  cap.on('error', () => {});
  return cap;
};
