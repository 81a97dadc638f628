/**
 * Serves a page that was built into a folder: the document with a policy that lets nothing foreign in, files with a digest
 * in their name for good, the compressed form where the client takes it. Files are read once, when first asked for.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { createToken, sha256Hex } from '../ids.ts';

export type Pages = {
  /**
   * Answers with the file at `path` below the folder, or with the document when the path names no file (the page routes
   * by its address). False when there is no such file, or the page was never built.
   */
  send(path: string, request: FastifyRequest, reply: FastifyReply): boolean;
};

type Encoding = 'br' | 'gzip';
type PageFile = {
  readonly type: string;
  readonly body: Buffer;
  readonly encoded: Readonly<Partial<Record<Encoding, Buffer>>>;
  readonly tag: string;
  readonly isImmutable: boolean;
};

const DOCUMENT = 'index.html';
const NONCE_PLACEHOLDER = '__CSP_NONCE__';
const NONCE_BYTES = 16;
const ONE_YEAR_SEC = 31_536_000;
const SUFFIXES: Readonly<Record<string, Encoding>> = { '.br': 'br', '.gz': 'gzip' };
/** Vite puts the digest before the ending: `index-BqX7f0aK.js`. */
const HAS_DIGEST = /-[\w-]{8}\.\w+$/;

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
};

/**
 * Scripts, styles and requests from here only, no inline code, no frames; recordings are played from memory (`blob:`).
 * The nonce lets in the styles that a library puts into a shadow root.
 */
const policyOf = (nonce: string): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "connect-src 'self'",
    "img-src 'self' blob:",
    "media-src 'self' blob:",
    "font-src 'self'",
    "worker-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join('; ');

/** The page in `folder`; without such a folder `send` always says false. */
export const openPages = (folder: string): Pages => {
  let files: ReadonlyMap<string, PageFile> | undefined;
  return {
    send: (path, request, reply) => {
      files ??= readFiles(folder);
      const name = extname(path) === '' ? DOCUMENT : path;
      const file = files.get(name);
      if (!file) return false;
      if (name === DOCUMENT) sendDocument(file, reply);
      else sendFile(file, request, reply);
      return true;
    },
  };
};

const readFiles = (folder: string): ReadonlyMap<string, PageFile> => {
  const bodies = new Map(namesIn(folder).map((name) => [name, readFileSync(join(folder, name))]));
  const files = new Map<string, PageFile>();
  for (const [name, body] of bodies) {
    if (SUFFIXES[extname(name)]) continue;
    const encoded: Partial<Record<Encoding, Buffer>> = {};
    for (const [suffix, encoding] of Object.entries(SUFFIXES)) {
      const compressed = bodies.get(name + suffix);
      if (compressed) encoded[encoding] = compressed;
    }
    files.set(name, {
      type: TYPES[extname(name)] ?? 'application/octet-stream',
      body,
      encoded,
      tag: sha256Hex(body).slice(0, 32),
      isImmutable: HAS_DIGEST.test(name),
    });
  }
  return files;
};

const namesIn = (folder: string): string[] => {
  try {
    return readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(join(folder, '/').length).replaceAll('\\', '/'));
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw thrown;
  }
};

/** The document is made anew each time: its nonce must not come twice. */
const sendDocument = (file: PageFile, reply: FastifyReply): void => {
  const nonce = createToken(NONCE_BYTES);
  reply.headers({
    'Cache-Control': 'no-store',
    'Content-Security-Policy': policyOf(nonce),
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Permissions-Policy': 'camera=(), geolocation=(), payment=(), usb=()',
  });
  reply.type(file.type).send(file.body.toString('utf8').replaceAll(NONCE_PLACEHOLDER, nonce));
};

const sendFile = (file: PageFile, request: FastifyRequest, reply: FastifyReply): void => {
  const encoding = encodingFor(file, request.headers['accept-encoding'] ?? '');
  const tag = `"${file.tag}${encoding === undefined ? '' : `-${encoding}`}"`;
  reply.headers({
    'Cache-Control': file.isImmutable ? `public, max-age=${ONE_YEAR_SEC}, immutable` : 'no-cache',
    ETag: tag,
    Vary: 'Accept-Encoding',
  });
  if (request.headers['if-none-match'] === tag) {
    reply.code(304).send();
    return;
  }
  if (encoding !== undefined) reply.header('Content-Encoding', encoding);
  reply.type(file.type).send(encoding === undefined ? file.body : file.encoded[encoding]);
};

/** The better form the client takes; a weight of 0 is a refusal (RFC 9110 §12.5.3). */
const encodingFor = (file: PageFile, accepted: string): Encoding | undefined => {
  const taken = accepted
    .split(',')
    .map((one) => one.trim().split(/\s*;\s*q=/))
    .filter(([, weight]) => weight === undefined || Number(weight) > 0)
    .map(([name]) => name);
  return (['br', 'gzip'] as const).find((one) => file.encoded[one] !== undefined && taken.includes(one));
};
