/**
 * 120: a request to another service. Its status, body (JSON as its value, else text) and headers go into the variables
 * of `save`; every status is an answer. Where none came, `transfer_error` leads on; without it the run ends.
 */
import { OutboundError } from '@parley/kit/outbound.ts';
import { isObject } from '../../rest/json.ts';
import { type Element, type ElementContext, go, type ScriptObject } from '../element.ts';
import { ScriptFault } from '../fault.ts';
import type { HttpAnswer, HttpRequest } from '../http.ts';
import { toText } from '../template.ts';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];
const SAVED = ['status', 'body', 'headers'];
const MAX_TIMEOUT_MS = 10_000;
const MAX_URL = 2048;
const MAX_HEADERS = 50;
const MAX_BODY_BYTES = 1_048_576;

export const http: Element = {
  oType: 120,
  name: 'http',
  keys: {
    method: { kind: 'word', words: METHODS, description: 'GET when absent.' },
    url: { kind: 'template', required: true },
    headers: { kind: 'template', description: 'An object of texts.' },
    body: { kind: 'template', description: 'Text as it is; anything else as JSON.' },
    timeout_ms: { kind: 'number', min: 1, max: MAX_TIMEOUT_MS },
    save: { kind: 'variables', words: SAVED },
    transfer_error: { kind: 'transfer' },
  },
  run: async (context, object) => {
    try {
      save(context, object, await requestHttp(context, await readRequest(context, object)));
    } catch (thrown) {
      if (!(thrown instanceof ScriptFault) || thrown.reason !== 'outbound') throw thrown;
      if (object.transfer_error === undefined) throw thrown;
      context.log('warning', thrown.message);
      return go(object, 'transfer_error');
    }
    return go(object);
  },
};

type Wanted = Omit<HttpRequest, 'signal' | 'timeoutMs'> & { readonly timeoutMs?: number };

/** Sends a request within what is left of the run. Throws a ScriptFault `outbound` when no usable answer came. */
export const requestHttp = async (context: ElementContext, wanted: Wanted): Promise<HttpAnswer> => {
  const { services, signal } = context;
  if (!services.http) throw new ScriptFault('element', 'there are no requests to others here');
  const timeoutMs = Math.max(1, Math.min(wanted.timeoutMs ?? MAX_TIMEOUT_MS, MAX_TIMEOUT_MS, context.remainingMs()));
  try {
    return await services.http.request({ ...wanted, signal, timeoutMs });
  } catch (thrown) {
    if (!(thrown instanceof OutboundError)) throw thrown;
    throw new ScriptFault('outbound', `${thrown.failure}: ${thrown.message}`, thrown);
  }
};

const readRequest = async (context: ElementContext, object: ScriptObject): Promise<Wanted> => {
  const url = await context.renderText(object.url);
  if (url.length > MAX_URL) throw new ScriptFault('element', `url is longer than ${MAX_URL} characters`);
  const headers = await readHeaders(context, object.headers);
  const body = object.body === undefined ? undefined : await context.render(object.body);
  const isText = body === undefined || body === null || typeof body === 'string';
  const text = body === undefined || body === null ? undefined : isText ? body : JSON.stringify(body);
  if (text !== undefined && Buffer.byteLength(text) > MAX_BODY_BYTES) {
    throw new ScriptFault('size', `body has more than ${MAX_BODY_BYTES} bytes`);
  }
  const hasType = Object.keys(headers).some((name) => name.toLowerCase() === 'content-type');
  return {
    method: typeof object.method === 'string' ? object.method : 'GET',
    url,
    headers: isText || hasType ? headers : { ...headers, 'content-type': 'application/json' },
    ...(text === undefined ? {} : { body: text }),
    ...(typeof object.timeout_ms === 'number' ? { timeoutMs: object.timeout_ms } : {}),
  };
};

const readHeaders = async (context: ElementContext, template: unknown): Promise<Record<string, string>> => {
  const headers = template === undefined ? {} : ((await context.render(template)) ?? {});
  if (!isObject(headers)) throw new ScriptFault('element', 'headers must be an object');
  const entries = Object.entries(headers).filter(([, value]) => value !== null && value !== undefined);
  if (entries.length > MAX_HEADERS) throw new ScriptFault('element', `more than ${MAX_HEADERS} headers`);
  return Object.fromEntries(entries.map(([name, value]) => [name, toText(value)]));
};

const save = (context: ElementContext, object: ScriptObject, { status, headers, body }: HttpAnswer): void => {
  const values: Readonly<Record<string, unknown>> = { status, headers, body: readValue(headers['content-type'], body) };
  for (const [what, name] of Object.entries(isObject(object.save) ? object.save : {})) {
    if (SAVED.includes(what)) context.variables.set(String(name), values[what]);
  }
};

/** What says it is JSON and is not stays text. */
const readValue = (type: string | undefined, body: Buffer): unknown => {
  const text = body.toString('utf8');
  if (!/^application\/(?:[\w.+-]+\+)?json\b/i.test(type ?? '')) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
};
