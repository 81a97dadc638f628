/** Asks both services as strangers do, counts what came of it, and notices every answer that should not be. */
import type { Ledger } from './ledger.ts';

export type Answer = {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: what came back is what the load looks into
  readonly body: any;
};

export type Question = {
  /** Shown in the summary. */
  readonly what: string;
  readonly method?: string;
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: RequestInit['body'];
  /** Statuses that are as they should be; 200 when not given. 429 and 503 with Retry-After always are. */
  readonly expect?: readonly number[];
  /** Ends it from the client's side. */
  readonly signal?: AbortSignal;
};

export type Client = {
  /** Undefined when no whole answer came. */
  ask(question: Question): Promise<Answer | undefined>;
};

/** Longest wait for an answer: anything slower hangs. */
const HANGS_MS = 90_000;
const REFUSED = [429, 503];

const codeOf = (body: unknown): string => {
  if (typeof body !== 'object' || body === null) return '';
  const { code, error, error_code, error_details } = body as Record<string, unknown>;
  const details = error_details === undefined ? '' : ` ${JSON.stringify(error_details)}`;
  return ` ${String(code ?? (error as { code?: unknown })?.code ?? error_code ?? '')}${details}`;
};

const read = async (response: Response): Promise<unknown> => {
  const text = await response.text();
  const isJson = /json/.test(response.headers.get('content-type') ?? '');
  return isJson && text !== '' ? JSON.parse(text) : text;
};

/** What an answer is worth; tells the ledger. */
export const judge = (
  ledger: Ledger,
  what: string,
  { status, headers, body }: Answer,
  expect: readonly number[],
): void => {
  if (expect.includes(status)) ledger.count(what, 'done');
  else if (REFUSED.includes(status)) {
    ledger.count(what, 'refused');
    if (!headers.has('retry-after')) ledger.fault(`${what}: ${status} without Retry-After`);
  } else ledger.fault(`${what}: answered ${status}${codeOf(body)}`);
};

/** A connection that broke: nobody's fault while something was disturbed. */
export const judgeCut = (ledger: Ledger, what: string, begunMs: number, thrown: unknown): void => {
  ledger.count(what, 'cut');
  const { name, message, cause } = thrown as Error & { cause?: { code?: string } };
  if (name === 'TimeoutError') ledger.fault(`${what}: no answer within ${HANGS_MS / 1000} s`);
  else if (ledger.isCalmSince(begunMs))
    ledger.fault(`${what}: cut while nothing was disturbed (${cause?.code ?? message})`);
};

export const createClient = (ledger: Ledger): Client => ({
  ask: async ({ what, url, method = 'GET', headers = {}, body, expect = [200], signal }) => {
    const begunMs = performance.now();
    const limit = AbortSignal.timeout(HANGS_MS);
    try {
      const response = await fetch(url, {
        method,
        headers,
        signal: signal ? AbortSignal.any([signal, limit]) : limit,
        ...(body === undefined ? {} : { body }),
      });
      const answer = { status: response.status, headers: response.headers, body: await read(response) };
      judge(ledger, what, answer, expect);
      return answer;
    } catch (thrown) {
      if (signal?.aborted) ledger.count(what, 'left');
      else judgeCut(ledger, what, begunMs, thrown);
      return undefined;
    }
  },
});
