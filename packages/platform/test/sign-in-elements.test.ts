/** Elements of sign-in by themselves: passwords, sessions, counters, codes, signed tokens, forms, refusals. */
import assert from 'node:assert/strict';
import { createHmac, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { exportJWK, exportSPKI, generateKeyPair, type JWK, SignJWT } from 'jose';
import { chain, createScripts, type Scripts } from './run-script.ts';
import { ADMIN_PASSWORD, type Client, startTestPlatform, type TestPlatform } from './start-test-platform.ts';

const ISSUER = 'https://issuer.example';
const AUDIENCE = 'parley';

describe('elements of sign-in', () => {
  let platform: TestPlatform;
  let admin: Client;
  let scripts: Scripts;
  let keyServer: Server;
  let jwksUri: string;
  let served: { keys: JWK[] } = { keys: [] };
  let asked = 0;
  before(async () => {
    keyServer = createServer((_request, response) => {
      asked += 1;
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(served));
    });
    keyServer.listen(0, '127.0.0.1');
    await once(keyServer, 'listening');
    const host = `127.0.0.1:${(keyServer.address() as AddressInfo).port}`;
    jwksUri = `http://${host}/jwks`;
    platform = await startTestPlatform(undefined, { 'platform.oauth.allow_http_hosts': host });
    admin = await platform.signIn('admin', ADMIN_PASSWORD);
    scripts = createScripts(admin);
    for (const login of ['ina', 'ivo']) {
      const body = { login, pwd: 'Pass-word-1', name: login, ext: { email: `${login}@example.org`, phone: '+49 1' } };
      assert.equal((await admin.call('POST', 'iam/users', { body })).status, 200);
    }
  });
  after(async () => {
    keyServer?.close();
    keyServer?.closeAllConnections();
    await platform?.[Symbol.asyncDispose]();
  });

  const password = (login: string, pwd: string, domain = '') => [
    { oId: 1, oType: 101, transfer: 2 },
    { oId: 2, oType: 140, domain, login, pwd, save: 'account', transfer_ok: 3, transfer_bad: 4 },
    { oId: 3, oType: 102, result: { way: '"ok"', account: 'account' } },
    { oId: 4, oType: 102, result: { way: '"bad"' } },
  ];

  it('140 tells right from wrong, shows the account, and is banned like every way in', async () => {
    const { values } = await scripts.go(password('INA', 'Pass-word-1'));
    const { id, ...account } = values.account;
    assert.match(id, /^[0-9a-f-]{36}$/);
    assert.deepEqual(account, {
      login: 'ina',
      name: 'ina',
      domain: 'master',
      email: 'ina@example.org',
      phone: '+49 1',
    });
    for (const [login, pwd, domain] of [
      ['ina', 'wrong', ''],
      ['nobody', 'Pass-word-1', ''],
      ['ina', 'Pass-word-1', 'nowhere'],
    ]) {
      assert.deepEqual((await scripts.go(password(login!, pwd!, domain))).values, { way: 'bad' });
    }
    for (let n = 0; n < 4; n++) await scripts.go(password('ina', 'wrong'));
    const { ended, error } = await scripts.go(password('ina', 'Pass-word-1'));
    assert.deepEqual([ended, error.reason, error.element], ['error', 'problem', 'check password']);
  });

  it('140 in a working domain knows its own accounts alone', async () => {
    assert.equal((await admin.call('POST', 'master/domains', { body: { name: 'branch' } })).status, 200);
    await admin.call('PATCH', 'iam/sessions/current', { body: { domain: 'branch' } });
    try {
      const { values } = await scripts.go(password('ivo', 'Pass-word-1', 'master'));
      assert.deepEqual(values, { way: 'bad' }, 'the password of another domain is no answer here');
      const session = chain({ oType: 141, domain: 'master', login: 'admin' });
      const { ended, error } = await scripts.go(session);
      assert.deepEqual([ended, error.reason], ['error', 'rights']);
    } finally {
      await admin.call('PATCH', 'iam/sessions/current', { body: { domain: 'master' } });
    }
  });

  it('141 makes no session for nobody', async () => {
    const { ended, error } = await scripts.go(chain({ oType: 141, login: 'nobody' }));
    assert.deepEqual([ended, error.reason, error.element], ['error', 'element', 'create session']);
  });

  const counting = (op: string, key: string) =>
    [
      { oId: 1, oType: 101, transfer: 2 },
      { oId: 2, oType: 142, op, key, limit: 2, transfer_banned: 4, transfer: 3 },
      { oId: 3, oType: 102, result: { way: '"on"' } },
      { oId: 4, oType: 102, result: { way: '"banned"' } },
    ] as const;
  it('142 counts failures by a key of the script’s own', async () => {
    const way = async (op: string, key: string): Promise<string> => (await scripts.go(counting(op, key))).values.way;
    assert.deepEqual([await way('check', 'k'), await way('fail', 'k'), await way('check', 'k')], ['on', 'on', 'on']);
    assert.deepEqual([await way('fail', 'K'), await way('check', 'k')], ['on', 'banned']);
    assert.equal(await way('check', 'another'), 'on');
    assert.deepEqual([await way('clear', 'k'), await way('check', 'k')], ['on', 'on']);
  });

  it('160 makes codes that the log does not show', async () => {
    const objects = [
      { oId: 1, oType: 101, transfer: 2 },
      { oId: 2, oType: 160, op: 'new', purpose: 'p', digits: 8, save: 'fresh', transfer: 3 },
      { oId: 3, oType: 180, text: 'the code is {{fresh}}', transfer: 4 },
      { oId: 4, oType: 160, op: 'check', purpose: 'p', code: '{{fresh}}', save: 'right', transfer: 5 },
      { oId: 5, oType: 160, op: 'check', purpose: 'p', code: '{{fresh}}', save: 'again', transfer: 6 },
      { oId: 6, oType: 102, result: { length: 'fresh.length', right: 'right', again: 'again' } },
    ];
    const run = await scripts.go(objects);
    assert.deepEqual(run.values, { length: 8, right: true, again: false });
    assert.ok(!/\b\d{8}\b/.test(JSON.stringify([run.log, run.trace])), JSON.stringify(run.log));
  });

  const verify = (token: string, more: object) => [
    { oId: 1, oType: 101, transfer: 2 },
    { oId: 2, oType: 170, token, iss: ISSUER, aud: AUDIENCE, save: 'claims', transfer_bad: 4, transfer: 3, ...more },
    { oId: 3, oType: 102, result: { sub: 'claims.sub' } },
    { oId: 4, oType: 102, result: { sub: '"refused"' } },
  ];
  const subOf = async (token: string, more: object): Promise<unknown> => {
    const { ended, values, error } = await scripts.go(verify(token, more));
    return ended === 'return' ? values.sub : error.reason;
  };
  const draft = (claims: object = {}) =>
    new SignJWT({ sub: 'zoe', ...claims }).setIssuer(ISSUER).setAudience(AUDIENCE).setExpirationTime('5m');

  it('170 takes tokens by the key the script names, and by no other', async () => {
    const { privateKey, publicKey } = await generateKeyPair('RS256', { extractable: true });
    const other = await generateKeyPair('RS256', { extractable: true });
    const [pem, jwk] = [await exportSPKI(publicKey), await exportJWK(publicKey)];
    const good = await draft().setProtectedHeader({ alg: 'RS256' }).sign(privateKey);
    assert.equal(await subOf(good, { key: pem }), 'zoe');
    assert.equal(await subOf(good, { key: jwk }), 'zoe');
    assert.equal(await subOf(good, { key: JSON.stringify(jwk) }), 'zoe');
    const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const claims = { sub: 'admin', iss: ISSUER, aud: AUDIENCE, exp: 4_000_000_000 };
    const confused = `${encode({ alg: 'HS256' })}.${encode(claims)}`;
    const own = { alg: 'RS256', jwk: await exportJWK(other.publicKey) };
    const bad = {
      'no signature': `${encode({ alg: 'none' })}.${encode(claims)}.`,
      'the public key as a secret': `${confused}.${createHmac('sha256', pem).update(confused).digest('base64url')}`,
      'a key it brings': await draft().setProtectedHeader(own).sign(other.privateKey),
      'another issuer': await draft().setIssuer('https://x').setProtectedHeader({ alg: 'RS256' }).sign(privateKey),
      'another audience': await draft().setAudience('x').setProtectedHeader({ alg: 'RS256' }).sign(privateKey),
      'too old': await draft().setExpirationTime('-2m').setProtectedHeader({ alg: 'RS256' }).sign(privateKey),
      'no end': await new SignJWT({ sub: 'zoe' })
        .setIssuer(ISSUER)
        .setAudience(AUDIENCE)
        .setProtectedHeader({ alg: 'RS256' })
        .sign(privateKey),
      nonsense: 'a.b.c',
      'nothing at all': '{{""}}',
    };
    for (const [what, token] of Object.entries(bad)) assert.equal(await subOf(token, { key: pem }), 'refused', what);
    assert.equal(await subOf(good, { key: 'no key' }), 'element');
    assert.equal(await subOf(good, { key: { ...jwk, alg: 'PS256' } }), 'refused');
    const secret = randomBytes(32);
    const byHmac = await draft().setProtectedHeader({ alg: 'HS256' }).sign(secret);
    assert.equal(await subOf(byHmac, { key: { kty: 'oct', k: secret.toString('base64url') } }), 'zoe');
  });

  it('170 fetches key sets, keeps them, and asks again for a key it does not know', async () => {
    const pair = await generateKeyPair('ES256', { extractable: true });
    served = { keys: [{ ...(await exportJWK(pair.publicKey)), kid: 'a', alg: 'ES256' }] };
    const token = await draft().setProtectedHeader({ alg: 'ES256', kid: 'a' }).sign(pair.privateKey);
    assert.deepEqual(
      [await subOf(token, { jwks_uri: jwksUri }), await subOf(token, { jwks_uri: jwksUri })],
      ['zoe', 'zoe'],
    );
    assert.equal(asked, 1);
    const unknown = await draft().setProtectedHeader({ alg: 'ES256', kid: 'b' }).sign(pair.privateKey);
    assert.equal(await subOf(unknown, { jwks_uri: jwksUri }), 'refused');
    assert.equal(asked, 1, 'not again within half a minute');
    for (const uri of [
      'http://127.0.0.1:1/jwks',
      'https://127.0.0.1/jwks',
      'https://localhost/jwks',
      'file:///etc/passwd',
    ]) {
      assert.equal(await subOf(token, { jwks_uri: uri }), 'outbound', uri);
    }
  });

  it('are checked when a script is saved, with the object and the key at fault', async () => {
    const cases: readonly [Record<string, unknown>, string][] = [
      [{ oType: 140, login: 'x', pwd: 'y', transfer_ok: 1 }, 'transfer_bad'],
      [{ oType: 142, op: 'check', key: 'k' }, 'transfer_banned'],
      [{ oType: 142, op: 'forget', key: 'k' }, 'op'],
      [{ oType: 142, op: 'fail', key: 'k', limit: 0 }, 'limit'],
      [{ oType: 150, step: 1, fields: [{ name: 'ctx', type: 'line' }], transfer: 1 }, 'fields'],
      [
        {
          oType: 150,
          step: 1,
          fields: [
            { name: 'a', type: 'line' },
            { name: 'a', type: 'line' },
          ],
          transfer: 1,
        },
        'fields',
      ],
      [{ oType: 150, step: 1, fields: [{ name: 'a', type: 'line', from: 1 }], transfer: 1 }, 'fields'],
      [{ oType: 150, step: {}, fields: [], transfer: 1 }, 'step'],
      [{ oType: 151 }, 'message'],
      [{ oType: 160, op: 'new', purpose: 'p' }, 'save'],
      [{ oType: 160, op: 'check', purpose: 'p', save: 'x' }, 'code'],
      [{ oType: 160, op: 'check', purpose: 'p', code: '1' }, 'transfer_bad'],
      [{ oType: 160, op: 'new', purpose: 'p', save: 'x', digits: 3 }, 'digits'],
      [{ oType: 170, token: 't', iss: 'i', aud: 'a', save: 'c' }, 'key'],
      [{ oType: 170, token: 't', iss: 'i', aud: 'a', save: 'c', key: 'k', jwks_uri: 'u' }, 'key'],
      [{ oType: 170, token: 't', save: 'c', key: 'k', aud: 'a' }, 'iss'],
    ];
    for (const [object, key] of cases) {
      const body = { code: 'bad', scriptdata: { objects: chain(object) } };
      const { status, body: told } = await admin.call('POST', 'service/svcscripts', { body });
      assert.deepEqual([status, told.error_details?.oId, told.error_details?.key], [422, 2, key], JSON.stringify(told));
    }
  });
});
