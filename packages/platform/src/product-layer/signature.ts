/**
 * Signatures of layers: `<archive>.sig` holds one line per signer, `<public key> <signature>`, both base64url: Ed25519
 * (RFC 8032) over the name of the archive and the SHA-512 of its bytes, so that no older archive can be renamed into a
 * newer one.
 */
import { createPrivateKey, createPublicKey, generateKeyPairSync, type JsonWebKey, sign, verify } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { refuse } from './fault.ts';

/** The signer's side. `publicKey`: what `product.vendor_keys` holds. `privateKey`: a JWK. */
export type LayerKey = { readonly publicKey: string; readonly privateKey: JsonWebKey };

export const SIGNATURE_SUFFIX = '.sig';
const MAX_SIGNATURE_BYTES = 65_536;

const statement = (file: string, sha512: string): Buffer => Buffer.from(`parley-layer-1\n${file}\n${sha512}\n`);

export const createLayerKey = (): LayerKey => {
  const { privateKey } = generateKeyPairSync('ed25519');
  const jwk = privateKey.export({ format: 'jwk' });
  return { publicKey: jwk.x!, privateKey: jwk };
};

/** The content of the `.sig` file. `file`: name of the archive without folders. */
export const signLayer = (file: string, sha512: string, key: JsonWebKey): string => {
  const signature = sign(null, statement(file, sha512), createPrivateKey({ key, format: 'jwk' }));
  return `${key.x} ${signature.toString('base64url')}\n`;
};

/** Throws LayerRefused unless one of these keys signed the archive. */
export const checkSignature = async (
  path: string,
  file: string,
  sha512: string,
  keys: readonly string[],
): Promise<void> => {
  if (keys.length === 0) refuse('no key of a vendor is known (setting product.vendor_keys)');
  const lines = await readSignature(`${path}${SIGNATURE_SUFFIX}`);
  const isSigned = lines.some((line) => {
    const [key = '', signature = ''] = line.split(' ');
    return keys.includes(key) && isValid(key, statement(file, sha512), signature);
  });
  if (!isSigned) refuse('the signature is not one of a known vendor for this archive');
};

const readSignature = async (path: string): Promise<string[]> => {
  const found = await stat(path).catch(() => refuse('the archive is not signed'));
  if (found.size > MAX_SIGNATURE_BYTES) refuse('the signature is no signature');
  return (await readFile(path, 'utf8')).split('\n').map((line) => line.trim());
};

const isValid = (x: string, signed: Buffer, signature: string): boolean => {
  try {
    const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
    return verify(null, signed, key, Buffer.from(signature, 'base64url'));
  } catch {
    return false;
  }
};
