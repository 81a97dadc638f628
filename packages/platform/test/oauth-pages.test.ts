/**
 * Sign-in through an OpenID provider in a real browser (Debian's chromium), which has its own mind about cookies. Runs
 * where `CI_PAGES=1` says that the browser is there.
 */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { type Browser, chromium } from 'playwright-core';
import { oauthAccounts } from '../src/scripts/samples/oauth-accounts.ts';
import { createCookieBrowser } from './cookie-browser.ts';
import {
  CLIENT_ID,
  CLIENT_SECRET,
  type OpenIdProvider,
  signInAtOpenId,
  startOpenIdProvider,
} from './oauth-provider.ts';
import { ADMIN_PASSWORD, startTestPlatform, type TestPlatform } from './start-test-platform.ts';

const CHROMIUM = '/usr/bin/chromium';
const skip = process.env.CI_PAGES === '1' && existsSync(CHROMIUM) ? false : 'CI_PAGES is not 1 or chromium is missing';
const QUIET = ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking', '--disable-sync'];

describe('OAuth in a browser', { skip }, () => {
  let platform: TestPlatform;
  let openId: OpenIdProvider;
  let browser: Browser;
  before(async () => {
    openId = await startOpenIdProvider();
    platform = await startTestPlatform(undefined, { 'platform.oauth.allow_http_hosts': openId.host });
    openId.open(`${platform.url}/oauth/receiver`);
    const admin = await platform.signIn('admin', ADMIN_PASSWORD);
    const calls = [
      ['POST', 'service/svcscripts', oauthAccounts.body],
      ['PATCH', `domain/settings/${oauthAccounts.setting}`, { value: { value: oauthAccounts.body.code } }],
      [
        'POST',
        'model/oauth/Providers',
        { code: 'openid', issuer: openId.url, client_id: CLIENT_ID, client_secret: CLIENT_SECRET },
      ],
    ] as const;
    for (const [method, path, body] of calls) {
      const answer = await admin.call(method, path, { body });
      assert.equal(answer.status, 200, answer.text);
    }
    browser = await chromium.launch({ executablePath: CHROMIUM, args: QUIET });
  });
  after(async () => {
    await browser?.close();
    await platform?.[Symbol.asyncDispose]();
    await openId?.[Symbol.asyncDispose]();
  });

  it('ends signed in at /app-root, though the way led over another site', async () => {
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(`${platform.url}/oauth/redirect/openid`);
    assert.equal(new URL(page.url()).origin, openId.url, 'another site asks who it is');
    await page.fill('input[name=login]', 'berta');
    await page.fill('input[name=password]', 'any');
    await page.click('button[type=submit]');
    await page.waitForURL(`${platform.url}/app-root`);
    const session = await page.evaluate('fetch("/rest/v1/iam/sessions/current").then((answer) => answer.json())');
    assert.equal((session as { login: string }).login, 'openid:berta');
    const cookies = await context.cookies(`${platform.url}/oauth`);
    const kept = cookies.map(({ name, httpOnly, sameSite }) => [name, httpOnly, sameSite]).sort();
    assert.deepEqual(
      kept.filter(([name]) => name === 'RSession' || name === 'ROAuth'),
      [
        ['ROAuth', true, 'Lax'],
        ['RSession', true, 'Strict'],
      ],
    );
    assert.equal(await page.evaluate('document.cookie'), '');
    assert.equal(await page.evaluate('document.referrer'), '');
    // Back in the history lies the way in, which is used.
    await page.goto(`${platform.url}/oauth/receiver?code=x&state=${'A'.repeat(43)}`);
    assert.match((await page.textContent('h1')) ?? '', /Sign-in failed/);
    await context.close();
  });

  it('lets a link of another browser nobody in', async () => {
    // The attacker stops before his own browser brings the provider's answer.
    const receiver = await signInAtOpenId(createCookieBrowser(), `${platform.url}/oauth/redirect/openid`, 'mallory');
    const mine = await browser.newContext();
    const victim = await mine.newPage();
    await victim.goto(`${platform.url}/oauth/redirect/openid`);
    const answer = await victim.goto(receiver);
    assert.equal(answer?.status(), 403);
    assert.ok(!(await mine.cookies(platform.url)).some(({ name }) => name === 'RSession'));
    await mine.close();
  });
});
