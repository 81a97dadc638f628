/**
 * The key that licences are encrypted for: one pair of the installation, made when it is first asked for. The private
 * half lies sealed in the Store, so that all nodes have it and every backup does.
 */
import { Conflict, type Store } from '@parley/kit/store/store.ts';
import { type CryptoKey, exportJWK, generateKeyPair, importJWK, type JWK } from 'jose';
import { installationIdOf } from '../domains/identity.ts';
import type { SecretBox } from '../domains/secrets.ts';
import { SYSTEM_SPACE } from '../domains/types.ts';
import { KEY_MANAGEMENT } from './envelope.ts';

const ROW = { kind: 'installation', id: 'licence-key' } as const;

export type InstallationKey = {
  readonly installation: string;
  readonly publicKey: JWK;
  readonly privateKey: CryptoKey;
};

/** The pair; the same on all nodes. */
export const openInstallationKey = async (store: Store, secrets: SecretBox): Promise<InstallationKey> => {
  const found = await store.get<{ sealed: string }>(SYSTEM_SPACE, ROW.kind, ROW.id);
  if (found) {
    const jwk = JSON.parse(secrets.open(found.data.sealed)) as JWK;
    const { d: _private, ...publicKey } = jwk;
    const privateKey = (await importJWK(jwk, KEY_MANAGEMENT)) as CryptoKey;
    return { installation: await installationIdOf(store), publicKey, privateKey };
  }
  const { privateKey } = await generateKeyPair(KEY_MANAGEMENT, { crv: 'X25519', extractable: true });
  const data = { sealed: secrets.seal(JSON.stringify(await exportJWK(privateKey))) };
  try {
    await store.commit(SYSTEM_SPACE, [{ op: 'put', ...ROW, data, expect: 0, quiet: true }]);
  } catch (thrown) {
    // Another node was quicker.
    if (!(thrown instanceof Conflict)) throw thrown;
  }
  return openInstallationKey(store, secrets);
};
