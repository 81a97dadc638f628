/**
 * One sign-in through a provider as a row of oauth/Requests: `initial` when the browser is sent away, `authorized` when
 * the provider vouched for somebody, `used` or `failed` at the end. A state and a token are each good once: they are
 * taken by a write that only one request can win, and what is kept of them is a digest.
 */

import type { Clock } from '@parley/kit/clock.ts';
import { createToken, createUuid, sha256Hex } from '@parley/kit/ids.ts';
import { Problem } from '@parley/kit/problem.ts';
import { problem } from '../codes.ts';
import type { DomainMemory } from '../domains/memory.ts';
import type { SecretBox } from '../domains/secrets.ts';
import { etagOfItem } from '../model/items.ts';
import type { Model } from '../model/model.ts';
import { readInput } from '../rest/draft.ts';
import type { Json } from '../rest/json.ts';

const REQUESTS_CLASS = 'oauth/Requests';

/** Contract §14: how long the provider may keep the browser, and how long the way in stays open after it. */
const STATE_MS = 600_000;
const TOKEN_MS = 120_000;
const MAX_ERROR = 512;

/** A row as the steps need it. */
export type OAuthRequest = {
  readonly id: string;
  readonly providerKey: string;
  readonly nonce: string;
  readonly verifier: string;
  readonly browserHash: string;
  /** The row as it is kept, for the script. */
  readonly row: Json;
};

export type NewRequest = {
  readonly providerKey: string;
  readonly domain: string;
  readonly browserHash: string;
  readonly address: string;
  readonly nonce: string | undefined;
  readonly verifier: string | undefined;
};

/** Whom the provider vouches for. */
export type Identity = {
  readonly sub: string;
  readonly login: string;
  readonly name: string;
  readonly email: string;
  readonly claims: Json;
};

/** `foreign`: there is such a request, but it is of another browser. */
export type Claim =
  | { readonly state: 'taken'; readonly request: OAuthRequest }
  | { readonly state: 'unknown' | 'foreign' };

export type Requests = {
  /** Makes a row and answers its state, which is kept nowhere else. */
  create(wanted: NewRequest): Promise<string>;
  /** Takes the request of a state, once, for the browser it was made for. */
  takeState(state: string, browserHashes: readonly string[]): Promise<Claim>;
  /** Notes who it is and answers the token of the way in. */
  authorize(request: OAuthRequest, identity: Identity): Promise<string>;
  /** Takes the request of a token, once, for the browser it was made for. */
  takeToken(token: string, browserHashes: readonly string[]): Promise<Claim>;
  /** Ends a request: somebody is in, or why not. */
  end(
    request: OAuthRequest,
    outcome: { readonly status: 'used' } | { readonly status: 'failed'; readonly error: string },
  ): Promise<void>;
};

type Parts = {
  readonly model: Pick<Model, 'classes' | 'source' | 'items'>;
  readonly master: DomainMemory;
  readonly secrets: SecretBox;
  readonly clock: Clock;
};

const SECRET = /^[A-Za-z0-9_-]{43}$/;
/** What nobody needs after the provider answered. */
const SECRETS_GONE = { nonce: null, pkce_verifier: null };

type Secret = 'state_hash' | 'token_hash';

