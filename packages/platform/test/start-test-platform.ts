/** The real platform on a temporary folder and a free port, and a client that says what it sends. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSilentLog } from '@parley/kit/log.ts';
import { readSettings } from '@parley/kit/settings.ts';
import { PLATFORM_SETTINGS } from '../src/settings.ts';
import { startPlatform } from '../src/start.ts';

export const ADMIN_PASSWORD = 'Administrator-1';

export type Answer = {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: what came back is what the test looks into
  readonly body: any;
};

export type Ask = {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as X-Forwarded-For, which the test platform believes. */
  readonly address?: string;
};

/** Calls with the credentials it was made with. */
export type Client = {
  readonly headers: Readonly<Record<string, string>>;
  /** `path` below `/rest/v1/`, or from the root when it begins with a slash. */
  call(method: string, path: string, ask?: Ask): Promise<Answer>;
};

export type TestPlatform = AsyncDisposable & {
  readonly url: string;
  /** Its data folder. */
  readonly folder: string;
  readonly guest: Client;
  as(headers: Readonly<Record<string, string>>): Client;
  /** Signs in with a token session; throws when refused. */
  signIn(login: string, pwd: string, domain?: string): Promise<Client>;
  /** Signs in and answers the `name=value` of the cookie. */
  cookieOf(login: string, pwd: string, domain?: string): Promise<string>;
};

/** A client of the platform at this address, with these headers. */
export const createClient = (url: string, headers: Readonly<Record<string, string>>): Client => ({
  headers,
  call: async (method, path, { body, headers: more, address } = {}) => {
    const isText = typeof body === 'string' && more?.['content-type'] !== undefined;
    const answer = await fetch(path.startsWith('/') ? url + path : `${url}/rest/v1/${path}`, {
      method,
      redirect: 'manual',
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(address === undefined ? {} : { 'x-forwarded-for': address }),
        ...headers,
        ...more,
      },
      ...(body === undefined ? {} : { body: isText ? body : JSON.stringify(body) }),
    });
    const text = await answer.text();
    const isJson = answer.headers.get('content-type')?.startsWith('application/json') && text !== '';
    return { status: answer.status, headers: answer.headers, text, body: isJson ? JSON.parse(text) : undefined };
  },
});

/** The cookie an answer sets, as `name=value`. */
export const cookieIn = (answer: Answer): string => answer.headers.getSetCookie()[0]?.split(';')[0] ?? '';

/** `place`: what `storage.url` takes; a SQLite file of its own when absent. `settings`: by full key, `platform.…`. */
export const startTestPlatform = async (
  place?: string,
  settings: Readonly<Record<string, string>> = {},
): Promise<TestPlatform> => {
  const folder = await mkdtemp(join(tmpdir(), 'parley-platform-'));
  const flags = {
    data_dir: folder,
    'platform.port': '0',
    admin_password: ADMIN_PASSWORD,
    trusted_proxies: '127.0.0.1',
    // One key for all processes of a test, as an installation of several has.
    secret_key: '00'.repeat(32),
    ...(place === undefined ? {} : { 'storage.url': place }),
    ...settings,
  };
  const read = readSettings(PLATFORM_SETTINGS, { section: 'platform', env: {}, flags });
  const running = await startPlatform(read, createSilentLog());
  const guest = createClient(running.url, {});
  const post = async (body: object): Promise<Answer> => {
    const answer = await guest.call('POST', 'iam/sessions', { body });
    if (answer.status >= 300) throw new Error(`sign-in answered ${answer.status} ${answer.text}`);
    return answer;
  };
  const where = (domain: string | undefined) => (domain === undefined ? {} : { domain });
  return {
    url: running.url,
    folder,
    guest,
    as: (headers) => createClient(running.url, headers),
    signIn: async (login, pwd, domain) => {
      const { body } = await post({ login, pwd, session_type: 'token', ...where(domain) });
      return createClient(running.url, { authorization: `Bearer ${body.session_token}` });
    },
    cookieOf: async (login, pwd, domain) => cookieIn(await post({ login, pwd, ...where(domain) })),
    [Symbol.asyncDispose]: async () => {
      await running[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    },
  };
};
