/** Element 170 at its edges: what it must be told, what it does not show, and issuers that change their keys. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { exportJWK, exportSPKI, generateKeyPair, type JWK, SignJWT } from 'jose';
import type { ElementContext } from '../src/scripts/element.ts';
import { jwtVerification } from '../src/scripts/elements/jwt-verify.ts';
import { createKeySets } from '../src/scripts/key-sets.ts';
import { chain, createScripts, type Scripts } from './run-script.ts';
import { ADMIN_PASSWORD, startTestPlatform, type TestPlatform } from './start-test-platform.ts';

const ISSUER = 'https://issuer.example';
const AUDIENCE = 'parley';
const draft = () => new SignJWT({ sub: 'zoe' }).setIssuer(ISSUER).setAudience(AUDIENCE).setExpirationTime('5m');

describe('a signed token in a script', () => {
  let platform: TestPlatform;
  let scripts: Scripts;
  before(async () => {
    platform = await startTestPlatform();
    scripts = createScripts(await platform.signIn('admin', ADMIN_PASSWORD));
  });
  after(() => platform?.[Symbol.asyncDispose]());

  it('is not checked against an issuer or an audience that turn out to be empty', async () => {
    const { privateKey, publicKey } = await generateKeyPair('RS256', { extractable: true });
    const token = await draft().setProtectedHeader({ alg: 'RS256' }).sign(privateKey);
    const key = await exportSPKI(publicKey);
    for (const [name, empty] of [
      ['iss', '{{""}}'],
      ['aud', '{{""}}'],
    ] as const) {
      const object = { oType: 170, token, key, iss: ISSUER, aud: AUDIENCE, save: 'claims', [name]: empty };
      const { ended, error } = await scripts.go(chain(object, { oType: 102 }));
      assert.deepEqual([ended, error?.reason], ['error', 'element'], name);
      assert.match(error.message, /iss and aud must not be empty/);
    }
  });

  it('stands neither in the log nor in the trace, wherever it turns up', async () => {
    const { privateKey, publicKey } = await generateKeyPair('RS256', { extractable: true });
    const token = await draft().setProtectedHeader({ alg: 'RS256' }).sign(privateKey);
    const key = await exportSPKI(publicKey);
    const objects = chain(
      { oType: 170, token: '{{given}}', key, iss: ISSUER, aud: AUDIENCE, save: 'claims' },
      { oType: 110, assign: [{ name: 'again', expr: '"Bearer " + given' }] },
      { oType: 180, text: 'it was {{given}}' },
      { oType: 102, result: { sub: 'claims.sub' } },
    );
    const variables = [{ name: 'given', type: 1, location: 2 }];
    const { values, log, trace } = await scripts.go(objects, { variables, input: { given: token } });
    assert.equal(values.sub, 'zoe');
    assert.match(JSON.stringify(log), /it was \*\*\*\*\*/);
    assert.match(JSON.stringify(trace), /Bearer \*\*\*\*\*/);
    assert.ok(!JSON.stringify(log).includes(token));
  });
});

describe('an issuer that changed its keys', () => {
  it('is asked again for a key that is not known, though not within half a minute', async () => {
    let served: { keys: JWK[] } = { keys: [] };
    let asked = 0;
    const server = createServer((_request, response) => {
      asked += 1;
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(served));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    try {
      const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
      let nowMs = 0;
      const keySets = createKeySets({ allowedHosts: [host], now: () => nowMs });
      const make = async (kid: string) => {
        const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
        const token = await draft().setProtectedHeader({ alg: 'ES256', kid }).sign(privateKey);
        return { token, jwk: { ...(await exportJWK(publicKey)), kid, alg: 'ES256' } };
      };
      const subOf = async (token: string): Promise<unknown> => {
        const kept = new Map<string, unknown>();
        const context = {
          renderText: async (template: unknown) => String(template),
          hide: () => undefined,
          log: () => undefined,
          variables: { set: (name: string, value: unknown) => kept.set(name, value) },
          services: { keySets },
          signal: new AbortController().signal,
        } as unknown as ElementContext;
        const object = {
          token,
          jwks_uri: `http://${host}/`,
          iss: ISSUER,
          aud: AUDIENCE,
          save: 'claims',
          transfer_bad: 9,
        };
        const step = await jwtVerification.run(context, { oId: 1, oType: 170, ...object });
        return step.kind === 'go' && step.to === 9 ? 'refused' : (kept.get('claims') as { sub: string }).sub;
      };
      const [old, fresh] = [await make('old'), await make('new')];
      served = { keys: [old.jwk] };
      assert.equal(await subOf(old.token), 'zoe');
      served = { keys: [fresh.jwk] };
      nowMs = 29_999;
      assert.deepEqual([await subOf(fresh.token), asked], ['refused', 1]);
      nowMs = 30_000;
      assert.deepEqual([await subOf(fresh.token), asked], ['zoe', 2]);
      assert.deepEqual([await subOf(old.token), asked], ['refused', 2]);
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });
});