/** Rows by what is known of them, and the one write that takes a secret. */
const createRows = ({ model, master, secrets, clock }: Parts) => {
  const modelClass = () => {
    const found = model.classes.find(master, REQUESTS_CLASS.split('/'));
    if (!found) throw new Error(`class ${REQUESTS_CLASS} is missing`);
    return found.model;
  };
  const create = (fields: Json): Promise<Json> => {
    const of = modelClass();
    return model.items.create(
      { domain: master, model: of, id: createUuid(clock.now()) },
      readInput(of.resource, fields, false),
    );
  };
  const patch = (id: string, fields: Json, ifMatch?: string): Promise<Json> => {
    const of = modelClass();
    return model.items.patch({ domain: master, model: of, id, ifMatch }, readInput(of.resource, fields, false));
  };
  const find = async (field: Secret, hash: string, status: string): Promise<Json | undefined> => {
    const rows = await model.source.open(master, modelClass());
    const hits = await rows.query({ where: [{ path: field, op: '=', value: hash }], limit: 2 });
    const hit = hits.find(({ data }) => data[field] === hash && data.status === status);
    return hit && Date.parse(String(hit.data.expires)) > clock.now() ? { ...hit.data, id: hit.id } : undefined;
  };
  const take = async (
    field: Secret,
    secret: string,
    status: string,
    browserHashes: readonly string[],
  ): Promise<Claim> => {
    const row = SECRET.test(secret) ? await find(field, sha256Hex(secret), status) : undefined;
    if (!row) return { state: 'unknown' };
    if (!browserHashes.includes(String(row.browser_hash))) return { state: 'foreign' };
    try {
      // Only the first writer finds the row as it was read.
      await patch(String(row.id), { [field]: null }, etagOfItem(row));
    } catch (thrown) {
      if (thrown instanceof Problem && (thrown.status === 412 || thrown.status === 404)) return { state: 'unknown' };
      throw thrown;
    }
    return { state: 'taken', request: readRequest(row, secrets) };
  };
  return { create, patch, take };
};

export const createRequests = (parts: Parts): Requests => {
  const rows = createRows(parts);
  const inMs = (ms: number): string => new Date(parts.clock.now() + ms).toISOString();
  return {
    create: async ({ providerKey, domain, browserHash, address, nonce, verifier }) => {
      const state = createToken();
      await rows.create({
        status: 'initial',
        state_hash: sha256Hex(state),
        provider_key: providerKey,
        domain,
        browser_hash: browserHash,
        address,
        expires: inMs(STATE_MS),
        ...(nonce === undefined ? {} : { nonce }),
        ...(verifier === undefined ? {} : { pkce_verifier: verifier }),
      });
      return state;
    },
    takeState: (state, browserHashes) => rows.take('state_hash', state, 'initial', browserHashes),
    authorize: async ({ id }, identity) => {
      const token = createToken();
      await rows.patch(id, {
        ...SECRETS_GONE,
        ...identity,
        status: 'authorized',
        token_hash: sha256Hex(token),
        expires: inMs(TOKEN_MS),
      });
      return token;
    },
    takeToken: (token, browserHashes) => rows.take('token_hash', token, 'authorized', browserHashes),
    end: async ({ id }, outcome) => {
      const error = outcome.status === 'failed' ? { error: outcome.error.slice(0, MAX_ERROR) } : {};
      await rows.patch(id, { ...SECRETS_GONE, status: outcome.status, ...error });
    },
  };
};

const readRequest = (row: Json, secrets: SecretBox): OAuthRequest => {
  const sealed = typeof row.pkce_verifier === 'string' ? row.pkce_verifier : '';
  return {
    id: String(row.id),
    providerKey: String(row.provider_key),
    nonce: typeof row.nonce === 'string' ? row.nonce : '',
    verifier: secrets.isSealed(sealed) ? secrets.open(sealed) : sealed,
    browserHash: String(row.browser_hash),
    row,
  };
};

/** What a token script gets of the row: who it is, and nothing it could give away. */
export const showToScript = ({ row }: OAuthRequest): Json => {
  const claims = (row.claims ?? {}) as Json;
  const names = ['id', 'status', 'provider_key', 'domain', 'sub', 'login', 'name', 'email', 'address', 'ext'];
  return {
    ...Object.fromEntries(names.map((name) => [name, row[name] ?? ''])),
    email_verified: claims.email_verified === true || claims.email_verified === 'true',
    claims,
  };
};

/** For a request that a row says does not exist any more. */
export const goneRequest = () => problem('bad_request', { message: 'This sign-in is unknown, used or too old' });
