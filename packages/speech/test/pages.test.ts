/**
 * The pages in a real browser (Debian's chromium), against the real service. Runs where `CI_PAGES=1` says that the
 * browser is there.
 */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { type Browser, chromium, type Page } from 'playwright-core';
import { startTestSpeech, type TestSpeech, testdataPath, USER_KEY } from './start-test-speech.ts';

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

/** Keeps every text that the live part shows. */
const NOTE_PARTIALS = `
  window.partials = [];
  new MutationObserver(() => {
    const text = document.querySelector('#live').innerText;
    if (text !== window.partials.at(-1)) window.partials.push(text);
  }).observe(document.querySelector('#live'), { childList: true, subtree: true, characterData: true });
`;

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

  it('transcribes a file, asks for the key on the first refusal, and plays the word that is clicked', async () => {
    const { page, complaints } = await open('/ui', 1100);
    await page.setInputFiles('#file', testdataPath('speech/transfer-digits.wav'));
    await page.click('#start');
    await page.waitForSelector('#key-dialog[open]');
    await page.fill('#key', USER_KEY);
    await page.click('#key-form button[value=save]');
    await page.waitForSelector('#result:not([hidden])');
    const words = page.locator('#segments button');
    assert.deepEqual(
      (await words.allInnerTexts()).slice(-5).map((text) => text.trim()),
      ['transfer', 'three', 'five', 'seven', 'nine'],
    );
    await words.last().click();
    await page.waitForFunction('document.querySelector("#audio").currentTime > 1');
    assert.deepEqual(complaints, []);
    await page.context().close();
  });

  it('writes down what is said into the microphone while it is said', async () => {
    // Chromium's fake microphone plays the file over and over.
    const speaking = await chromium.launch({
      executablePath: CHROMIUM,
      args: [
        ...QUIET,
        '--use-fake-ui-for-media-stream',
        '--use-fake-device-for-media-stream',
        `--use-file-for-fake-audio-capture=${testdataPath('speech/cancel-payment.wav')}`,
      ],
    });
    try {
      const page = await speaking.newPage();
      await page.goto(`${speech.url}/ui`);
      await page.evaluate(`sessionStorage.setItem('parley-key', '${USER_KEY}')`);
      await page.evaluate(NOTE_PARTIALS);
      await page.click('#speak');
      await page.waitForSelector('#live li[data-done]', { timeout: 60_000 });
      const said = await page.locator('#live li[data-done]').first().textContent();
      const partials = (await page.evaluate('window.partials')) as string[];
      await page.click('#speak');
      assert.match(said ?? '', /cancel|payment|goodbye/);
      assert.ok(partials.length > 1, `only ${partials.length} texts before the last: ${partials.join(' | ')}`);
      assert.equal(await page.textContent('#fault'), '');
    } finally {
      await speaking.close();
    }
  });

  for (const path of ['/ui', '/docs']) {
    for (const width of [360, 1440]) {
      it(`shows ${path} without overflow or complaint at ${width} px`, async () => {
        const { page, complaints } = await open(path, width);
        await page.waitForLoadState('networkidle');
        assert.ok(await hasNoOverflow(page));
        assert.deepEqual(complaints, []);
        await page.context().close();
      });
    }
  }
});
