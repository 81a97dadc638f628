/** The references of both services in a real browser: requests are tried from the page, with a real key and a real session. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { ADMIN_PASSWORD, startTestPlatform, type TestPlatform } from '../../platform/test/start-test-platform.ts';
import {
  ADMIN_KEY,
  startTestSpeech,
  type TestSpeech,
  testdataPath,
  USER_KEY,
} from '../../speech/test/start-test-speech.ts';
import { hasNoOverflow, launchBrowser, openPage, seriousFindings, skipPages } from './browser.ts';

const WIDTHS = [360, 1440];

/** Opens what is folded around a form, sends it, and answers what the page then shows. */
const tryIt = async (page: Page, label: string, fill: (form: ReturnType<Page['locator']>) => Promise<void>) => {
  const form = page.locator(`form[aria-label="${label}"]`);
  await fill(form);
  const answered = page.waitForResponse((response) => response.request().resourceType() === 'fetch');
  await form.getByRole('button', { name: 'Send' }).click();
  const status = (await answered).status();
  await form.locator(`output p:has-text("${status} ")`).waitFor();
  return { status, text: (await form.locator('output pre').textContent()) ?? '' };
};
const asItIs = async (): Promise<void> => undefined;

describe('the reference of speech', { skip: skipPages }, () => {
  let speech: TestSpeech;
  let browser: Browser;
  before(async () => {
    speech = await startTestSpeech({ models: ['offline-transducer'] });
    browser = await launchBrowser();
  });
  after(async () => {
    await browser?.close();
    await speech?.[Symbol.asyncDispose]();
  });

  const unfold = (page: Page, path: string): Promise<void> =>
    page
      .locator(`summary:has(.badge:text-is("${path.split(' ')[0]}")):has(.path:text-is("${path.split(' ')[1]}"))`)
      .click();

  it('sends what a reader enters, with the key, and shows the real answer', async () => {
    const { page, complaints } = await openPage(browser, `${speech.url}/docs`);
    await unfold(page, 'GET /api/v1/models');
    const refused = await tryIt(page, 'Try GET /api/v1/models', asItIs);
    assert.equal(refused.status, 401);
    assert.match(refused.text, /"code": "/);
    await page.fill('#key', USER_KEY);
    const models = await tryIt(page, 'Try GET /api/v1/models', asItIs);
    assert.match(models.text, /"demo-transducer-en"/);
    await unfold(page, 'POST /api/v1/transcribe');
    const { status, text } = await tryIt(page, 'Try POST /api/v1/transcribe', (form) =>
      form.locator('input[type=file]').first().setInputFiles(testdataPath('speech/transfer-digits.wav')),
    );
    assert.equal(status, 200);
    assert.match(text, /"text": "transfer three five seven nine"/);
    await unfold(page, 'GET /api/v1/jobs');
    const jobs = await tryIt(page, 'Try GET /api/v1/jobs', (form) =>
      form.getByLabel('Query').fill('limit=1&state=queued'),
    );
    assert.equal(jobs.status, 200);
    // The key is this tab's, also after it was loaded again.
    await page.reload();
    assert.equal(await page.inputValue('#key'), USER_KEY);
    assert.deepEqual(complaints, []);
    await page.context().close();
  });

  for (const width of WIDTHS) {
    it(`is for all eyes at ${width} px, in either appearance`, async () => {
      for (const colorScheme of ['light', 'dark'] as const) {
        const { page, complaints } = await openPage(
          browser,
          `${speech.url}/docs`,
          { viewport: { width, height: 900 }, colorScheme },
          { 'parley-key': ADMIN_KEY },
        );
        await unfold(page, 'POST /api/v1/transcribe');
        await unfold(page, 'GET /api/v1/models');
        await tryIt(page, 'Try GET /api/v1/models', asItIs);
        assert.deepEqual(await seriousFindings(page), []);
        assert.ok(await hasNoOverflow(page));
        assert.deepEqual(complaints, []);
        await page.context().close();
      }
    });
  }
});

describe('the reference of platform', { skip: skipPages }, () => {
  let platform: TestPlatform;
  let browser: Browser;
  before(async () => {
    platform = await startTestPlatform(undefined, { trusted_proxies: '' });
    browser = await launchBrowser();
  });
  after(async () => {
    await browser?.close();
    await platform?.[Symbol.asyncDispose]();
  });

  const unfold = (page: Page, method: string, path: string): Promise<void> =>
    page.locator(`summary:has(.method:text-is("${method}")):has(.path:text-is("${path}"))`).click();
  const signIn = async (page: Page): Promise<void> => {
    await page.fill('#login', 'admin');
    await page.fill('#pwd', ADMIN_PASSWORD);
    await page.click('#sign-in button');
    await page.waitForSelector('#who:has-text("Administrator (admin) in master")');
  };

  it('sends what a reader enters, with the session, and shows the real answer', async () => {
    const { page, complaints } = await openPage(browser, `${platform.url}/docs`);
    await page.waitForSelector('#tags a');
    await page.fill('#filter', 'projects');
    await page.click('#tags a:text-is("domain/projects")');
    await page.waitForSelector('h2:focus:text-is("domain/projects")');
    await unfold(page, 'GET', '/rest/v1/domain/projects');
    assert.equal((await tryIt(page, 'Try GET /rest/v1/domain/projects', asItIs)).status, 401);
    await signIn(page);
    await unfold(page, 'POST', '/rest/v1/domain/projects');
    const made = await tryIt(page, 'Try POST /rest/v1/domain/projects', (form) =>
      form.getByLabel('Body').fill('{"code": "tried", "name": "Tried from the page"}'),
    );
    assert.equal(made.status, 200);
    assert.match(made.text, /"name": "Tried from the page"/);
    const found = await tryIt(page, 'Try GET /rest/v1/domain/projects', async (form) => {
      await form.getByLabel('filter').fill('{"code": "tried"}');
      await form.getByLabel('mask').fill('name');
    });
    assert.match(found.text, /\[\s*\{\s*"name": "Tried from the page"\s*\}\s*\]/);
    const admin = await platform.signIn('admin', ADMIN_PASSWORD);
    const { body } = await admin.call('GET', 'domain/projects?filter={"code":"tried"}');
    assert.equal(body.length, 1);
    await unfold(page, 'LOOKUP', '/rest/v1/domain/projects!lookup');
    const looked = await tryIt(page, 'Try LOOKUP /rest/v1/domain/projects!lookup', (form) =>
      form.getByLabel('Body').fill('"tried"'),
    );
    assert.ok(looked.text.includes(body[0].id), looked.text);
    assert.deepEqual(
      complaints.filter((text) => !/status of 40[13]/.test(text)),
      [],
    );
    await page.context().close();
  });

  it('takes a token, which goes before the session, and says whose it is', async () => {
    const { page, complaints } = await openPage(browser, `${platform.url}/docs#${encodeURIComponent('user')}`);
    const answer = await platform.guest.call('POST', 'iam/sessions', {
      body: { login: 'admin', pwd: ADMIN_PASSWORD, session_type: 'token' },
    });
    await page.click('summary:has-text("Use a token instead")');
    await page.fill('#token', answer.body.session_token);
    await page.locator('#token').blur();
    await page.waitForSelector('#who:has-text("Administrator (admin) in master")');
    await unfold(page, 'GET', '/rest/v1/user/info');
    const info = await tryIt(page, 'Try GET /rest/v1/user/info', asItIs);
    assert.match(info.text, /"login": "admin"/);
    assert.deepEqual(complaints, []);
    await page.context().close();
  });

  it('has a form for every request that is mounted', async () => {
    const { page } = await openPage(browser, `${platform.url}/docs`);
    await page.waitForSelector('#tags a');
    const { body } = await platform.guest.call('GET', 'openapi.json');
    const mounted = Object.values(body.paths as Record<string, object>).flatMap((methods) =>
      Object.keys(methods),
    ).length;
    let shown = 0;
    for (const name of await page.locator('#tags a').allInnerTexts()) {
      await page.goto(`${platform.url}/docs#${encodeURIComponent(name)}`);
      await page.waitForSelector(`h2:text-is("${name}")`);
      shown += await page.locator('#operations > details').count();
    }
    assert.equal(shown, mounted);
    await page.context().close();
  });

  for (const width of WIDTHS) {
    it(`is for all eyes at ${width} px, in either appearance`, async () => {
      for (const colorScheme of ['light', 'dark'] as const) {
        const { page, complaints } = await openPage(
          browser,
          `${platform.url}/docs#${encodeURIComponent('iam/users')}`,
          {
            viewport: { width, height: 900 },
            colorScheme,
          },
        );
        await page.waitForSelector('h2:text-is("iam/users")');
        assert.deepEqual(await seriousFindings(page), [], 'as a guest');
        await signIn(page);
        await unfold(page, 'POST', '/rest/v1/iam/users');
        await unfold(page, 'GET', '/rest/v1/iam/users');
        await tryIt(page, 'Try GET /rest/v1/iam/users', asItIs);
        assert.deepEqual(await seriousFindings(page), []);
        assert.ok(await hasNoOverflow(page));
        assert.deepEqual(complaints, []);
        await page.context().close();
      }
    });
  }
});
