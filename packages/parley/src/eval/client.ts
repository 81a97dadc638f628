/** Asks a running service to transcribe recordings, as any client does: `POST /api/v1/transcribe`. */
import { openAsBlob } from 'node:fs';
import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { basename } from 'node:path';
import { Readable } from 'node:stream';
import { text as readText } from 'node:stream/consumers';
import type { ReadableStream } from 'node:stream/web';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Transcript } from '@parley/speech/core/types.ts';

/** A service, and the key to ask with. */
export type Place = { readonly url: string; readonly key: string };

/** What the service said, and how long that took from the first byte sent to the last one read, seconds. */
export type Answer = { readonly transcript: Transcript; readonly latencySec: number };

/** Nothing of this kind will ever be answered: asking for the next recording is no use. */
export class ServiceRefusal extends Error {
  override name = 'ServiceRefusal';
}

const TRIES = 10;
const MAX_PAUSE_SEC = 30;
/** Statuses that say: come back later. */
const BUSY: ReadonlySet<number> = new Set([429, 503]);
/** Key, right, model or address: the same for every recording. */
const FINAL: ReadonlySet<number> = new Set([401, 403, 404, 405]);
/** Fields of the form that are wrong for every recording. */
const BAD_FIELDS: ReadonlySet<string> = new Set(['model', 'language', 'num_speakers']);

type Fields = Readonly<Record<string, string>>;
type Reply = { readonly status: number; readonly retryAfterSec: number; readonly text: string };

const addressOf = ({ url }: Place, path: string): URL => {
  try {
    return new URL(path, url.endsWith('/') ? url : `${url}/`);
  } catch {
    throw new Error(`${url} is not an address; it must look like http://host:port.`);
  }
};

/** The request of node:http waits as long as the signal lets it; fetch gives up after five minutes without an answer. */
const send = async (place: Place, path: string, form: FormData | undefined, signal: AbortSignal): Promise<Reply> => {
  const address = addressOf(place, path);
  const body = form && new Response(form);
  const headers = {
    authorization: `Bearer ${place.key}`,
    ...(body && { 'content-type': body.headers.get('content-type')! }),
  };
  const open = address.protocol === 'https:' ? requestHttps : requestHttp;
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const request = open(address, { method: body ? 'POST' : 'GET', headers, signal });
    request.once('response', resolve);
    request.on('error', (cause) => {
      signal.throwIfAborted();
      reject(new ServiceRefusal(`The service does not answer at ${place.url}.`, { cause }));
    });
    // The answer may come before all is sent; then that is what counts.
    if (body?.body)
      Readable.fromWeb(body.body as ReadableStream)
        .on('error', reject)
        .pipe(request);
    else request.end();
  });
  const retryAfterSec = Number(response.headers['retry-after']) || 1;
  return { status: response.statusCode ?? 0, retryAfterSec, text: await readText(response) };
};

const describe = ({ status, text }: Reply): { readonly message: string; readonly param: string | undefined } => {
  try {
    const { detail, param }: { detail?: unknown; param?: string } = JSON.parse(text);
    if (typeof detail === 'string') return { message: detail, param };
  } catch {
    // Not one of our answers.
  }
  return { message: `The service answered with status ${status}.`, param: undefined };
};

const toFault = (reply: Reply): Error => {
  const { message, param } = describe(reply);
  const isFinal = FINAL.has(reply.status) || BAD_FIELDS.has(param ?? '');
  return isFinal ? new ServiceRefusal(message) : new Error(message);
};

/** Whether the service is there and takes the key. Rejects with ServiceRefusal when not. */
export const checkService = async (place: Place, signal: AbortSignal): Promise<void> => {
  const reply = await send(place, 'api/v1/models', undefined, signal);
  if (reply.status === 200) return;
  throw new ServiceRefusal(describe(reply).message);
};

/**
 * Transcribes one file. Waits and asks again while the service is busy. Rejects with ServiceRefusal, or an Error that
 * says what is wrong with this recording.
 */
export const transcribe = async (place: Place, path: string, fields: Fields, signal: AbortSignal): Promise<Answer> => {
  for (let tries = 1; ; tries += 1) {
    const form = new FormData();
    for (const [name, value] of Object.entries(fields)) form.append(name, value);
    form.append('file', await openAsBlob(path), basename(path));
    const startedMs = performance.now();
    const reply = await send(place, 'api/v1/transcribe', form, signal);
    const latencySec = (performance.now() - startedMs) / 1000;
    if (reply.status === 200) return { transcript: JSON.parse(reply.text) as Transcript, latencySec };
    if (!BUSY.has(reply.status) || tries >= TRIES) throw toFault(reply);
    await sleep(Math.min(reply.retryAfterSec, MAX_PAUSE_SEC) * 1000, undefined, { signal });
  }
};
