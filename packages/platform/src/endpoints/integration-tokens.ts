/**
 * `service/integration_tokens/<token>`: whose channel is this token? Answered out of a map per domain that is written
 * through, read anew from the Store every five minutes, and after a miss at most once in fifteen seconds.
 */
import { createHash } from 'node:crypto';
import type { Clock } from '@parley/kit/clock.ts';
import type { Log } from '@parley/kit/log.ts';
import { problem } from '../codes.ts';
import type { Changed, Domains, Entity } from '../domains/types.ts';
import { callerOf, type RestEndpoint } from '../rest/endpoint.ts';

type Parts = { readonly domains: Domains; readonly clock: Clock; readonly log: Log };

export type TokenBook = Disposable & {
  /** Id of the integration point with this token in this domain. */
  find(domain: string, token: string): Promise<string | undefined>;
};

const REFRESH_MS = 300_000;
const REFRESH_AFTER_MISS_MS = 15_000;
const PAGE = 1000;
const KIND = 'integration_point';

/** `ids`: by the digest of the token. `ready`: the first read. */
type Page = { ids: Map<string, string>; begunMs: number; isLoading: boolean; ready: Promise<void> };

const digest = (token: string): string => createHash('sha256').update(token).digest('base64');

const tokenOf = (entity: Entity | undefined): string | undefined =>
  typeof entity?.token_local === 'string' && entity.token_local !== '' ? entity.token_local : undefined;

/** Every token of a domain as the Store has it. */
const readTokens = async ({ store }: Domains, domain: string): Promise<Map<string, string>> => {
  const ids = new Map<string, string>();
  for (let afterId: string | undefined; ; ) {
    const rows = await store.query(domain, KIND, { limit: PAGE, ...(afterId === undefined ? {} : { afterId }) });
    for (const { id, data } of rows) {
      const token = tokenOf(data);
      if (token !== undefined) ids.set(digest(token), id);
    }
    if (rows.length < PAGE) return ids;
    afterId = rows.at(-1)!.id;
  }
};

export const openTokenBook = ({ domains, clock, log }: Parts): TokenBook => {
  const pages = new Map<string, Page>();

  const refresh = async (domain: string, page: Page): Promise<void> => {
    page.begunMs = clock.now();
    page.isLoading = true;
    const before = new Map(page.ids);
    try {
      const ids = await readTokens(domains, domain);
      // What was written through meanwhile is newer than what was read.
      for (const [key, id] of page.ids) if (before.get(key) !== id) ids.set(key, id);
      for (const key of before.keys()) if (!page.ids.has(key)) ids.delete(key);
      page.ids = ids;
    } finally {
      page.isLoading = false;
    }
  };
  const refreshBehind = (domain: string, page: Page): void => {
    if (page.isLoading) return;
    refresh(domain, page).catch((error) => log.warn({ domain, err: error }, 'integration tokens were not read again'));
  };

  const open = (domain: string): Page => {
    const page: Page = { ids: new Map(), begunMs: 0, isLoading: false, ready: Promise.resolve() };
    pages.set(domain, page);
    page.ready = refresh(domain, page);
    // Whoever asked gets the error; the next one starts anew.
    page.ready.catch(() => pages.delete(domain));
    return page;
  };

  const write = ({ domain, kind, id, before, after }: Changed): void => {
    const page = kind === KIND ? pages.get(domain) : undefined;
    if (!page) return;
    const [old, next] = [tokenOf(before), tokenOf(after)];
    if (old !== undefined && page.ids.get(digest(old)) === id) page.ids.delete(digest(old));
    if (next !== undefined) page.ids.set(digest(next), id);
  };
  const stop = domains.onChange(write);

  return {
    find: async (domain, token) => {
      const page = pages.get(domain) ?? open(domain);
      await page.ready;
      const id = page.ids.get(digest(token));
      const ageMs = clock.now() - page.begunMs;
      if (ageMs >= (id === undefined ? REFRESH_AFTER_MISS_MS : REFRESH_MS)) refreshBehind(domain, page);
      return id;
    },
    [Symbol.dispose]: stop,
  };
};

export const createIntegrationTokenEndpoints = (book: TokenBook): RestEndpoint[] => [
  {
    method: 'GET',
    path: '/rest/v1/service/integration_tokens/:token',
    access: 'signed-in',
    tag: 'service/integration_tokens',
    summary: 'The integration point that a token belongs to',
    parameters: [{ name: 'token', in: 'path', description: 'token_local', schema: { type: 'string' } }],
    answer: {
      type: 'object',
      properties: {
        domain: { type: 'string' },
        integration_point: { type: 'object', properties: { id: { type: 'string' }, _links: { type: 'object' } } },
      },
    },
    handle: async (call) => {
      const { domain } = callerOf(call);
      const { token } = call.request.params as { token: string };
      const id = await book.find(domain.name, token);
      if (id === undefined) throw problem('token_not_found');
      const href = `/rest/v1/service/integration_points/${id}`;
      return { domain: domain.name, integration_point: { id, _links: { self: { href } } } };
    },
  },
];
