/**
 * The pages of an account in a real browser (Debian's chromium): the link of an invitation out of a real mail, and
 * /app-root. Runs where `CI_PAGES=1` says that the browser is there.
 */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { type Browser, chromium, type Page } from 'playwright-core';
import { createUser, setUpMail } from './mail-set-up.ts';
import { ADMIN_PASSWORD, type Client, startTestPlatform, type TestPlatform } from './start-test-platform.ts';
import { startTestSmtp, type TestSmtp } from './start-test-smtp.ts';

const CHROMIUM = '/usr/bin/chromium';
const skip = process.env.CI_PAGES === '1' && existsSync(CHROMIUM) ? false : 'CI_PAGES is not 1 or chromium is missing';
const QUIET = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'];
const LINK = /http[^\s"<]*\/invite\/[0-9a-f-]{36}/;
const NARROW = 360;

describe('pages of an account', { skip }, () => {
  let smtp: TestSmtp;
  let platform: TestPlatform;
  let browser: Browser;
  let admin: Client;
  before(async () => {
    smtp = await startTestSmtp();
    // Without proxies the browser's own address counts.
    platform = await startTestPlatform(undefined, { 'platform.invite.interval': '0s', trusted_proxies: '' });
    browser = await chromium.launch({ executablePath: CHROMIUM, args: QUIET });
    admin = await platform.signIn('admin', ADMIN_PASSWORD);
    await setUpMail(admin, smtp);
  });
  after(async () => {
    await browser?.close();
    await platform?.[Symbol.asyncDispose]();
    await smtp?.[Symbol.asyncDispose]();
  });

  /** A page that notes what the browser complains about and what it asks of others. */
  const open = async (url: string, colorScheme: 'light' | 'dark' = 'light') => {
    const context = await browser.newContext({ viewport: { width: NARROW, height: 740 }, colorScheme });
    const page = await context.newPage();
    const complaints: string[] = [];
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('console', (message) => {
      // An answer that is no success is a console error of the browser, not of the page.
      if (message.type() === 'error' && !message.text().includes('the server responded with a status')) {
        complaints.push(message.text());
      }
    });
    page.on('request', (request) => {
      if (!request.url().startsWith(platform.url)) complaints.push(`asks ${request.url()}`);
    });
    await page.goto(url);
    return { page, complaints, close: () => context.close() };
  };
  const fits = (page: Page): Promise<boolean> => page.evaluate('document.documentElement.scrollWidth <= innerWidth');
  const background = (page: Page): Promise<string> => page.evaluate('getComputedStyle(document.body).backgroundColor');
  const linkFor = async (userid: string): Promise<string> => {
    const answer = await admin.call('POST', 'iam/invites', { body: { userid } });
    assert.equal(answer.status, 200, answer.text);
    return smtp.received.map(({ mail }) => LINK.exec(mail.text ?? '')?.[0]).findLast((link) => link !== undefined)!;
  };
  const enter = async (page: Page, pwd: string, again = pwd): Promise<void> => {
    await page.fill('input[name=pwd]', pwd);
    await page.fill('input[name=again]', again);
    await page.click('form button[type=submit]');
  };
  const faultAt = (page: Page, field: string): Promise<string> =>
    textOf(page, `.field:has(input[name=${field}]) .field-error`);
  const textOf = async (page: Page, selector: string): Promise<string> => {
    await page.waitForSelector(selector, { state: 'visible' });
    return (await page.textContent(selector)) ?? '';
  };

  it('set the password by the link of the mail, once, with each fault at its field', async () => {
    const user = await createUser(admin);
    const other = await createUser(admin);
    const link = await linkFor(user.id);
    const { page, complaints, close } = await open(link);
    assert.ok(await fits(page));
    await enter(page, 'Good-Password-1', 'Good-Password-2');
    assert.match(await faultAt(page, 'again'), /not the same/);
    await enter(page, 'short');
    assert.match(await faultAt(page, 'pwd'), /too short/);
    assert.equal(await page.getAttribute('input[name=pwd]', 'aria-invalid'), 'true');
    await enter(page, 'with space and ü');
    assert.match(await faultAt(page, 'pwd'), /Only letters/);
    await enter(page, 'password123');
    assert.match(await faultAt(page, 'pwd'), /easy to guess/);
    await page.click('summary');
    await page.fill('input[name=login]', other.login);
    await enter(page, 'Good-Password-1');
    assert.match(await faultAt(page, 'login'), /taken/);
    assert.ok(await fits(page));
    await page.fill('input[name=login]', '');
    await enter(page, 'Good-Password-1');
    assert.match(await textOf(page, 'main [role=status]'), new RegExp(`Your login is ${user.login}`));
    assert.equal(await page.isVisible('form'), false);
    assert.deepEqual(complaints, []);

    await page.click('main a.button');
    await page.fill('input[name=login]', user.login);
    await page.fill('input[name=pwd]', 'Good-Password-1');
    await page.click('form button[type=submit]');
    assert.match(await textOf(page, 'main > .page-title h1'), new RegExp(user.login));
    await close();

    const again = await open(link);
    await enter(again.page, 'Another-Password-1');
    assert.match(await textOf(again.page, 'main [role=status]'), /no such invitation, or it was used/);
    assert.equal(await again.page.isVisible('form'), false);
    await again.close();
  });

  it('send the address of the link to nobody', async () => {
    const answer = await platform.guest.call('GET', `/invite/${crypto.randomUUID()}`);
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get('referrer-policy'), 'no-referrer');
    assert.equal(answer.headers.get('cache-control'), 'no-store');
    assert.match(answer.headers.get('content-security-policy')!, /^default-src 'none'; script-src 'self';/);
    assert.ok(!/<script>|<style|\son\w+=|style="/.test(answer.text));
  });

  it('sign in, show the applications, and sign out', async () => {
    const webapps = [
      { name: 'Phone', url: '/phone/', description: 'Calls and chats', order: 2 },
      { name: 'Trap', url: 'javascript:alert(1)', order: 1 },
    ];
    await admin.call('POST', 'domain/roles', { body: { name: 'apps', routes: [], webapps } });
    const user = await createUser(admin, { name: 'Ann <i>Lee</i>', pwd: 'Good-Password-1', opts: { roles: ['apps'] } });
    const { page, complaints, close } = await open(`${platform.url}/app-root`, 'dark');
    assert.ok(await fits(page));
    await page.fill('input[name=login]', user.login);
    await page.fill('input[name=pwd]', 'wrong');
    await page.click('form button[type=submit]');
    assert.match(await textOf(page, '[role=alert]'), /do not go together/);
    await page.fill('input[name=pwd]', 'Good-Password-1');
    await page.click('form button[type=submit]');
    assert.equal(await textOf(page, 'main > .page-title h1'), `Ann <i>Lee</i> (${user.login})`);
    assert.deepEqual(await page.locator('.apps a').allInnerTexts(), ['Phone']);
    assert.match(await textOf(page, '.apps'), /Trap/);
    assert.ok(await fits(page));
    const dark = await background(page);
    await page.emulateMedia({ colorScheme: 'light' });
    assert.notEqual(await background(page), dark);
    await page.reload();
    assert.match(await textOf(page, 'main > .page-title h1'), /Ann/);
    await page.click('button[aria-label="Sign out"]');
    await page.waitForSelector('form input[name=pwd]');
    await page.reload();
    await page.waitForSelector('form input[name=pwd]');
    assert.deepEqual(complaints, []);
    await close();
  });
});
