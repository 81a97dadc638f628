/**
 * Fetches one pinned file over HTTP into a `.part` file beside its place: 5 s to connect, 10 s without a byte, resumed
 * by Range, size and SHA-256 checked at the end. Knows nothing of models; retries are the caller's (download.ts).
 */
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream, openSync } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import { Agent as HttpAgent, get as httpGet, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, get as httpsGet } from 'node:https';
import type { Socket } from 'node:net';
import { Transform, type TransformCallback } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { asStorageFault, DownloadFault } from './fault.ts';

export type FetchTimes = { readonly connectMs: number; readonly idleMs: number };
const FETCH_TIMES: FetchTimes = { connectMs: 5000, idleMs: 10_000 };

/** The usual proxy variables, when the operator's environment has them. */
export type ProxyEnv = Readonly<Partial<Record<'HTTP_PROXY' | 'HTTPS_PROXY' | 'NO_PROXY', string>>>;

/** What a request itself needs. */
type RequestOptions = {
  readonly url: string;
  readonly signal: AbortSignal;
  readonly times?: FetchTimes;
  readonly proxyEnv?: ProxyEnv;
};

export type FetchOptions = RequestOptions & {
  /** Lower-case hex. */
  readonly sha256: string;
  /** 0 is unknown. */
  readonly sizeBytes: number;
  /** Where the bytes go; what an earlier try left there is continued. */
  readonly path: string;
  readonly onProgress?: (downloaded: number, total: number) => void;
  readonly onVerifying?: () => void;
};

const MAX_REDIRECTS = 5;
const MAX_FILE_BYTES = 12 * 2 ** 30;
const HTTP = { ok: 200, partial: 206, notFound: 404, gone: 410, timeout: 408, range: 416, tooMany: 429, server: 500 };

/** Replaces the beginning of a URL by what the operator named for it; the longest match wins. */
export const applyMirrors = (url: string, mirrors: Readonly<Record<string, string>>): string => {
  const from = Object.keys(mirrors)
    .filter((prefix) => url.startsWith(prefix))
    .sort((a, b) => b.length - a.length)[0];
  return from === undefined ? url : `${mirrors[from]}${url.slice(from.length)}`;
};

const hostOf = (url: URL): string => url.host;

/** Destroys the request when it has no connection (name, TCP, TLS) in time. */
const limitConnecting = (socket: Socket, secure: boolean, connectMs: number, host: string): void => {
  const done = secure ? 'secureConnect' : 'connect';
  if (!socket.connecting) return;
  const timer = setTimeout(() => {
    const words = `No connection to ${host} within ${connectMs / 1000} s.`;
    socket.destroy(new DownloadFault('unreachable', words, { transient: true }));
  }, connectMs);
  const stop = (): void => clearTimeout(timer);
  socket.once(done, stop);
  socket.once('close', stop);
};

const request = (url: URL, offset: number, agent: HttpAgent, options: RequestOptions): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const { connectMs, idleMs } = options.times ?? FETCH_TIMES;
    const secure = url.protocol === 'https:';
    const headers = { 'User-Agent': 'parley', Accept: '*/*', ...(offset > 0 && { Range: `bytes=${offset}-` }) };
    const sent = (secure ? httpsGet : httpGet)(url, { headers, agent, signal: options.signal }, resolve);
    sent.on('socket', (socket) => limitConnecting(socket, secure, connectMs, hostOf(url)));
    sent.setTimeout(idleMs, () => {
      sent.destroy(
        new DownloadFault('unreachable', `No byte from ${hostOf(url)} for ${idleMs / 1000} s.`, { transient: true }),
      );
    });
    sent.on('error', reject);
  });

const parseUrl = (text: string, base?: URL): URL => {
  const url = URL.parse(text, base?.href);
  if (!url || !['https:', 'http:'].includes(url.protocol)) {
    throw new DownloadFault('download_refused', 'The download address is not an http(s) URL.');
  }
  if (base?.protocol === 'https:' && url.protocol === 'http:') {
    throw new DownloadFault('download_refused', `${hostOf(base)} redirects to an unencrypted address.`);
  }
  return url;
};

/** Follows redirects to the answer that carries the bytes. */
const open = async (offset: number, agents: Agents, options: RequestOptions): Promise<IncomingMessage> => {
  let url = parseUrl(options.url);
  for (let hop = 0; hop <= MAX_REDIRECTS; hop += 1) {
    const answer = await request(url, offset, url.protocol === 'https:' ? agents.https : agents.http, options);
    const { location } = answer.headers;
    const status = answer.statusCode ?? 0;
    if (status < 300 || status >= 400 || location === undefined) return answer;
    answer.destroy();
    url = parseUrl(location, url);
  }
  throw new DownloadFault('download_refused', `More than ${MAX_REDIRECTS} redirects.`);
};

type Agents = { readonly http: HttpAgent; readonly https: HttpsAgent };

const createAgents = (proxyEnv: ProxyEnv | undefined): Agents => {
  const options = { keepAlive: false, ...(proxyEnv && { proxyEnv }) };
  return { http: new HttpAgent(options), https: new HttpsAgent(options) };
};

const checkStatus = (status: number, host: string): void => {
  if (status === HTTP.ok || status === HTTP.partial) return;
  if (status === HTTP.notFound || status === HTTP.gone) {
    throw new DownloadFault('not_found', `${host} does not have the file (${status}).`);
  }
  const transient = status === HTTP.timeout || status === HTTP.tooMany || status >= HTTP.server;
  throw new DownloadFault('unreachable', `${host} answered ${status}.`, { transient });
};

