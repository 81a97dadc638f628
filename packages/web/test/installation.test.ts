/** The own account, the licence, temporary accounts of databases, applications in the menu; against the real platform. */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type PostgresServer, startPostgres } from '@parley/kit/testing/postgres-server.ts';
import type { Browser } from 'playwright-core';
import { createVendorKey, issueLicence, type VendorKey } from '../../platform/src/licence/issue.ts';
import {
  ADMIN_PASSWORD,
  type Client,
  startTestPlatform,
  type TestPlatform,
} from '../../platform/test/start-test-platform.ts';
import { hasNoOverflow, launchBrowser, type Opened, seriousFindings, skipPages } from './browser.ts';
import { call, cellsOf, createStage, type Stage, signIn, signOut, unmeant } from './console-stage.ts';

const ADMIN = { login: 'admin', pwd: ADMIN_PASSWORD };
/** One black point. */
const PICTURE = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==',
  'base64',
);

describe('account and installation in the console', { skip: skipPages }, () => {
  let vendor: VendorKey;
  let postgres: PostgresServer;
  let platform: TestPlatform;
  let browser: Browser;
  let admin: Client;
  let stage: Stage;
  let folder: string;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-installation-'));
    vendor = await createVendorKey();
    postgres = await startPostgres();
    platform = await startTestPlatform(undefined, {
      trusted_proxies: '',
      'platform.license.vendor_keys': vendor.publicKey,
      'platform.iam.require_old_pwd': 'true',
    });
    admin = await platform.signIn('admin', ADMIN_PASSWORD);
    browser = await launchBrowser();
    stage = createStage(browser, platform);
  });
  after(async () => {
    await browser?.close();
    await platform?.[Symbol.asyncDispose]();
    await postgres?.[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  /** Nothing stands out, axe is content, and nothing was complained about; then the page is closed. */
  const leave = async (opened: Opened): Promise<void> => {
    assert.deepEqual(await seriousFindings(opened.page), []);
    assert.ok(await hasNoOverflow(opened.page), 'nothing stands out at the side');
    assert.deepEqual(unmeant(opened), []);
    await opened.page.context().close();
  };

  it('lets people without any role keep their own account', async () => {
    await call(admin, 'POST', 'iam/users', { login: 'nora', name: 'Nora', pwd: 'Nora-Password-1' });
    const opened = await stage.open('', { login: 'nora', pwd: 'Nora-Password-1' });
    const { page } = opened;
    await page.click('nav a:text-is("My account")');
    await page.getByLabel('Name *').fill('Nora B.');
    await page.getByRole('button', { name: 'Save' }).first().click();
    await page.waitForSelector('.notice:has-text("Saved.")');
    await page.getByRole('textbox', { name: 'Additional fields' }).fill('[1]');
    await page.locator('form[aria-label="Additional fields"] button').click();
    await page.waitForSelector('.field-error:has-text("JSON object")');
    await page.getByRole('textbox', { name: 'Additional fields' }).fill('{"floor": 3}');
    await page.locator('form[aria-label="Additional fields"] button').click();
    const nora = await platform.signIn('nora', 'Nora-Password-1');
    await page.waitForSelector('form[aria-label="Additional fields"] button:disabled');
    assert.deepEqual((await nora.call('GET', 'user/ext')).body, { floor: 3 });
    assert.equal((await nora.call('GET', 'user/info')).body.name, 'Nora B.');

    const picture = page.locator('.own-picture input[type=file]');
    await picture.setInputFiles({ name: 'me.png', mimeType: 'image/png', buffer: Buffer.from('not a picture') });
    await page.waitForSelector('.own-picture [role=alert]:has-text("no PNG")');
    await picture.setInputFiles({ name: 'me.png', mimeType: 'image/png', buffer: PICTURE });
    await page.waitForSelector('.own-picture img');
    await page.evaluate('document.querySelector(".own-picture img").decode()');
    await page.click('.own-picture button:has-text("Take away")');
    await page.waitForSelector('.own-picture .no-picture');

    const password = async (old: string, pwd: string, again: string): Promise<void> => {
      await page.getByLabel('Present password').fill(old);
      await page.getByLabel('New password').fill(pwd);
      await page.getByLabel('The new one once more').fill(again);
      await page.getByRole('button', { name: 'Change the password' }).click();
    };
    await password('Nora-Password-1', 'Nora-Password-2', 'Nora-Password-3');
    await page.waitForSelector('.field-error:has-text("not the same")');
    await password('wrong', 'Nora-Password-2', 'Nora-Password-2');
    await page.waitForSelector('.field-error:has-text("not the present password")');
    await password('Nora-Password-1', 'Nora-Password-2', 'Nora-Password-2');
    await page.waitForSelector('.notice:has-text("The password is changed.")');
    assert.deepEqual(await seriousFindings(page), []);
    await signOut(page);
    await signIn(page, 'nora', 'Nora-Password-2');
    await page.waitForSelector('h1:text("Nora B. (nora)")');
    await leave(opened);
  });

  it('installs a licence from its file, says why one is refused, and counts what is used', async () => {
    const opened = await stage.open('/master/license', ADMIN);
    const { page } = opened;
    await page.waitForSelector('.empty-place:has-text("nothing is limited")');
    const download = page.waitForEvent('download');
    await page.click('button:has-text("what the vendor needs")');
    const addressee = JSON.parse(await readFile(await (await download).path(), 'utf8'));
    const issuedAt = Math.floor(Date.now() / 1000);
    const terms = { products: 'pbx', dql: { domains: 1, svcscripts: 40 }, sqf: { recording: true }, iss: 'The vendor' };
    const foreign = await issueLicence(terms, { ...addressee, installation: 'elsewhere' }, vendor.privateKey, issuedAt);
    await page.getByRole('textbox', { name: 'The licence' }).fill(foreign);
    await page.click('button:has-text("Install")');
    await page.waitForSelector('main [role=alert]:has-text("another installation")');
    const file = join(folder, 'licence.txt');
    await writeFile(file, `${await issueLicence(terms, addressee, vendor.privateKey, issuedAt)}\n`);
    await page.setInputFiles('input[aria-label="File of the licence"]', file);
    await page.click('button:has-text("Install")');
    await page.waitForSelector('.notice:has-text("in force")');
    await page.waitForSelector('dd:has-text("The vendor")');
    await page.waitForSelector('.badge:has-text("recording: on")');
    const rows = await cellsOf(page);
    assert.deepEqual(rows[0], ['Domains', rows[0]![1], '1']);
    assert.deepEqual(
      rows.find(([item]) => item === 'Service scripts'),
      ['Service scripts', '0', '40'],
    );
    await call(admin, 'POST', 'service/svcscripts', { code: 'counted' });
    await page.reload();
    await page.waitForSelector('tr:has-text("Service scripts") td.number:has-text("1")');
    await page.getByLabel('As it was issued').check();
    await page.waitForSelector('dd:has-text("The vendor")');
    await leave(opened);
  });

  it('makes a temporary account of a database, shows its password once, and ends it', async () => {
    const url = new URL(await postgres.createDatabase());
    const database = url.pathname.slice(1);
    const params = { host: decodeURIComponent(url.hostname), login: 'postgres', pwd: '', database };
    await call(admin, 'POST', 'domain/storages', { instance: 'shop', type: 'postgresql', params });
    const roles = async (): Promise<string[]> =>
      (await postgres.run(`SELECT rolname FROM pg_roles WHERE rolcanlogin AND rolname LIKE 'tmp_%'`)).rows.map(
        ({ rolname }) => rolname,
      );
    const opened = await stage.open('/iam/dbusers', ADMIN);
    const { page } = opened;
    await page.waitForSelector('td:has-text("There are no accounts now.")');
    await page.click('button:has-text("New account")');
    await page.getByLabel('It may').selectOption('write');
    await page.click('dialog button[type=submit]');
    await page.waitForSelector('dialog [role=alert]:has-text("may not have accounts that write")');
    await page.getByLabel('It may').selectOption('read');
    await page.getByLabel('It ends').selectOption('hours');
    await page.getByLabel('Hours').fill('2');
    await page.click('dialog button[type=submit]');
    await page.waitForSelector('dialog:has-text("The password is shown only now.")');
    const [, , login = '', pwd = ''] = await page.locator('dialog dd').allInnerTexts();
    assert.deepEqual(await roles(), [login]);
    assert.ok(pwd.length >= 16);
    await page.click('dialog button:has-text("Done")');
    await page.waitForSelector(`td:has-text("${login}")`);
    assert.ok(!(await page.content()).includes(pwd));
    await page.click(`button[aria-label="End ${login}"]`);
    await page.click('dialog button[type=submit]');
    await page.waitForSelector('td:has-text("There are no accounts now.")');
    assert.deepEqual(await roles(), []);
    await leave(opened);
  });

  it('puts the applications of the roles into the menu, and none that is no page', async () => {
    const webapps = [
      { name: 'Telephone', url: '/phone/', order: 1 },
      { name: 'Trick', url: 'javascript:alert(1)', order: 2 },
    ];
    await call(admin, 'POST', 'domain/roles', { name: 'caller', routes: [], webapps });
    await call(admin, 'POST', 'iam/users', { login: 'carl', pwd: 'Carl-Password-1', opts: { roles: ['caller'] } });
    const opened = await stage.open('', { login: 'carl', pwd: 'Carl-Password-1' });
    const { page } = opened;
    await page.waitForSelector('nav a:text-is("Telephone")');
    assert.equal(await page.getAttribute('nav a:text-is("Telephone")', 'href'), `${platform.url}/phone/`);
    assert.equal(await page.locator('nav a:text-is("Trick")').count(), 0);
    assert.deepEqual(await page.locator('nav.nav a').allInnerTexts(), ['Start', 'My account', 'Sessions', 'Telephone']);
    await leave(opened);
  });

  it('lists the newest runs of a script with their logs', async () => {
    const objects = [
      { oId: 1, oType: 101, transfer: 2 },
      { oId: 2, oType: 180, level: 'info', text: 'somebody was here', transfer: 3 },
      { oId: 3, oType: 102 },
    ];
    const { id } = await call(admin, 'POST', 'service/svcscripts', { code: 'logging', scriptdata: { objects } });
    const opened = await stage.open(`/service/svcscripts/${id}`, ADMIN);
    const { page } = opened;
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.click('summary:has-text("Newest runs")');
    await page.waitForSelector('p:has-text("It has not run")');
    await call(admin, 'POST', `service/svcscripts/${id}/run`, {});
    await page.click('button:has-text("Look again")');
    await page.waitForSelector('.recent-runs li:has-text("somebody was here"):has-text("by hand")');
    await leave(opened);
  });
});
