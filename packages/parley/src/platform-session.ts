/**
 * The running platform as an administrator on the command line sees it: over its own interface, with the password of
 * the first administrator (setting `admin_password`, else the file the first start left), signed out at the end.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readSettings } from '@parley/kit/settings.ts';
import { PLATFORM_SETTINGS } from '@parley/platform/settings.ts';
import type { CommandContext } from './command.ts';

export type PlatformAnswer = {
  readonly status: number;
  /** JSON of the answer, undefined when there is none. */
  readonly body: unknown;
};

export type PlatformSession = AsyncDisposable & {
  readonly url: string;
  /** `path` below `/rest/v1/`. */
  call(method: string, path: string, body?: unknown): Promise<PlatformAnswer>;
  /** The same; throws an Error with the platform's words when it is refused. */
  ask(method: string, path: string, body?: unknown): Promise<unknown>;
};

export type PlatformPlace = {
  /** Where it listens, when settings do not say. */
  readonly url?: string | undefined;
  /** Login of the administrator, when it is not the first. */
  readonly login?: string | undefined;
  /** Domain to act in. */
  readonly domain?: string | undefined;
};

const PASSWORD_FILE = 'admin-password.txt';
const TIMEOUT_MS = 60_000;

/** Signs in. Throws an Error with one sentence when nobody answers or the password is not to be had or wrong. */
export const openPlatformSession = async (
  { line, signal }: Pick<CommandContext, 'line' | 'signal'>,
  place: PlatformPlace = {},
): Promise<PlatformSession> => {
  const { values } = readSettings(PLATFORM_SETTINGS, { section: 'platform', ...line });
  const url = (place.url ?? `http://${reachable(values.host)}:${values.port}`).replace(/\/+$/, '');
  const login = place.login ?? values.admin_login;
  const pwd = values.admin_password || passwordIn(values.data_dir, login);
  if (pwd === '') throw new Error(`Set PARLEY_ADMIN_PASSWORD to the password of "${login}".`);
  const call = createCall(url, signal);
  // Without a domain it would be the only working domain, where there is one; the first administrator is the master's.
  const home = login === values.admin_login ? { domain: values['bootstrap.domain'] } : {};
  const signedIn = await call('POST', 'iam/sessions', { ...home, login, pwd, session_type: 'token' });
  if (signedIn.status !== 200) {
    throw new Error(
      `The platform did not let "${login}" in: ${messageOf(signedIn)} (PARLEY_ADMIN_PASSWORD says the password).`,
    );
  }
  const authorization = `Bearer ${(signedIn.body as { session_token: string }).session_token}`;
  const callAs = (method: string, path: string, body?: unknown) => call(method, path, body, { authorization });
  const ask = async (method: string, path: string, body?: unknown): Promise<unknown> => {
    const answer = await callAs(method, path, body);
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${messageOf(answer)}`);
    return answer.body;
  };
  const signOut = async (): Promise<void> => {
    await callAs('DELETE', 'iam/sessions/current');
  };
  if (place.domain !== undefined) {
    try {
      await ask('PATCH', 'iam/sessions/current', { domain: place.domain });
    } catch (thrown) {
      await signOut();
      throw thrown;
    }
  }
  return { url, call: callAs, ask, [Symbol.asyncDispose]: signOut };
};

/** What listens everywhere is reached here. */
const reachable = (host: string): string => {
  if (host === '0.0.0.0' || host === '') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
};

/** The file holds the login and the password, a line each. */
const passwordIn = (dataDir: string, login: string): string => {
  const file = join(dataDir, PASSWORD_FILE);
  if (!existsSync(file)) return '';
  const [owner, pwd = ''] = readFileSync(file, 'utf8').split('\n');
  return owner === login ? pwd : '';
};

const createCall =
  (url: string, ending: AbortSignal) =>
  async (
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<PlatformAnswer> => {
    const type = body === undefined ? {} : { 'content-type': 'application/json' };
    const answer = await fetch(`${url}/rest/v1/${path}`, {
      method,
      headers: { ...type, ...headers },
      signal: AbortSignal.any([ending, AbortSignal.timeout(TIMEOUT_MS)]),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }).catch((cause: unknown) => {
      throw new Error(`The platform does not answer at ${url}; is it running?`, { cause });
    });
    const isJson = answer.headers.get('content-type')?.startsWith('application/json') === true;
    const text = await answer.text();
    return { status: answer.status, body: isJson && text !== '' ? JSON.parse(text) : undefined };
  };

/** The platform's words for a refusal. */
export const messageOf = ({ status, body }: PlatformAnswer): string => {
  const { error_message: message } = (body ?? {}) as { error_message?: unknown };
  return typeof message === 'string' ? message : `status ${status}`;
};
