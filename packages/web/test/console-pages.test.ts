/** Every page of the console: for all eyes and widths, in both languages, small to load, and quick with ten thousand rows. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser } from 'playwright-core';
import { chain, createScripts } from '../../platform/test/run-script.ts';
import {
  ADMIN_PASSWORD,
  type Client,
  startTestPlatform,
  type TestPlatform,
} from '../../platform/test/start-test-platform.ts';
import { hasNoOverflow, launchBrowser, openPage, seriousFindings, skipPages, waitUntil } from './browser.ts';
import { call, createStage, type Stage, signIn, unmeant } from './console-stage.ts';

const ADMIN = { login: 'admin', pwd: ADMIN_PASSWORD };
const USERS = 10_000;
/** Posted at the same time, so that the Store takes many at once. */
const AT_ONCE = 200;

describe('pages of the console', { skip: skipPages }, () => {
  let platform: TestPlatform;
  let browser: Browser;
  let admin: Client;
  let stage: Stage;
  let role: string;
  let user: string;

  before(async () => {
    platform = await startTestPlatform(undefined, { trusted_proxies: '' });
    admin = await platform.signIn('admin', ADMIN_PASSWORD);
    await call(admin, 'POST', 'master/domains', { name: 'north.example.org' });
    const routes = [{ methods: ['GET', 'LOOKUP'], url: '/rest/v1/iam/users*' }];
    role = (await call(admin, 'POST', 'domain/roles', { name: 'reception', routes })).id;
    user = (await call(admin, 'POST', 'iam/users', { login: 'ann', opts: { roles: ['reception'] } })).id;
    await call(admin, 'PATCH', `iam/users/${user}`, { name: 'Ann' });
    browser = await launchBrowser();
    stage = createStage(browser, platform);
  });
  after(async () => {
    await browser?.close();
    await platform?.[Symbol.asyncDispose]();
  });

  const placesOf = (): string[] => [
    '',
    '/iam/users',
    `/iam/users/${user}`,
    '/iam/users/new',
    `/domain/roles/${role}`,
    '/design/classes',
    '/domain/settings',
    '/domain/settings/iam_session',
    '/domain/users_caches',
    '/journal',
    `/access?user=${user}`,
    '/master/nodes',
    '/sessions',
    '/account',
    '/master/license',
    '/iam/dbusers',
    '/domain/product_layer',
    '/nowhere',
  ];

  for (const [width, theme] of [
    [360, 'dark'],
    [1440, 'light'],
  ] as const) {
    it(`have no overflow, no complaint and no serious finding of axe at ${width} px, ${theme}`, async () => {
      const guest = await stage.open('', undefined, { width });
      const opened = await stage.open('', ADMIN, { width });
      const seen = [{ page: guest.page, place: '' }, ...placesOf().map((place) => ({ page: opened.page, place }))];
      for (const { page, place } of seen) {
        await page.goto(`${platform.url}/app-root${place}`);
        await page.waitForSelector('main h1');
        await page.waitForLoadState('networkidle');
        await page.waitForSelector('main p[role=status]:has-text("Loading")', { state: 'detached' });
        await page.evaluate(`document.documentElement.dataset.theme = '${theme}'`);
        assert.deepEqual(await seriousFindings(page), [], place);
        assert.ok(await hasNoOverflow(page), place);
      }
      for (const each of [guest, opened]) {
        assert.deepEqual(unmeant(each), []);
        await each.page.context().close();
      }
    });
  }

  it('are walked with the keyboard: skip link, menu, table, dialog and back', async () => {
    const opened = await stage.open('/domain/roles', ADMIN);
    const { page } = opened;
    await page.waitForSelector('td button.link');
    await page.focus('a.skip');
    await page.keyboard.press('Enter');
    assert.equal(await page.evaluate('document.activeElement.id'), 'main');
    await page.focus('td button:text-is("reception")');
    await page.keyboard.press('Enter');
    await page.waitForSelector('dialog [data-field=name] input');
    await page.keyboard.press('Escape');
    await page.waitForSelector('dialog', { state: 'detached' });
    assert.equal(await page.evaluate('document.activeElement.innerText'), 'reception');
    assert.deepEqual(unmeant(opened), []);
    await page.context().close();
  });

  it('speak Russian to those who do', async () => {
    const opened = await stage.open('', undefined, { locale: 'ru-RU' });
    const { page } = opened;
    await page.waitForSelector('h1:text("Вход")');
    await signIn(page, 'admin', 'wrong');
    await page.waitForSelector('[role=alert]:has-text("Неверное сочетание")');
    await signIn(page, 'admin', ADMIN_PASSWORD);
    await page.click('nav a:text-is("Пользователи")');
    await page.click('button:has-text("Создать")');
    await page.fill('dialog [data-field=login] input', 'ann');
    await page.click('dialog button[type=submit]');
    await page.waitForSelector('[data-field=login] .field-error:has-text("С таким значением")');
    assert.deepEqual(unmeant(opened), []);
    await page.context().close();
  });

  it('load less than 300 kB at first, compressed', async () => {
    for (const who of [undefined, ADMIN]) {
      const { page } = await openPage(browser, 'about:blank');
      if (who) {
        const [name = '', value = ''] = (await platform.cookieOf(who.login, who.pwd, 'master')).split('=');
        await page.context().addCookies([{ name, value, url: platform.url }]);
      }
      let bytes = 0;
      const network = await page.context().newCDPSession(page);
      await network.send('Network.enable');
      network.on('Network.loadingFinished', ({ encodedDataLength }) => {
        bytes += encodedDataLength;
      });
      await page.goto(`${platform.url}/app-root`);
      await page.waitForLoadState('networkidle');
      assert.ok(bytes > 10_000 && bytes < 300_000, `${bytes} bytes`);
      await page.context().close();
    }
  });

  it('offer the ways in that there are: a scenario step by step, and providers', async () => {
    const scripts = createScripts(admin);
    await scripts.save(
      chain(
        { oType: 150, step: 1, fields: [{ name: 'colour', type: 'line', title: '"Which colour?"' }] },
        { oType: 151, message: 'Another colour was meant.' },
      ),
      { code: 'colours' },
    );
    await call(admin, 'PATCH', 'domain/settings/iam_external_svcscript_code', { value: { value: 'colours' } });
    const provider = { code: 'openid', name: 'Example Id', issuer: 'https://id.example.org', client_id: 'parley' };
    await call(admin, 'POST', 'model/oauth/Providers', provider);
    await call(admin, 'POST', 'model/oauth/Providers', { ...provider, code: 'off', enabled: false });
    const opened = await stage.open('');
    const { page } = opened;
    await page.waitForSelector('a:has-text("Continue with Example Id")');
    assert.deepEqual(
      await page.evaluate('[...document.querySelectorAll("main a.button")].map((link) => link.getAttribute("href"))'),
      ['/oauth/redirect/openid'],
    );
    await page.click('button:has-text("Sign in step by step")');
    await page.fill('main form .field:has-text("Which colour?") input', 'green');
    await page.click('main form button[type=submit]');
    await page.waitForSelector('main form .fault:has-text("Another colour was meant.")');
    assert.deepEqual(unmeant(opened), []);
    await page.context().close();
  });

  it('keep few of ten thousand users in the document, and show the last ones', async () => {
    for (let at = 0; at < USERS; at += AT_ONCE) {
      await Promise.all(
        Array.from({ length: AT_ONCE }, (_, index) =>
          call(admin, 'POST', 'iam/users', { login: `user-${String(at + index).padStart(5, '0')}` }),
        ),
      );
    }
    const opened = await stage.open('/iam/users?f.login=user-&sort=login&size=10000', ADMIN);
    const { page } = opened;
    await page.waitForSelector('td:has-text("user-00000")');
    await page.waitForSelector('output:has-text("1–10,000 of 10,000")');
    const rowCount = 'document.querySelectorAll("main tbody tr").length';
    assert.ok((await page.evaluate<number>(rowCount)) < 100);
    assert.equal(await page.getAttribute('main table', 'aria-rowcount'), '10001');
    const heights = '[...document.querySelectorAll("main tbody tr[data-index]")].map((row) => row.offsetHeight)';
    assert.deepEqual([...new Set(await page.evaluate<number[]>(heights))], [44]);
    // Laid out row by row, and still a table to those who hear it.
    const tree = await (await page.context().newCDPSession(page)).send('Accessibility.getFullAXTree');
    const roles = new Set(tree.nodes.map(({ role }) => role?.value));
    for (const role of ['table', 'row', 'columnheader', 'cell']) assert.ok(roles.has(role), role);
    await page.focus('.table-frame');
    await page.keyboard.press('End');
    await page.waitForSelector('td:has-text("user-09999")');
    await waitUntil(page, `${rowCount} < 100`);
    assert.deepEqual(unmeant(opened), []);
    await page.context().close();
  });
});
