/**
 * 170: checks a signed token (JWS, RFC 7515 and 7519) by a key that the script names, never by one that the token brings;
 * its claims go into the variable `save`. The key's own type says which algorithms count.
 */
import { createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto';
import { OutboundError } from '@parley/kit/outbound.ts';
import { createLocalJWKSet, errors, type JWTPayload, type JWTVerifyOptions, jwtVerify } from 'jose';
import { isObject, type Json } from '../../rest/json.ts';
import { type Element, type ElementContext, go, type ScriptObject } from '../element.ts';
import { ScriptFault } from '../fault.ts';

const CLOCK_TOLERANCE_SEC = 60;
const MAX_TOKEN = 16_384;
/** What a key of a type may sign with. */
const ALGORITHMS: Readonly<Record<string, readonly string[]>> = {
  RSA: ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  EC: ['ES256', 'ES384', 'ES512'],
  OKP: ['EdDSA', 'Ed25519'],
  oct: ['HS256', 'HS384', 'HS512'],
};
const KEY_TYPES: Readonly<Record<string, string>> = {
  rsa: 'RSA',
  'rsa-pss': 'RSA',
  ec: 'EC',
  ed25519: 'OKP',
};
const PUBLIC = [...ALGORITHMS.RSA!, ...ALGORITHMS.EC!, ...ALGORITHMS.OKP!];

export const jwtVerification: Element = {
  oType: 170,
  name: 'jwt verify',
  keys: {
    token: { kind: 'template', required: true },
    jwks_uri: { kind: 'template', description: 'Where the keys are (RFC 7517); https.' },
    key: { kind: 'template', description: 'Instead: a JWK, or a public key as PEM.' },
    iss: { kind: 'template', required: true },
    aud: { kind: 'template', required: true },
    save: { kind: 'variable', required: true },
    transfer_bad: { kind: 'transfer', description: 'Where a bad token leads; absent, it ends the run.' },
  },
  check: ({ jwks_uri, key }) =>
    (jwks_uri === undefined) === (key === undefined)
      ? { key: 'key', reason: 'or jwks_uri, one of them, is needed' }
      : undefined,
  run: async (context, object) => {
    const token = await context.renderText(object.token);
    context.hide(token);
    try {
      context.variables.set(String(object.save), (await verify(context, object, token)) as Json);
    } catch (thrown) {
      if (!isBadToken(thrown) || object.transfer_bad === undefined) throw toFault(thrown);
      context.log('info', `token refused: ${thrown.message}`);
      return go(object, 'transfer_bad');
    }
    return go(object);
  },
};

const verify = async (context: ElementContext, object: ScriptObject, token: string): Promise<JWTPayload> => {
  const issuer = await context.renderText(object.iss);
  const audience = await context.renderText(object.aud);
  if (issuer === '' || audience === '') throw new ScriptFault('element', 'iss and aud must not be empty');
  const options = { issuer, audience, clockTolerance: CLOCK_TOLERANCE_SEC, requiredClaims: ['exp'] };
  const text = token.slice(0, MAX_TOKEN);
  if (object.key === undefined)
    return verifyByKeySet(context, await context.renderText(object.jwks_uri), text, options);
  const { key, algorithms } = readKey(await context.render(object.key));
  return (await jwtVerify(text, key, { ...options, algorithms: [...algorithms] })).payload;
};

const verifyByKeySet = async (
  { services, signal }: ElementContext,
  uri: string,
  token: string,
  options: JWTVerifyOptions,
): Promise<JWTPayload> => {
  if (!services.keySets) throw new ScriptFault('element', 'there are no key sets here');
  const attempt = async (isFresh: boolean) => {
    const keys = await services.keySets!.read(uri, { isFresh, signal });
    return (await jwtVerify(token, createLocalJWKSet(keys), { ...options, algorithms: PUBLIC })).payload;
  };
  try {
    return await attempt(false);
  } catch (thrown) {
    // The issuer may have changed its keys since.
    if ((thrown as { code?: string }).code !== 'ERR_JWKS_NO_MATCHING_KEY') throw thrown;
    return attempt(true);
  }
};

type VerifyKey = { readonly key: KeyObject | Uint8Array; readonly algorithms: readonly string[] };

/** Throws a ScriptFault: a key that cannot be read is the author's business. */
const readKey = (given: unknown): VerifyKey => {
  try {
    if (typeof given === 'string' && given.includes('-----BEGIN')) return readPem(given);
    return readJwk(typeof given === 'string' ? JSON.parse(given) : given);
  } catch (thrown) {
    throw new ScriptFault('element', 'key must be a JWK or a public key as PEM', thrown);
  }
};

const readPem = (pem: string): VerifyKey => {
  const key = createPublicKey(pem);
  const algorithms = ALGORITHMS[KEY_TYPES[key.asymmetricKeyType ?? ''] ?? ''];
  if (algorithms === undefined) throw new Error('unknown type of key');
  return { key, algorithms };
};

const readJwk = (jwk: unknown): VerifyKey => {
  const all = isObject(jwk) ? ALGORITHMS[String(jwk.kty)] : undefined;
  if (!isObject(jwk) || all === undefined) throw new Error('unknown type of key');
  const algorithms = typeof jwk.alg === 'string' ? all.filter((each) => each === jwk.alg) : all;
  if (jwk.kty !== 'oct') return { key: createPublicKey({ key: jwk as JsonWebKey, format: 'jwk' }), algorithms };
  if (typeof jwk.k !== 'string') throw new Error('k is missing');
  return { key: Buffer.from(jwk.k, 'base64url'), algorithms };
};

const isBadToken = (thrown: unknown): thrown is Error => thrown instanceof errors.JOSEError;

const toFault = (thrown: unknown): unknown => {
  if (isBadToken(thrown)) return new ScriptFault('element', `token refused: ${thrown.message}`, thrown);
  return thrown instanceof OutboundError ? new ScriptFault('outbound', thrown.message, thrown) : thrown;
};