/** Where this answer's first byte belongs, or undefined when it does not fit what was asked. */
const startOf = (answer: IncomingMessage, offset: number): number | undefined => {
  if (answer.statusCode === HTTP.ok) return 0;
  const range = /^bytes (\d+)-/.exec(answer.headers['content-range'] ?? '');
  return range && Number(range[1]) === offset ? offset : undefined;
};

const checkLength = (answer: IncomingMessage, start: number, expected: number): number => {
  const length = Number(answer.headers['content-length'] ?? Number.NaN);
  const total = Number.isSafeInteger(length) ? start + length : 0;
  if (expected > 0 && total > 0 && total !== expected) {
    throw new DownloadFault('size_mismatch', `The file has ${total} bytes instead of ${expected}.`);
  }
  if (total > MAX_FILE_BYTES) throw new DownloadFault('size_mismatch', 'The file is larger than any model.');
  return expected || total;
};

const watchBytes = (start: number, total: number, options: FetchOptions): Transform => {
  let downloaded = start;
  const most = options.sizeBytes || MAX_FILE_BYTES;
  return new Transform({
    transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback) {
      downloaded += chunk.length;
      if (downloaded > most) return done(new DownloadFault('size_mismatch', `The file is longer than ${most} bytes.`));
      options.onProgress?.(downloaded, total);
      done(null, chunk);
    },
  });
};

const sizeOnDisk = async (path: string): Promise<number> => (await stat(path).catch(() => undefined))?.size ?? 0;

/** SHA-256 of a file, lower-case hex. */
const sha256Of = async (path: string, signal: AbortSignal): Promise<string> => {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash, { signal });
  return hash.digest('hex');
};

const asFault = (error: unknown, options: RequestOptions): unknown => {
  if (error instanceof DownloadFault) return error;
  if (options.signal.aborted) return options.signal.reason;
  const storage = asStorageFault(error);
  if (storage !== error) return storage;
  const code = (error as NodeJS.ErrnoException).code ?? 'broken connection';
  const host = URL.parse(options.url)?.host ?? '';
  return new DownloadFault('unreachable', `${host} cannot be reached or hung up (${code}).`, {
    cause: error,
    transient: true,
  });
};

const receive = async (offset: number, agents: Agents, options: FetchOptions): Promise<void> => {
  const answer = await open(offset, agents, options);
  try {
    if (answer.statusCode === HTTP.range && offset > 0) {
      await rm(options.path, { force: true });
      throw new DownloadFault('unreachable', 'The rest of the file cannot be had.', { transient: true });
    }
    checkStatus(answer.statusCode ?? 0, URL.parse(options.url)?.host ?? '');
    const start = startOf(answer, offset);
    if (start === undefined) {
      await rm(options.path, { force: true });
      throw new DownloadFault('unreachable', 'The server answered another part of the file.', { transient: true });
    }
    const total = checkLength(answer, start, options.sizeBytes);
    // Opened at once, so that a connection that breaks right away still leaves what it brought.
    const file = createWriteStream(options.path, { fd: openSync(options.path, start > 0 ? 'a' : 'w') });
    await pipeline(answer, watchBytes(start, total, options), file, { signal: options.signal });
  } finally {
    answer.destroy();
  }
};

/**
 * Fetches the file to `options.path`, going on where an earlier try stopped. A file with the wrong size or digest is
 * removed. Throws DownloadFault (unreachable, not_found, size_mismatch, digest_mismatch, download_refused,
 * storage_unavailable) or the signal's reason.
 */
export const fetchFile = async (options: FetchOptions): Promise<void> => {
  const { path, sizeBytes, signal } = options;
  signal.throwIfAborted();
  const had = await sizeOnDisk(path);
  const offset = sizeBytes > 0 && had > sizeBytes ? 0 : had;
  const agents = createAgents(options.proxyEnv);
  try {
    if (sizeBytes === 0 || offset < sizeBytes) await receive(offset, agents, options);
    const size = await sizeOnDisk(path);
    if (sizeBytes > 0 && size !== sizeBytes) {
      throw new DownloadFault('unreachable', `The connection ended at ${size} of ${sizeBytes} bytes.`, {
        transient: true,
      });
    }
    options.onVerifying?.();
    if ((await sha256Of(path, signal)) !== options.sha256.toLowerCase()) {
      // What an earlier try left may be to blame: then one try from the beginning tells.
      throw new DownloadFault('digest_mismatch', 'The file does not have the SHA-256 the catalog names.', {
        transient: offset > 0,
      });
    }
  } catch (error) {
    const fault = asFault(error, options);
    if (fault instanceof DownloadFault && ['digest_mismatch', 'size_mismatch'].includes(fault.code)) {
      await rm(path, { force: true });
    }
    throw fault;
  } finally {
    agents.http.destroy();
    agents.https.destroy();
  }
};

/** Fetches a small text. Throws as `fetchFile` does, size_mismatch when it is longer than `maxBytes`. */
export const fetchText = async (options: RequestOptions & { readonly maxBytes: number }): Promise<string> => {
  const agents = createAgents(options.proxyEnv);
  try {
    const answer = await open(0, agents, options);
    checkStatus(answer.statusCode ?? 0, URL.parse(options.url)?.host ?? '');
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > options.maxBytes) {
        throw new DownloadFault('size_mismatch', `The file is longer than ${options.maxBytes} bytes.`);
      }
      chunks.push(chunk);
    }
    return Buffer.concat(chunks).toString('utf8');
  } catch (error) {
    throw asFault(error, options);
  } finally {
    agents.http.destroy();
    agents.https.destroy();
  }
};
