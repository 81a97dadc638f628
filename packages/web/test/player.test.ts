/** MP3 in the result page: measured piece by piece, drawn as the same sound in WAV is, and heard from the word that is clicked. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { ADMIN_KEY, startTestSpeech, type TestSpeech, testdataPath } from '../../speech/test/start-test-speech.ts';
import { launchBrowser, openPage, skipPages, waitUntil } from './browser.ts';

const WORDS = ['transfer', 'three', 'five', 'sales', 'balance'];
/** What the page reads at once. */
const PIECE_BYTES = 2 ** 21;
const ID3V1_BYTES = 128;

/** How high the drawing stands in each of so many strips, 0 to 1. */
const heightsOf = (page: Page, strips: number): Promise<number[]> =>
  page.evaluate(`{
    const canvases = [...document.querySelector('.waveform > div').shadowRoot.querySelectorAll('.canvases canvas')];
    const columns = canvases.flatMap((canvas) => {
      const { width, height } = canvas;
      const { data } = canvas.getContext('2d').getImageData(0, 0, width, height);
      return Array.from({ length: width }, (_, x) => {
        let inked = 0;
        for (let y = 0; y < height; y += 1) if (data[(y * width + x) * 4 + 3] > 0) inked += 1;
        return inked / height;
      });
    });
    const per = columns.length / ${strips};
    Array.from({ length: ${strips} }, (_, at) => Math.max(...columns.slice(Math.floor(at * per), Math.floor((at + 1) * per))));
  }`);

describe('MP3 in the studio', { skip: skipPages }, () => {
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

  type Recording = string | { name: string; mimeType: string; buffer: Buffer };

  /** Transcribes it and waits for its drawing. */
  const show = async (recording: Recording) => {
    const opened = await openPage(
      browser,
      `${speech.url}/ui`,
      { viewport: { width: 1200, height: 900 } },
      { 'parley-key': ADMIN_KEY },
    );
    await opened.page.setInputFiles('input[type=file]', recording);
    await opened.page.waitForSelector('.word', { timeout: 120_000 });
    await opened.page.waitForSelector('.waveform canvas');
    return opened;
  };

  it('is drawn as the same sound in WAV is, and played from the word that is clicked', async () => {
    const drawn: number[][] = [];
    for (const name of ['words.wav', 'words.mp3']) {
      const { page, complaints } = await show(testdataPath(`audio/${name}`));
      drawn.push(await heightsOf(page, 24));
      assert.deepEqual(await page.locator('.word').allInnerTexts(), WORDS, name);
      await page.locator('.word').nth(1).click();
      await waitUntil(page, `document.querySelector('audio').currentTime > 0`);
      await page.waitForSelector(`.word[data-now]:text("${WORDS.at(-1)}")`);
      assert.deepEqual(complaints, []);
      await page.context().close();
    }
    const [wav = [], mp3 = []] = drawn;
    assert.ok(Math.max(...wav) > 0.9 && Math.min(...wav) < 0.3, wav.join(' '));
    const away = wav.map((height, at) => Math.abs(height - mp3[at]!));
    assert.ok(away.reduce((sum, each) => sum + each, 0) / away.length < 0.12, `${wav.join(' ')}\n${mp3.join(' ')}`);
  });

  it('is drawn when its last piece holds a tag and no sound', async () => {
    const sound = (await readFile(testdataPath('audio/words.mp3'))).subarray(45);
    const times = Math.ceil(PIECE_BYTES / sound.length);
    // Filled up to a whole piece with what is no frame, so that the tag stands alone in the next.
    const filled = Buffer.alloc(PIECE_BYTES);
    Buffer.concat(Array.from({ length: times }, () => sound)).copy(filled, 0, 0, PIECE_BYTES);
    const tag = Buffer.alloc(ID3V1_BYTES);
    tag.write('TAGWords');
    const buffer = Buffer.concat([filled, tag]);
    const { page, complaints } = await show({ name: 'long.mp3', mimeType: 'audio/mpeg', buffer });
    const heights = await heightsOf(page, 20);
    assert.ok(Math.min(...heights) > 0.5, heights.join(' '));
    await page.locator('.word').nth(1).click();
    await waitUntil(page, `!document.querySelector('audio').paused && document.querySelector('audio').currentTime > 0`);
    assert.deepEqual(complaints, []);
    await page.context().close();
  });
});
