/**
 * The vendor's side: a key pair to sign with, and licences, signed (JWS with EdDSA, RFC 7515 and RFC 8037) and then
 * encrypted for one installation (JWE with ECDH-ES+A256KW and A256GCM, RFC 7516 and RFC 7518).
 */
import { randomUUID } from 'node:crypto';
import { CompactEncrypt, CompactSign, exportJWK, generateKeyPair, importJWK, type JWK } from 'jose';
import type { Json } from '../rest/json.ts';
import { readLicence } from './document.ts';
import { ENCRYPTION, KEY_MANAGEMENT, LICENCE_TYPE, SIGNATURE } from './envelope.ts';

export type VendorKey = {
  /** What `license.vendor_keys` holds: 32 bytes in base64url. */
  readonly publicKey: string;
  /** JWK; whoever has it can issue licences. */
  readonly privateKey: JWK;
};

/** Whom a licence is for, as `GET /rest/v1/master/license/installation` tells. */
export type Addressee = { readonly installation: string; readonly key: JWK };

export const createVendorKey = async (): Promise<VendorKey> => {
  const { privateKey } = await generateKeyPair(SIGNATURE, { crv: 'Ed25519', extractable: true });
  const jwk = await exportJWK(privateKey);
  return { publicKey: jwk.x!, privateKey: jwk };
};

/**
 * A licence of these fields (`products`, `topleveldnpolicy`, `dql`, `sqf`, `conditions`, `iss`, `nbf`, `exp` in Unix
 * seconds). `nowSec`: when it is issued. Throws MalformedLicence for what is none.
 */
export const issueLicence = async (
  fields: Json,
  addressee: Addressee,
  vendorKey: JWK,
  nowSec: number,
): Promise<string> => {
  const claims = { ...fields, sub: addressee.installation, iat: nowSec, jti: fields.jti ?? randomUUID() };
  readLicence(claims);
  const signed = await new CompactSign(new TextEncoder().encode(JSON.stringify(claims)))
    .setProtectedHeader({ alg: SIGNATURE, typ: LICENCE_TYPE })
    .sign(await importJWK(vendorKey, SIGNATURE));
  return new CompactEncrypt(new TextEncoder().encode(signed))
    .setProtectedHeader({ alg: KEY_MANAGEMENT, enc: ENCRYPTION, cty: LICENCE_TYPE })
    .encrypt(await importJWK(addressee.key, KEY_MANAGEMENT));
};
