/** Tests as rows: one row is one request over the wire and what must come back. */
import assert from 'node:assert/strict';
import { it } from 'node:test';

/** `body` as an object goes as JSON; text, bytes and forms go as they are. */
export type ScenarioRequest = {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
};

export type ScenarioExpectation = {
  readonly status: number;
  /** Exact text, a pattern, or `null` for a header that must not be there. */
  readonly headers?: Readonly<Record<string, string | RegExp | null>>;
  /** What the JSON body must contain at least: objects by the keys named, all else exactly; or a pattern of the text. */
  readonly body?: unknown;
  /** Anything more, given the body: JSON when it is, else text. */
  check?(body: unknown, answer: Response): void | Promise<void>;
};

export type Scenario = ScenarioRequest & { readonly name: string; readonly expect: ScenarioExpectation };

/** Makes a test of each row. `base` gives the address of the server when the test runs. */
export const runScenarios = (base: () => string, rows: readonly Scenario[]): void => {
  for (const row of rows) {
    it(row.name, async () => {
      const answer = await send(base(), row);
      await meets(answer, row.expect);
    });
  }
};

/** Sends one request; redirects are answers. */
export const send = (base: string, { method, path, headers, body }: ScenarioRequest): Promise<Response> => {
  const isPlain =
    typeof body === 'object' &&
    body !== null &&
    [Object.prototype, Array.prototype].includes(Object.getPrototypeOf(body));
  return fetch(new URL(path, base), {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    headers: { ...(isPlain ? { 'content-type': 'application/json' } : {}), ...headers },
    redirect: 'manual',
    ...(body === undefined
      ? {}
      : { body: isPlain ? JSON.stringify(body) : (body as NonNullable<RequestInit['body']>) }),
    ...(body instanceof ReadableStream ? { duplex: 'half' as const } : {}),
  });
};

/** Asserts that an answer is as expected; its body is read to the end. */
export const meets = async (answer: Response, expected: ScenarioExpectation): Promise<void> => {
  const text = await answer.text();
  assert.equal(answer.status, expected.status, text.slice(0, 500));
  for (const [name, wanted] of Object.entries(expected.headers ?? {})) {
    const got = answer.headers.get(name);
    if (wanted instanceof RegExp) assert.match(got ?? '', wanted, name);
    else assert.equal(got, wanted, name);
  }
  const isJson = /[/+]json\b/.test(answer.headers.get('content-type') ?? '');
  const body: unknown = isJson && text !== '' ? JSON.parse(text) : text;
  if (expected.body instanceof RegExp) assert.match(text, expected.body);
  else if (expected.body !== undefined) assertContains(body, expected.body);
  await expected.check?.(body, answer);
};

/** `assert.partialDeepStrictEqual` would also pass arrays that have more than was named. */
const assertContains = (got: unknown, wanted: unknown): void => assert.deepEqual(narrowTo(got, wanted), wanted);

/** What of `got` has a counterpart in `wanted`. */
const narrowTo = (got: unknown, wanted: unknown): unknown => {
  if (Array.isArray(got) && Array.isArray(wanted)) return got.map((item, index) => narrowTo(item, wanted[index]));
  if (!isObject(got) || !isObject(wanted)) return got;
  return Object.fromEntries(
    Object.keys(wanted)
      .filter((key) => Object.hasOwn(got, key))
      .map((key) => [key, narrowTo(got[key], wanted[key])]),
  );
};

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
