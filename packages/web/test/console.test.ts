/** The administration console in a real browser, against the real platform. */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Browser } from 'playwright-core';
import {
  ADMIN_PASSWORD,
  type Client,
  startTestPlatform,
  type TestPlatform,
} from '../../platform/test/start-test-platform.ts';
import { launchBrowser, skipPages, waitUntil } from './browser.ts';
import { call, cellsOf, createStage, enter, type Stage, save, signIn, signOut, unmeant } from './console-stage.ts';

const ADMIN = { login: 'admin', pwd: ADMIN_PASSWORD };

describe('the console', { skip: skipPages }, () => {
  let platform: TestPlatform;
  let browser: Browser;
  let admin: Client;
  let stage: Stage;
  let folder: string;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-console-'));
    // Without proxies the browser's own address counts.
    platform = await startTestPlatform(undefined, { trusted_proxies: '' });
    admin = await platform.signIn('admin', ADMIN_PASSWORD);
    browser = await launchBrowser();
    stage = createStage(browser, platform);
  });
  after(async () => {
    await browser?.close();
    await platform?.[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  it('makes a role and a user, who is refused what the role does not say, and the journal tells of it all', async () => {
    const opened = await stage.open('');
    const { page } = opened;
    await signIn(page, 'admin', 'wrong');
    await page.waitForSelector('[role=alert]:has-text("do not go together")');
    await signIn(page, 'admin', ADMIN_PASSWORD);
    await page.waitForSelector('h1:text("Administrator (admin)")');

    await page.click('nav a:text-is("Roles")');
    await page.click('button:has-text("Create")');
    await enter(page, 'name', 'reception');
    await page.click('button:has-text("Add a route")');
    await page.fill('input[aria-label="Path of route 1"]', '/rest/v1/iam/users*');
    await page.fill('.request-check input', '/rest/v1/iam/users/17');
    await page.waitForSelector('.verdict.good');
    await page.selectOption('.request-check select', 'DELETE');
    await page.waitForSelector('.verdict.bad');
    await save(page);
    await page.waitForSelector('td:has-text("reception")');

    await page.click('nav a:text-is("Users")');
    await page.click('button:has-text("Create")');
    await enter(page, 'login', 'rita');
    await enter(page, 'name', 'Rita');
    await enter(page, 'pwd', 'Rita-Password-1');
    await page.check('dialog label.chip:has-text("reception") input');
    await save(page);
    await page.waitForSelector('td:has-text("rita")');
    await signOut(page);

    await signIn(page, 'rita', 'Rita-Password-1');
    await page.waitForSelector('h1:text("Rita (rita)")');
    assert.deepEqual(await page.locator('nav.nav a').allInnerTexts(), ['Start', 'My account', 'Sessions', 'Users']);
    await page.click('nav a:text-is("Users")');
    await page.click('td button:text-is("admin")');
    await page.waitForSelector('dialog .warning-box');
    assert.equal(await page.isDisabled('dialog button[type=submit]'), true);
    assert.equal(await page.isVisible('dialog button:has-text("Delete")'), false);
    await page.keyboard.press('Escape');
    await page.goto(`${platform.url}/app-root/domain/roles`);
    await page.waitForSelector('.empty-place:has-text("do not let you see")');
    assert.equal(await page.evaluate('fetch("/rest/v1/domain/roles").then(({ status }) => status)'), 403);
    await signOut(page);

    await signIn(page, 'admin', ADMIN_PASSWORD);
    await page.click('nav a:text-is("Journal")');
    await page.waitForSelector('td:has-text("rita")');
    const lines = (await cellsOf(page)).map(([, who, done, kind, key]) => [who, done, kind, key].join(' '));
    assert.ok(lines.includes('Administrator created user rita'), lines.join('\n'));
    assert.ok(lines.includes('Administrator created role reception'), lines.join('\n'));
    assert.deepEqual(unmeant(opened), []);
    await page.context().close();
  });

  it('shows an entry of the journal before and after, side by side', async () => {
    const { id } = await call(admin, 'POST', 'iam/users', { login: 'olga', name: 'Olga' });
    await call(admin, 'PATCH', `iam/users/${id}`, { name: 'Olga P.' });
    await call(admin, 'DELETE', `iam/users/${id}`);
    const opened = await stage.open(`/journal?objtype=iam/users&objid=${id}`, ADMIN);
    const { page } = opened;
    const openEntry = async (at: number): Promise<string[][]> => {
      await page.locator('main tbody button.link').nth(at).click();
      await page.waitForSelector('.compare tbody tr');
      const lines = await page.evaluate<string[][]>(
        `[...document.querySelectorAll('.compare tbody tr')].map((row) => [...row.cells].map((cell) => cell.innerText.trim()))`,
      );
      await page.keyboard.press('Escape');
      await page.waitForSelector('dialog', { state: 'detached' });
      return lines;
    };
    assert.deepEqual(
      (await openEntry(0)).find(([field]) => field === 'name'),
      ['name', 'Olga P.', ''],
    );
    const [changed] = await openEntry(1);
    assert.deepEqual(changed, ['name', 'Olga', 'Olga P.']);
    assert.deepEqual(
      (await openEntry(2)).find(([field]) => field === 'login'),
      ['login', '', 'olga'],
    );
    await page.selectOption('label:has-text("What was done") + select', 'delete');
    await waitUntil(page, 'document.querySelectorAll("main tbody tr").length === 1');
    assert.deepEqual(unmeant(opened), []);
    await page.context().close();
  });

  it('shows what is refused at the field it is about, keeps what was entered, and notices who was faster', async () => {
    await call(admin, 'POST', 'domain/projects', { code: 'taken', name: 'First' });
    const opened = await stage.open('/domain/projects/new', ADMIN);
    const { page } = opened;
    await enter(page, 'code', 'taken');
    await enter(page, 'name', 'Second');
    await page.click('dialog button[type=submit]');
    await page.waitForSelector('[data-field=code] .field-error:has-text("There is one")');
    assert.equal(await page.evaluate('document.activeElement.closest("[data-field]").dataset.field'), 'code');
    await page.click('dialog summary:has-text("Additional keys")');
    await page.fill('dialog [data-field="ext.*"] textarea', '[1]');
    await enter(page, 'code', 'free');
    await page.click('dialog button[type=submit]');
    await page.waitForSelector('[data-field="ext.*"] .field-error:has-text("JSON object")');
    await page.fill('dialog [data-field="ext.*"] textarea', '{"floor": 3}');
    await save(page);
    const [made] = await call(admin, 'GET', 'domain/projects?filter={"code":"free"}&mask=id,name,ext.floor');
    assert.deepEqual([made.name, made.ext.floor], ['Second', 3]);

    await page.click('td button:text-is("free")');
    await enter(page, 'name', 'Mine');
    await call(admin, 'PATCH', `domain/projects/${made.id}`, { name: 'Theirs' });
    await page.click('dialog button[type=submit]');
    await page.waitForSelector('dialog [role=alert]:has-text("Somebody changed it")');
    await page.keyboard.press('Escape');
    await page.click('td button:text-is("free")');
    await page.waitForSelector('dialog [data-field=name] input');
    await enter(page, 'name', '');
    await page.click('dialog summary:has-text("Additional keys")');
    await page.fill('dialog [data-field="ext.*"] textarea', '');
    await save(page);
    const now = await call(admin, 'GET', `domain/projects/${made.id}`);
    // Without a name a project is called by its code.
    assert.deepEqual([now.name, now.ext.floor], ['free', undefined]);
    await page.click('td button:text-is("free")');
    await page.click('dialog button:has-text("Delete")');
    await page.click('dialog:has-text("gone for good") button[type=submit]');
    await page.waitForSelector('.notice:has-text("Deleted.")');
    assert.equal((await admin.call('GET', `domain/projects/${made.id}`)).status, 404);
    assert.deepEqual(unmeant(opened), []);
    await page.context().close();
  });

  it('deletes what others refer to only when asked again', async () => {
    await call(admin, 'POST', 'domain/roles', { name: 'held', routes: [] });
    const { id } = await call(admin, 'POST', 'iam/users', { login: 'holder', opts: { roles: ['held'] } });
    const opened = await stage.open('/domain/roles?f.name=%3Dheld', ADMIN);
    const { page } = opened;
    await page.click('td button:text-is("held")');
    await page.click('dialog button:has-text("Delete")');
    await page.click('dialog:has-text("gone for good") button[type=submit]');
    await page.click('dialog:has-text("Others name it") button[type=submit]');
    await page.waitForSelector('.notice:has-text("Deleted.")');
    assert.deepEqual((await call(admin, 'GET', `iam/users/${id}`)).opts.roles, []);
    assert.deepEqual(unmeant(opened), []);
    await page.context().close();
  });

  it('filters, orders, chooses columns and pages; the address keeps it', async () => {
    for (let at = 0; at < 60; at += 1) {
      const number = String(at).padStart(2, '0');
      await call(admin, 'POST', 'addressbook/contacts', { displayname: `Person ${number}`, department: `D${at % 3}` });
    }
    const opened = await stage.open('/addressbook/contacts?size=50', ADMIN);
    const { page } = opened;
    await page.waitForSelector('output:has-text("1–50 of 60")');
    await page.click('button[aria-label="Next page"]');
    await page.waitForSelector('output:has-text("51–60 of 60")');
    await page.click('th button:text("Name")');
    await page.waitForSelector('tbody tr:first-child:has-text("Person 00")');
    await page.click('th button:text("Name")');
    await page.waitForSelector('tbody tr:first-child:has-text("Person 59")');
    await page.click('button:has-text("Columns")');
    await page.check('label:text-is("Department")');
    await page.uncheck('label:text-is("Changed")');
    await page.click('button:has-text("Filter")');
    await page.fill('section[aria-label="Filters"] .field:has-text("Department") input', 'd1');
    await page.waitForSelector('output:has-text("1–20 of 20")');
    await page.reload();
    await page.waitForSelector('output:has-text("1–20 of 20")');
    const [first] = await cellsOf(page);
    assert.ok(first?.includes('Person 58') && first.includes('D1'), String(first));
    assert.equal(await page.isVisible('th:text("Changed")'), false);
    assert.deepEqual(unmeant(opened), []);
    await page.context().close();
  });

  it('exports what a filter finds, and imports it row by row', async () => {
    for (const code of ['export-a', 'export-b']) await call(admin, 'POST', 'iam/groups', { code, description: code });
    const opened = await stage.open('/iam/groups?f.code=export-', ADMIN);
    const { page } = opened;
    await page.waitForSelector('output:has-text("1–2 of 2")');
    const download = page.waitForEvent('download');
    await page.click('button:has-text("Export")');
    const file = join(folder, 'groups.json');
    await (await download).saveAs(file);
    const rows = JSON.parse(await readFile(file, 'utf8'));
    assert.deepEqual(rows.map(({ code }: { code: string }) => code).sort(), ['export-a', 'export-b']);
    rows[0].description = 'new';
    await writeFile(file, JSON.stringify([...rows, { code: 'export-c' }, { description: 'no code' }]));
    await page.click('button:has-text("Import")');
    await page.setInputFiles('dialog input[type=file]', file);
    await page.check('dialog label:has-text("Replace those that exist")');
    await page.click('dialog button[type=submit]');
    await page.waitForSelector('dialog [role=status]:has-text("3 taken, 1 refused.")');
    const results = await page.locator('dialog tbody tr td:last-child').allInnerTexts();
    assert.deepEqual(results.slice(0, 3), ['replaced', 'replaced', 'created']);
    assert.match(results[3]!, /refused Required. code/);
    await page.keyboard.press('Escape');
    await page.waitForSelector('td:has-text("export-c")');
    assert.equal((await call(admin, 'GET', `iam/groups/${rows[0].id}`)).description, 'new');
    assert.deepEqual(unmeant(opened), []);
    await page.context().close();
  });

  it('sets a known key by the shape of its value', async () => {
    const opened = await stage.open('/domain/settings', ADMIN);
    const { page } = opened;
    await page.selectOption('select[aria-label="Set a known key…"]', 'iam_password_policy');
    await enter(page, 'value.min_length', '0');
    await page.click('dialog button[type=submit]');
    await page.waitForSelector('[data-field="value.min_length"] .field-error:has-text("between 1 and 256")');
    await enter(page, 'value.min_length', '10');
    await save(page);
    assert.deepEqual((await call(admin, 'GET', 'domain/settings/iam_password_policy')).value, { min_length: 10 });
    assert.deepEqual(unmeant(opened), []);
    await page.context().close();
  });

  it('says what a user may do, by the roles of groups too', async () => {
    const boss = await call(admin, 'POST', 'domain/roles', {
      name: 'boss',
      routes: [{ methods: ['*'], url: 'iam/groups*' }],
    });
    await call(admin, 'POST', 'domain/roles', { name: 'deputy', parent_id: boss.id, routes: [] });
    const { id } = await call(admin, 'POST', 'iam/users', { login: 'grouped' });
    await call(admin, 'POST', 'iam/groups', { code: 'deputies', opts: { roles: ['deputy'], users: [id] } });
    const opened = await stage.open('/access', ADMIN);
    const { page } = opened;
    await page.fill('main form input', 'nobody-here');
    await page.click('main form button');
    await page.waitForSelector('.field-error:has-text("no user")');
    await page.fill('main form input', 'grouped');
    await page.click('main form button');
    await page.waitForSelector('h2:has-text("(grouped)")');
    await page.waitForSelector('.verdict.bad');
    await page.selectOption('.request-check select', 'DELETE');
    await page.fill('.request-check input', 'iam/groups/5');
    await page.waitForSelector('.verdict.good:has-text("of the role boss")');
    assert.deepEqual(unmeant(opened), []);
    await page.context().close();
  });

  it('shows nodes as they are and sets their log levels', async () => {
    const opened = await stage.open('/master/nodes', ADMIN);
    const { page } = opened;
    const level = page.locator('tr:has-text("platform_1") select');
    await level.selectOption('error');
    await page.waitForSelector('.notice:has-text("platform_1 logs at error.")');
    const [node] = await call(admin, 'GET', 'master/nodes?filter={"name":"platform_1"}');
    assert.equal(node.maxLogLevel, 'error');
    const up = 'Number(document.querySelector("td.number").innerText.split(":")[1])';
    const before = await page.evaluate<number>(up);
    await waitUntil(page, `${up} > ${before}`);
    assert.deepEqual(unmeant(opened), []);
    await page.context().close();
  });

  it('ends sessions, and asks to sign in again where one was ended, losing nothing', async () => {
    await call(admin, 'POST', 'iam/users', { login: 'sam', pwd: 'Sam-Password-1', opts: { roles: ['admin'] } });
    const sam = { login: 'sam', pwd: 'Sam-Password-1' };
    const victim = await stage.open('/domain/projects/new', sam);
    await enter(victim.page, 'code', 'kept');
    const opened = await stage.open('/sessions', ADMIN);
    const { page } = opened;
    await page.fill('form[aria-label="Sessions of a user"] input', 'sam');
    await page.click('form[aria-label="Sessions of a user"] button');
    await page.waitForSelector('h2:has-text("Sessions of sam")');
    await page.click('button:has-text("End all")');
    await page.click('dialog button[type=submit]');
    await page.waitForSelector('td:has-text("No live sessions.")');

    await victim.page.click('dialog button[type=submit]');
    await victim.page.waitForSelector('dialog:has-text("Your session is over")');
    await victim.page.fill('dialog input[name=login]', 'sam');
    await victim.page.fill('dialog input[name=pwd]', 'Sam-Password-1');
    await victim.page.keyboard.press('Enter');
    await victim.page.waitForSelector('td:has-text("kept")');
    for (const each of [opened, victim]) {
      assert.deepEqual(unmeant(each), []);
      await each.page.context().close();
    }
  });

  it('moves to another domain and back', async () => {
    await call(admin, 'POST', 'master/domains', { name: 'north' });
    const opened = await stage.open('/master/nodes', ADMIN);
    const { page } = opened;
    await page.selectOption('header select[aria-label="Domain"]', 'north');
    await page.waitForSelector('main:has-text("You are in the domain north.")');
    assert.equal(await page.isVisible('nav a:text-is("Nodes")'), false);
    await page.click('nav a:text-is("Users")');
    await page.waitForSelector('td:has-text("There is nothing here yet.")');
    await page.selectOption('header select[aria-label="Domain"]', 'master');
    await page.waitForSelector('main:has-text("You are in the domain master.")');
    assert.deepEqual(unmeant(opened), []);
    await page.context().close();
  });
});
