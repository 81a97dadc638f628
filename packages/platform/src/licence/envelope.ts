/**
 * From the encrypted document to the licence in it. Only the algorithms named here are taken, and only keys of our own:
 * whatever the document says about keys is not looked at.
 */
import { type CryptoKey, compactDecrypt, compactVerify, importJWK, type JWTPayload } from 'jose';
import { isObject } from '../rest/json.ts';
import { type Licence, MalformedLicence, readLicence } from './document.ts';

export const SIGNATURE = 'EdDSA';
export const KEY_MANAGEMENT = 'ECDH-ES+A256KW';
export const ENCRYPTION = 'A256GCM';
/** Tells a licence from every other thing this vendor may sign. */
export const LICENCE_TYPE = 'parley-licence';

const MAX_CHARACTERS = 65_536;

export type Refusal =
  | 'malformed'
  | 'not_decryptable'
  | 'no_vendor_key'
  | 'bad_signature'
  | 'other_installation'
  | 'not_yet_valid'
  | 'expired'
  | 'older';

/** The document is not taken. */
export class LicenceRefused extends Error {
  override name = 'LicenceRefused';
  readonly reason: Refusal;

  constructor(reason: Refusal, cause?: unknown) {
    super(reason, { cause });
    this.reason = reason;
  }
}

export type EnvelopeParts = {
  readonly installation: string;
  /** Private key of the installation. */
  readonly key: CryptoKey;
  /** Public keys of the vendor, 32 bytes in base64url each; one has to have signed. */
  readonly vendorKeys: readonly string[];
};

const decrypt = async (token: string, key: CryptoKey): Promise<string> => {
  try {
    const { plaintext } = await compactDecrypt(token, key, {
      keyManagementAlgorithms: [KEY_MANAGEMENT],
      contentEncryptionAlgorithms: [ENCRYPTION],
      // Nothing of ours is compressed.
      maxDecompressedLength: 0,
    });
    return new TextDecoder('utf-8', { fatal: true }).decode(plaintext);
  } catch (cause) {
    throw new LicenceRefused('not_decryptable', cause);
  }
};

const verify = async (signed: string, vendorKeys: readonly string[]): Promise<Uint8Array> => {
  if (vendorKeys.length === 0) throw new LicenceRefused('no_vendor_key');
  let fault: unknown;
  for (const x of vendorKeys) {
    try {
      const key = await importJWK({ kty: 'OKP', crv: 'Ed25519', x }, SIGNATURE);
      const { payload, protectedHeader } = await compactVerify(signed, key, { algorithms: [SIGNATURE] });
      if (protectedHeader.typ === LICENCE_TYPE) return payload;
    } catch (thrown) {
      fault = thrown;
    }
  }
  throw new LicenceRefused('bad_signature', fault);
};

/** The licence in the document. Throws LicenceRefused with the reason. Says nothing of its time. */
export const openEnvelope = async (token: string, parts: EnvelopeParts): Promise<Licence> => {
  if (token.length > MAX_CHARACTERS) throw new LicenceRefused('malformed');
  const payload = await verify(await decrypt(token, parts.key), parts.vendorKeys);
  let claims: JWTPayload;
  try {
    claims = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(payload));
  } catch (cause) {
    throw new LicenceRefused('malformed', cause);
  }
  if (!isObject(claims)) throw new LicenceRefused('malformed');
  if (claims.sub !== parts.installation) throw new LicenceRefused('other_installation');
  try {
    return readLicence(claims);
  } catch (thrown) {
    if (thrown instanceof MalformedLicence) throw new LicenceRefused('malformed', thrown);
    throw thrown;
  }
};
