/**
 * The reference in a real browser (Debian's chromium), against the real service. Runs where `CI_PAGES=1` says that the
 * browser is there. The studio's tests are in packages/web.
 */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { type Browser, chromium, type Page } from 'playwright-core';
import { startTestSpeech, type TestSpeech } from './start-test-speech.ts';

const CHROMIUM = '/usr/bin/chromium';
const skip = process.env.CI_PAGES === '1' && existsSync(CHROMIUM) ? false : 'CI_PAGES is not 1 or chromium is missing';
const QUIET = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

describe('pages', { skip }, () => {
  let speech: TestSpeech;
  let browser: Browser;
  before(async () => {
    speech = await startTestSpeech({ models: ['offline-transducer', 'offline-ctc', 'online-transducer'] });
    browser = await chromium.launch({ executablePath: CHROMIUM, args: QUIET });
  });
  after(async () => {
    await browser?.close();
    await speech?.[Symbol.asyncDispose]();
  });

  /** A page that notes every complaint of the browser and every request to another host. */
  const open = async (path: string, width: number): Promise<{ page: Page; complaints: string[] }> => {
    const context = await browser.newContext({ viewport: { width, height: 800 } });
    const page = await context.newPage();
    const complaints: string[] = [];
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('console', (message) => {
      // A 401 is how the page learns that it needs a key; the browser reports every one.
      if (message.type() === 'error' && !message.text().includes('401')) complaints.push(message.text());
    });
    page.on('request', (request) => {
      if (!request.url().startsWith(speech.url) && !/^(blob|data):/.test(request.url()))
        complaints.push(`asks ${request.url()}`);
    });
    await page.goto(`${speech.url}${path}`);
    return { page, complaints };
  };

  const hasNoOverflow = (page: Page): Promise<boolean> =>
    page.evaluate('document.documentElement.scrollWidth <= document.documentElement.clientWidth');

  for (const width of [360, 1440]) {
    it(`shows /docs without overflow or complaint at ${width} px`, async () => {
      const { page, complaints } = await open('/docs', width);
      await page.waitForLoadState('networkidle');
      assert.ok(await hasNoOverflow(page));
      assert.deepEqual(complaints, []);
      await page.context().close();
    });
  }
});
