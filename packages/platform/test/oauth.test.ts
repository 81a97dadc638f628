/** Sign-in through providers, against a real OpenID provider and a plain OAuth 2.0 one. */
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { decodeJwt, exportJWK, generateKeyPair, importJWK, SignJWT } from 'jose';
import { oauthAccounts } from '../src/scripts/samples/oauth-accounts.ts';
import { type CookieBrowser, createCookieBrowser, type Visit } from './cookie-browser.ts';
import {
  CLIENT_ID,
  CLIENT_SECRET,
  isReceiver,
  type OpenIdProvider,
  type PlainProvider,
  signInAtOpenId,
  startOpenIdProvider,
  startPlainProvider,
} from './oauth-provider.ts';
import { ADMIN_PASSWORD, type Client, startTestPlatform, type TestPlatform } from './start-test-platform.ts';

/** Lets in whoever has an account under the provider's login. */
const SCRIPT = {
  code: 'oauth-enter',
  scriptdata: {
    objects: [
      { oId: 1, oType: 101, name: 'start', transfer: 2 },
      {
        oId: 2,
        oType: 102,
        name: 'return',
        result: {
          result: 'request.email_verified || request.provider_key == "plain"',
          domain: 'request.domain',
          login: 'request.login',
        },
      },
    ],
    variables: [],
  },
};

