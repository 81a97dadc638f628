/**
 * Requests to the service this page came from: a refusal becomes an `ApiError`, event streams are read by fetch (an
 * EventSource sends no key), uploads tell how far they are. `onUnauthorized` may get a credential (a key dialog, a sign-in);
 * when it says true the request is sent once more.
 */
import { readEvents, type StreamEvent } from './event-stream.ts';

/** What the service said no with. `code` is the service's own; the message is for people. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly param: string | undefined;
  readonly requestId: string | undefined;
  /** The body as it came, for members only one service has. */
  readonly body: unknown;
  constructor(status: number, told: Told, requestId: string | undefined, body: unknown) {
    super(told.message);
    this.name = 'ApiError';
    this.status = status;
    this.code = told.code;
    this.param = told.param;
    this.requestId = requestId;
    this.body = body;
  }
}

type Told = { readonly message: string; readonly code: string; readonly param?: string | undefined };

export type ApiParts = {
  /** Headers that prove who asks; read anew for every request. */
  readonly credential: () => Readonly<Record<string, string>>;
  /** Asked after a 401; true sends the request again with the new credential. */
  readonly onUnauthorized: (error: ApiError) => Promise<boolean>;
};

export type Send = {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** An object goes as JSON; a form, text or blob as it is. Made anew for a second try when it is a function. */
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
};

export type Api = {
  /** The answer, whatever its status up to 399. Rejects with ApiError, or AbortError. */
  request(path: string, send?: Send): Promise<Response>;
  /** The answer's JSON; undefined for an empty one. */
  json<T>(path: string, send?: Send): Promise<T>;
  /** Follows an event stream until it ends. */
  events(path: string, onEvent: (event: StreamEvent) => void, send?: Send): Promise<void>;
  /** Posts a form and tells how much of it is sent, from 0 to 1. */
  upload<T>(path: string, form: FormData, options: UploadOptions): Promise<T>;
};

export type UploadOptions = {
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  readonly onProgress?: (share: number) => void;
};

const NO_ANSWER_STATUS = 0;

export const createApi = (parts: ApiParts): Api => {
  const request: Api['request'] = async (path, send = {}) => {
    for (;;) {
      const response = await fetchOnce(parts, path, send);
      if (response.ok) return response;
      const error = await errorOf(response);
      if (response.status !== 401 || !(await parts.onUnauthorized(error))) throw error;
    }
  };
  return {
    request,
    json: async (path, send) => parseBody(await (await request(path, send)).text()) as never,
    events: async (path, onEvent, send = {}) => {
      const response = await request(path, { ...send, headers: { ...send.headers, accept: 'text/event-stream' } });
      if (response.body) await readEvents(response.body, onEvent);
    },
    upload: async (path, form, options) => {
      for (;;) {
        const { status, text, requestId } = await sendForm(parts, path, form, options);
        if (status >= 200 && status < 300) return parseBody(text) as never;
        const error = toError(status, text, requestId);
        if (status !== 401 || !(await parts.onUnauthorized(error))) throw error;
      }
    },
  };
};

const fetchOnce = async (parts: ApiParts, path: string, send: Send): Promise<Response> => {
  const body = typeof send.body === 'function' ? send.body() : send.body;
  const isPlain = body === undefined || typeof body === 'string' || body instanceof FormData || body instanceof Blob;
  const init: RequestInit = {
    method: send.method ?? 'GET',
    headers: { ...(isPlain ? {} : { 'content-type': 'application/json' }), ...send.headers, ...parts.credential() },
    ...(body === undefined ? {} : { body: isPlain ? body : JSON.stringify(body) }),
    ...(send.signal ? { signal: send.signal } : {}),
  };
  try {
    return await fetch(path, init);
  } catch (thrown) {
    if (send.signal?.aborted) throw thrown;
    throw unreachable();
  }
};

const unreachable = (): ApiError =>
  new ApiError(
    NO_ANSWER_STATUS,
    { message: 'The service cannot be reached.', code: 'unreachable' },
    undefined,
    undefined,
  );

const errorOf = async (response: Response): Promise<ApiError> =>
  toError(response.status, await response.text().catch(() => ''), response.headers.get('x-request-id') ?? undefined);

const toError = (status: number, text: string, requestId: string | undefined): ApiError => {
  const body = parseBody(text);
  return new ApiError(status, toTold(body, status), requestId, body);
};

/** RFC 9457 (`detail`, `code`, `param`) of speech, `error_code` and `error_message` of platform. */
const toTold = (body: unknown, status: number): Told => {
  const fields = (typeof body === 'object' && body !== null ? body : {}) as Record<string, unknown>;
  const details = (fields.error_details ?? {}) as Record<string, unknown>;
  const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
  return {
    message: textOf(fields.detail) ?? textOf(fields.error_message) ?? `The service answered ${status}.`,
    code: textOf(fields.code) ?? String(fields.error_code ?? status),
    param: textOf(fields.param) ?? textOf(details.field),
  };
};

const parseBody = (text: string): unknown => {
  if (text === '') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

type Answer = { readonly status: number; readonly text: string; readonly requestId: string | undefined };

/** XMLHttpRequest, because fetch does not tell how much of a body has been sent. */
const sendForm = (parts: ApiParts, path: string, form: FormData, options: UploadOptions): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const { signal, onProgress } = options;
    const request = new XMLHttpRequest();
    const abort = (): void => request.abort();
    request.open('POST', path);
    for (const [name, value] of Object.entries({ ...options.headers, ...parts.credential() })) {
      request.setRequestHeader(name, value);
    }
    request.upload.onprogress = ({ loaded, total }) => onProgress?.(total === 0 ? 0 : loaded / total);
    request.onload = () => {
      const requestId = request.getResponseHeader('x-request-id') ?? undefined;
      resolve({ status: request.status, text: request.responseText, requestId });
    };
    request.onerror = () => reject(unreachable());
    request.onabort = () => reject(new DOMException('The upload was stopped.', 'AbortError'));
    request.onloadend = () => signal?.removeEventListener('abort', abort);
    signal?.addEventListener('abort', abort, { once: true });
    if (signal?.aborted) abort();
    else request.send(form);
  });

/** True for a request that was given up on purpose. */
export const isAbort = (thrown: unknown): boolean => thrown instanceof DOMException && thrown.name === 'AbortError';