describe('OAuth pages', () => {
  let platform: TestPlatform;
  let admin: Client;
  let openId: OpenIdProvider;
  let plain: PlainProvider;
  before(async () => {
    [openId, plain] = await Promise.all([startOpenIdProvider(), startPlainProvider()]);
    platform = await startTestPlatform(undefined, {
      'platform.oauth.allow_http_hosts': `${openId.host},${plain.host}`,
    });
    openId.open(`${platform.url}/oauth/receiver`);
    admin = await platform.signIn('admin', ADMIN_PASSWORD);
    await make('service/svcscripts', SCRIPT);
    await admin.call('PATCH', 'domain/settings/iam_token_svcscript_code', { body: { value: { value: SCRIPT.code } } });
    for (const login of ['olga', 'paula']) await make('iam/users', { login, name: login });
    await make('model/oauth/Providers', OPENID());
    await make('model/oauth/Providers', PLAIN());
  });
  after(async () => {
    await platform?.[Symbol.asyncDispose]();
    await openId?.[Symbol.asyncDispose]();
    await plain?.[Symbol.asyncDispose]();
  });

  const make = async (path: string, body: object): Promise<Record<string, unknown>> => {
    const answer = await admin.call('POST', path, { body });
    assert.equal(answer.status, 200, `${path}: ${answer.text}`);
    return answer.body;
  };
  const secrets = { client_id: CLIENT_ID, client_secret: CLIENT_SECRET };
  const OPENID = () => ({
    code: 'openid',
    name: 'Elsewhere',
    type: 'oidc',
    issuer: openId.url,
    uri_authorize: `${openId.url}/auth`,
    uri_token: `${openId.url}/token`,
    uri_jwks: `${openId.url}/jwks`,
    ...secrets,
  });
  const PLAIN = () => ({
    code: 'plain',
    type: 'oauth2',
    uri_authorize: `${plain.url}/authorize`,
    uri_token: `${plain.url}/token`,
    uri_info: `${plain.url}/me`,
    token_auth: 'client_secret_basic',
    map: { email: 'contact.mail' },
    ...secrets,
  });
  /** A provider like the usual one but for this. */
  const provider = (code: string, more: object) => make('model/oauth/Providers', { ...OPENID(), ...more, code });

  /** Begins at our page and goes as far as the provider's answer. */
  const goThere = (browser: CookieBrowser, code = 'openid', login?: string): Promise<string> =>
    signInAtOpenId(browser, `${platform.url}/oauth/redirect/${code}`, login);
  const askJson = (browser: CookieBrowser, url: string): Promise<Visit> =>
    browser.ask(url, { headers: { accept: 'application/json' } });

  type Row = Record<string, unknown>;
  /** The newest request row of a provider. */
  const newest = async (code: string): Promise<Row> => {
    const order = encodeURIComponent(JSON.stringify([{ 'ext.ct': 'desc' }]));
    const filter = encodeURIComponent(JSON.stringify({ provider_key: code }));
    return (await admin.call('GET', `model/oauth/Requests?order=${order}&filter=${filter}&limit=1`)).body[0];
  };

  /** 4xx or 502 as JSON, and the reason in the row. */
  const refused = async (visit: Visit, status: number, code: string, reason: RegExp): Promise<void> => {
    assert.equal(visit.status, status, visit.text);
    const body = JSON.parse(visit.text);
    assert.equal(body.error_code, { 400: 1400, 403: 1401, 404: 1401, 422: 1405, 502: 1502 }[status]);
    assert.equal(visit.headers.get('location'), null);
    assert.ok(!visit.headers.getSetCookie().some((each) => each.startsWith('RSession=')));
    const { status: ended, error } = await newest(code);
    assert.equal(ended, 'failed');
    assert.match(String(error), reason);
  };

  it('sign in through an OpenID provider', async () => {
    const browser = createCookieBrowser();
    const away = await browser.ask(`${platform.url}/oauth/redirect/openid`);
    assert.equal(away.status, 302);
    assert.match(away.headers.get('cache-control')!, /no-store/);
    assert.match(away.headers.get('set-cookie')!, /^ROAuth=.+; Path=\/oauth; Max-Age=600; HttpOnly; SameSite=Lax$/);
    const asked = new URL(away.headers.get('location')!);
    const parameters = Object.fromEntries(asked.searchParams);
    assert.equal(asked.origin + asked.pathname, `${openId.url}/auth`);
    assert.deepEqual(
      [parameters.response_type, parameters.client_id, parameters.redirect_uri, parameters.scope],
      ['code', CLIENT_ID, `${platform.url}/oauth/receiver`, 'openid profile email'],
    );
    assert.equal(parameters.code_challenge_method, 'S256');
    assert.ok(parameters.nonce && parameters.code_challenge && parameters.state!.length === 43);
    const initial = await newest('openid');
    assert.equal(initial.status, 'initial');
    assert.equal(initial.pkce_verifier, '*****');
    assert.ok(!JSON.stringify(initial).includes(parameters.state!), 'only a digest of the state is kept');

    const back = await signInAtOpenId(browser, asked.href);
    const received = await browser.ask(back);
    assert.equal(received.status, 302, received.text);
    const enter = received.headers.get('location')!;
    assert.match(enter, /^\/oauth\/enter\/[A-Za-z0-9_-]{43}$/);
    assert.equal(received.headers.get('referrer-policy'), 'no-referrer');
    const authorized = await newest('openid');
    assert.deepEqual(
      [authorized.status, authorized.login, authorized.name, authorized.email, authorized.sub],
      ['authorized', 'olga', 'olga of Elsewhere', 'olga@example.org', 'olga'],
    );
    assert.ok(!JSON.stringify(authorized).includes(enter.split('/').at(-1)!), 'only a digest of the token is kept');

    const entered = await browser.ask(platform.url + enter);
    assert.deepEqual([entered.status, entered.headers.get('location')], [302, '/app-root'], entered.text);
    assert.match(entered.headers.get('set-cookie')!, /^RSession=rs1_.+HttpOnly; SameSite=Strict$/);
    const session = await browser.ask(`${platform.url}/rest/v1/iam/sessions/current`);
    assert.equal(JSON.parse(session.text).login, 'olga');
    assert.equal((await newest('openid')).status, 'used');
    // Once only.
    assert.equal((await askJson(browser, platform.url + enter)).status, 404);
  });

  it('sign in through a plain OAuth 2.0 provider', async () => {
    const browser = createCookieBrowser();
    const entered = await browser.follow(`${platform.url}/oauth/redirect/plain`, (url) => url.endsWith('/app-root'));
    assert.equal(entered.url, `${platform.url}/app-root`, entered.text);
    const session = await browser.ask(`${platform.url}/rest/v1/iam/sessions/current`);
    assert.equal(JSON.parse(session.text).login, 'paula');
    const { sub, email, claims } = await newest('plain');
    assert.deepEqual([sub, email, (claims as Row).id], ['4711', 'paula@example.org', 4711]);
  });

  it('find the rest by discovery where the row names an issuer only', async () => {
    const { uri_authorize: _a, uri_token: _t, uri_jwks: _j, ...bare } = OPENID();
    await make('model/oauth/Providers', { ...bare, code: 'discovered' });
    const browser = createCookieBrowser();
    const received = await browser.ask(await goThere(browser, 'discovered'));
    assert.equal(received.status, 302, received.text);
    assert.ok(openId.asked.includes('/me'), 'who it is stands there with most providers');
  });

  it('refuse a replayed state', async () => {
    const browser = createCookieBrowser();
    const back = await goThere(browser);
    assert.equal((await browser.ask(back)).status, 302);
    const again = await askJson(browser, back);
    assert.deepEqual([again.status, JSON.parse(again.text).error_code], [400, 1400]);
    const none = await askJson(browser, `${platform.url}/oauth/receiver?code=x`);
    const made = await askJson(browser, `${platform.url}/oauth/receiver?code=x&state=${'A'.repeat(43)}`);
    assert.deepEqual([none.status, made.status], [400, 400]);
  });

  it('let one of many that bring the same state at once through, and one of many with the same token', async () => {
    const browser = createCookieBrowser();
    const back = await goThere(browser);
    const received = await Promise.all(Array.from({ length: 8 }, () => browser.ask(back)));
    assert.deepEqual(received.map(({ status }) => status).sort(), [302, 400, 400, 400, 400, 400, 400, 400]);
    const enter = received.find(({ status }) => status === 302)!.headers.get('location')!;
    const entered = await Promise.all(
      Array.from({ length: 4 }, () =>
        browser.ask(platform.url + enter, { headers: { 'x-forwarded-for': '203.0.113.9' } }),
      ),
    );
    assert.deepEqual(entered.map(({ status }) => status).sort(), [302, 404, 404, 404]);
  });

  it('refuse the state of another browser, and keep it for its own', async () => {
    const [mine, theirs] = [createCookieBrowser(), createCookieBrowser()];
    const back = await goThere(theirs);
    await mine.ask(`${platform.url}/oauth/redirect/openid`);
    const foreign = await askJson(mine, back);
    assert.deepEqual([foreign.status, JSON.parse(foreign.text).error_code], [403, 1401]);
    const received = await theirs.ask(back);
    const enter = platform.url + received.headers.get('location')!;
    assert.equal((await askJson(mine, enter)).status, 403);
    assert.equal((await theirs.ask(enter)).status, 302);
  });

  it('serve two tabs of one browser', async () => {
    const browser = createCookieBrowser();
    const first = await browser.ask(`${platform.url}/oauth/redirect/plain`);
    await browser.ask(`${platform.url}/oauth/redirect/plain`);
    const back = await browser.follow(first.headers.get('location')!, isReceiver);
    assert.equal((await browser.ask(back.url)).status, 302);
  });

  it('refuse a wrong nonce', async () => {
    const browser = createCookieBrowser();
    const away = await browser.ask(`${platform.url}/oauth/redirect/openid`);
    const changed = new URL(away.headers.get('location')!);
    changed.searchParams.set('nonce', 'of-another-sign-in');
    await refused(await askJson(browser, await signInAtOpenId(browser, changed.href)), 403, 'openid', /nonce/);
  });

  it('refuse a wrong issuer, in the answer and in the id_token', async () => {
    const browser = createCookieBrowser();
    const back = new URL(await goThere(browser));
    back.searchParams.set('iss', 'https://issuer.invalid');
    await refused(await askJson(browser, back.href), 403, 'openid', /iss/);
    await provider('other-issuer', { issuer: `${openId.url}/other` });
    const other = new URL(await goThere(browser, 'other-issuer'));
    other.searchParams.delete('iss');
    await refused(await askJson(browser, other.href), 403, 'other-issuer', /"iss" \(issuer\) claim/);
  });

  it('refuse an expired code', async () => {
    openId.expiresCodes = true;
    const browser = createCookieBrowser();
    const visit = await askJson(browser, await goThere(browser)).finally(() => {
      openId.expiresCodes = false;
    });
    await refused(visit, 403, 'openid', /invalid_grant/);
  });

  it('refuse a code with another verifier', async () => {
    const browser = createCookieBrowser();
    const away = await browser.ask(`${platform.url}/oauth/redirect/plain`);
    const changed = new URL(away.headers.get('location')!);
    changed.searchParams.set('code_challenge', 'x'.repeat(43));
    const back = await browser.follow(changed.href, isReceiver);
    await refused(await askJson(browser, back.url), 403, 'plain', /invalid_grant/);
  });

  /** Signs in while the token answers are changed. */
  const tampered = async (change: (idToken: string) => Promise<string> | string, code = 'openid'): Promise<Visit> => {
    const browser = createCookieBrowser();
    const back = await goThere(browser, code);
    openId.tamper = async (answer) => ({ ...answer, id_token: await change(String(answer.id_token)) });
    return askJson(browser, back).finally(() => {
      openId.tamper = undefined;
    });
  };
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

  it('refuse an id_token that was changed, or signed by another key, or not at all', async () => {
    const asAdmin = (token: string) => ({ ...decodeJwt(token), sub: 'admin', preferred_username: 'admin' });
    const changed = await tampered((token) => {
      const [head, , signature] = token.split('.');
      return `${head}.${encode(asAdmin(token))}.${signature}`;
    });
    await refused(changed, 403, 'openid', /signature/i);
    const unsigned = await tampered((token) => `${encode({ alg: 'none' })}.${encode(asAdmin(token))}.`);
    await refused(unsigned, 403, 'openid', /alg/);
    const { privateKey, publicKey } = await generateKeyPair('RS256', { extractable: true });
    const jwk = await exportJWK(publicKey);
    const withOwnKey = await tampered((token) =>
      new SignJWT(asAdmin(token)).setProtectedHeader({ alg: 'RS256', kid: 'k1', jwk }).sign(privateKey),
    );
    await refused(withOwnKey, 403, 'openid', /signature/i);
    // The provider's public key as the secret of an HMAC.
    const { n, e } = openId.key;
    const confused = await tampered((token) => {
      const body = `${encode({ alg: 'HS256', kid: 'k1' })}.${encode(asAdmin(token))}`;
      return `${body}.${createHmac('sha256', JSON.stringify({ e, kty: 'RSA', n }))
        .update(body)
        .digest('base64url')}`;
    });
    await refused(confused, 403, 'openid', /alg/);
  });

  it('refuse an id_token for another client, too old, of another account, or without one', async () => {
    const key = await importJWK(openId.key, 'RS256');
    const sign = (claims: object) =>
      new SignJWT({ ...claims }).setProtectedHeader({ alg: 'RS256', kid: 'k1' }).sign(key);
    const cases: readonly [object, RegExp][] = [
      [{ aud: 'somebody-else' }, /aud/],
      [{ aud: [CLIENT_ID, 'somebody-else'] }, /aud/],
      [{ azp: 'somebody-else' }, /azp/],
      [{ exp: Math.floor(Date.now() / 1000) - 61 }, /exp/],
      [{ nonce: 'of-another-sign-in' }, /nonce/],
    ];
    for (const [claims, reason] of cases) {
      await refused(await tampered((token) => sign({ ...decodeJwt(token), ...claims })), 403, 'openid', reason);
    }
    const inTime = await tampered((token) => sign({ ...decodeJwt(token), exp: Math.floor(Date.now() / 1000) - 30 }));
    assert.equal(inTime.status, 302, 'clocks may differ by a minute');
    await provider('with-info', { uri_info: `${openId.url}/me` });
    const another = await tampered((token) => sign({ ...decodeJwt(token), sub: 'admin' }), 'with-info');
    await refused(another, 403, 'with-info', /sub/);
  });

  it('take HS256 only where the provider’s row says so', async () => {
    const secret = new TextEncoder().encode(CLIENT_SECRET);
    const sign = (token: string) => new SignJWT(decodeJwt(token)).setProtectedHeader({ alg: 'HS256' }).sign(secret);
    await refused(await tampered(sign), 403, 'openid', /alg/);
    await provider('with-secret', { opts: { id_token_signed_response_alg: 'HS256' } });
    assert.equal((await tampered(sign, 'with-secret')).status, 302);
    await refused(await tampered((token) => `${token.slice(0, -6)}AAAAAA`, 'with-secret'), 403, 'with-secret', /alg/);
    const wrong = await tampered(async (token) => `${(await sign(token)).slice(0, -6)}AAAAAA`, 'with-secret');
    await refused(wrong, 403, 'with-secret', /signature/);
  });

  it('refuse a provider that is switched off, before and on the way', async () => {
    const { id } = await provider('switched', {});
    const browser = createCookieBrowser();
    const back = await goThere(browser, 'switched');
    await admin.call('PATCH', `model/oauth/Providers/${id}`, { body: { enabled: false } });
    await refused(await askJson(browser, back), 403, 'switched', /switched off/);
    assert.equal((await askJson(browser, `${platform.url}/oauth/redirect/switched`)).status, 404);
    assert.equal((await askJson(browser, `${platform.url}/oauth/redirect/nobody`)).status, 404);
  });

  it('refuse a provider of another site', async () => {
    await provider('far', { site: 'elsewhere' });
    const answer = await askJson(createCookieBrowser(), `${platform.url}/oauth/redirect/far`);
    assert.equal(answer.status, 404);
  });

  it('tell what the provider said instead of a code', async () => {
    const browser = createCookieBrowser();
    const away = await browser.ask(`${platform.url}/oauth/redirect/openid`);
    const state = new URL(away.headers.get('location')!).searchParams.get('state');
    const back = `${platform.url}/oauth/receiver?error=access_denied&error_description=%3Cscript%3E&state=${state}&iss=${encodeURIComponent(openId.url)}`;
    await refused(await askJson(browser, back), 403, 'openid', /access_denied/);
  });

  it('say 502 for a provider that is away, broken or answers with too much', async () => {
    const browser = createCookieBrowser();
    await provider('no-token', { uri_token: `${plain.url}/nothing-here` });
    await refused(await askJson(browser, await goThere(browser, 'no-token')), 502, 'no-token', /./);
    await provider('wrong-secret', { client_secret: 'another secret of the right length' });
    await refused(
      await askJson(browser, await goThere(browser, 'wrong-secret')),
      502,
      'wrong-secret',
      /invalid_client/,
    );
    const usual = plain.info;
    const infos = [
      { ...usual, status: 500 },
      { ...usual, body: '<html>' },
      { ...usual, body: '[]' },
      { ...usual, body: '{"login":"nobody"}' },
      { ...usual, body: JSON.stringify({ id: 1, more: 'x'.repeat(300_000) }) },
    ];
    for (const info of infos) {
      plain.info = info;
      const back = await browser.follow(`${platform.url}/oauth/redirect/plain`, isReceiver);
      await refused(await askJson(browser, back.url), 502, 'plain', /./);
    }
    plain.info = usual;
    await make('model/oauth/Providers', {
      ...PLAIN(),
      code: 'gone',
      uri_token: 'https://127.0.0.1:1/token',
    });
    const back = await browser.follow(`${platform.url}/oauth/redirect/gone`, isReceiver);
    await refused(await askJson(browser, back.url), 502, 'gone', /network/);
  });

  it('refuse a provider that is not set up, and addresses that are not https', async () => {
    const browser = createCookieBrowser();
    await make('model/oauth/Providers', { code: 'bare' });
    await provider('unsafe', { uri_authorize: 'http://idp.invalid/auth' });
    for (const code of ['bare', 'unsafe']) {
      const answer = await askJson(browser, `${platform.url}/oauth/redirect/${code}`);
      assert.deepEqual([answer.status, JSON.parse(answer.text).error_code], [422, 1405]);
    }
    for (const [field, value] of Object.entries({ uri_token: 'ftp://x', issuer: 'no address', map: 'x' })) {
      const answer = await admin.call('POST', 'model/oauth/Providers', { body: { code: 'bad', [field]: value } });
      assert.deepEqual([answer.status, answer.body.error_details?.field], [422, field], answer.text);
    }
    const twice = await admin.call('POST', 'model/oauth/Providers', { body: OPENID() });
    assert.deepEqual([twice.status, twice.body.error_details.field], [409, 'code']);
  });

  it('let nobody in who has no account, or one that is switched off', async () => {
    const browser = createCookieBrowser();
    const enter = async (login: string): Promise<Visit> => {
      const fresh = createCookieBrowser();
      const received = await fresh.ask(await goThere(fresh, 'openid', login));
      return askJson(fresh, platform.url + received.headers.get('location')!);
    };
    await refused(await enter('nobody'), 403, 'openid', /account/);
    await make('iam/users', { login: 'off', opts: { disabled: true } });
    await refused(await enter('off'), 403, 'openid', /account/);
    assert.equal(browser.cookie(platform.url, 'RSession'), undefined);
  });

  it('show a page to people, without a word of what came from outside', async () => {
    const answer = await fetch(`${platform.url}/oauth/receiver?state=%3Cscript%3E&code=%3Cscript%3E`, {
      headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' },
    });
    assert.equal(answer.status, 400);
    assert.match(answer.headers.get('content-type')!, /^text\/html/);
    assert.match(answer.headers.get('content-security-policy')!, /default-src 'none'/);
    assert.match(answer.headers.get('cache-control')!, /no-store/);
    assert.ok(!(await answer.text()).includes('<script'));
    const head = await platform.guest.call('HEAD', '/oauth/redirect/openid');
    assert.equal(head.status, 405);
  });

  it('show people whose sign-in failed where to begin again', async () => {
    const browser = createCookieBrowser();
    const received = await browser.ask(await goThere(browser, 'openid', 'nobody-at-all'));
    const entered = await browser.ask(platform.url + received.headers.get('location')!);
    assert.equal(entered.status, 403);
    assert.match(entered.text, /<a href="\/oauth\/redirect\/openid">/);
  });

  it('count guesses of tokens: five are looked at, the rest are banned, and a ban bars the right one too', async () => {
    const browser = createCookieBrowser();
    const received = await browser.ask(await goThere(browser));
    const enter = platform.url + received.headers.get('location')!;
    const from = { accept: 'application/json', 'x-forwarded-for': '198.51.100.77' };
    const guess = () => browser.ask(`${platform.url}/oauth/enter/${'B'.repeat(43)}`, { headers: from });
    const guesses = await Promise.all(Array.from({ length: 50 }, guess));
    const statuses = guesses.map(({ status }) => status);
    assert.deepEqual(
      [statuses.filter((each) => each === 404).length, statuses.filter((each) => each === 429).length],
      [5, 45],
    );
    const banned = await browser.ask(enter, { headers: from });
    assert.equal(banned.status, 429);
    assert.ok(Number(banned.headers.get('retry-after')) > 0);
    assert.equal((await browser.ask(enter, { headers: { 'x-forwarded-for': '198.51.100.78' } })).status, 302);
  });

  it('let no banned login in through a provider', async () => {
    const browser = createCookieBrowser();
    const received = await browser.ask(await goThere(browser));
    const address = '198.51.100.99';
    for (let n = 0; n < 5; n++) {
      const body = { login: 'olga', pwd: 'wrong' };
      assert.equal((await platform.guest.call('POST', 'iam/sessions', { body, address })).status, 401);
    }
    const entered = await browser.ask(platform.url + received.headers.get('location')!, {
      headers: { accept: 'application/json', 'x-forwarded-for': address },
    });
    assert.equal(entered.status, 429, entered.text);
    assert.equal(browser.cookie(platform.url, 'RSession'), undefined);
  });

  it('makes an account at the first sign-in, in the provider’s domain, where the script does', async () => {
    await make('service/svcscripts', oauthAccounts.body);
    const setting = `domain/settings/${oauthAccounts.setting}`;
    const use = (value: string) => admin.call('PATCH', setting, { body: { value: { value } } });
    assert.equal((await use(oauthAccounts.body.code)).status, 200);
    await make('master/domains', { name: 'branch' });
    await provider('branch-openid', { domain: 'branch' });
    const ids: string[] = [];
    for (let n = 0; n < 2; n++) {
      const browser = createCookieBrowser();
      const received = await browser.ask(await goThere(browser, 'branch-openid', 'newcomer'));
      const entered = await browser.ask(platform.url + received.headers.get('location')!);
      assert.equal(entered.status, 302, entered.text);
      const session = JSON.parse((await browser.ask(`${platform.url}/rest/v1/iam/sessions/current`)).text);
      assert.deepEqual(
        [session.domain, session.login, session.name, session.roles],
        ['branch', 'branch-openid:newcomer', 'newcomer of Elsewhere', []],
      );
      ids.push(session.user_id);
    }
    assert.equal(ids[0], ids[1]);
    assert.equal((await use('no-such-script')).status, 200);
    const browser = createCookieBrowser();
    const received = await browser.ask(await goThere(browser));
    await refused(
      await askJson(browser, platform.url + received.headers.get('location')!),
      404,
      'openid',
      /unknown_script/,
    );
  });
});
