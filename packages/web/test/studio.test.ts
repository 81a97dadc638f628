/** The studio in a real browser, against the real service with the fixture models. */
import assert from 'node:assert/strict';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { catalogText, packFixture, startFiles } from '../../speech/test/model-api-stage.ts';
import type { Host } from '../../speech/test/models-host.ts';
import {
  ADMIN_KEY,
  type FixtureModel,
  startTestSpeech,
  type TestSpeech,
  testdataPath,
  USER_KEY,
} from '../../speech/test/start-test-speech.ts';
import {
  hasNoOverflow,
  launchBrowser,
  type Opened,
  openPage,
  seriousFindings,
  skipPages,
  waitUntil,
} from './browser.ts';

const DIGITS = testdataPath('speech/transfer-digits.wav');
const ADMIN = { 'parley-key': ADMIN_KEY };
const PLACES = ['', '/live', '/jobs', '/models', '/settings'];

const wordsOf = (page: Page): Promise<string[]> => page.locator('.word').allInnerTexts();
const numberOf = (page: Page, script: string): Promise<number> => page.evaluate(script);

describe('the studio', { skip: skipPages }, () => {
  let speech: TestSpeech;
  let browser: Browser;
  let host: Host;
  let folder: string;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-studio-'));
    const packed = await packFixture('punct', { id: 'more-punctuation', display_name: 'More punctuation' });
    host = await startFiles({ '/model.tar.gz': packed.bytes });
    await writeFile(join(folder, 'catalog.json'), catalogText([packed.entry(`${host.url}/model.tar.gz`)]));
    const dataDir = join(folder, 'data');
    await installAgain(dataDir, 'offline-ctc', '2026-12-01');
    speech = await startTestSpeech({
      dataDir,
      models: ['offline-transducer', 'offline-ctc', 'online-transducer', 'diarization'],
      settings: { 'registry.allow_download': 'true', 'registry.catalog_url': join(folder, 'catalog.json') },
    });
    browser = await launchBrowser();
  });
  after(async () => {
    await browser?.close();
    await speech?.[Symbol.asyncDispose]();
    await host?.[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  const open = (path: string, width = 1200, storage: Readonly<Record<string, string>> = ADMIN): Promise<Opened> =>
    openPage(browser, `${speech.url}/ui${path}`, { viewport: { width, height: 900 } }, storage);

  /** Drops a recording and waits for its words. */
  const transcribe = async (page: Page, file = DIGITS): Promise<void> => {
    await page.setInputFiles('input[type=file]', file);
    await page.waitForSelector('.word');
  };

  it('asks for the key once, transcribes a file and plays from the word that is clicked', async () => {
    const { page, complaints } = await open('', 1200, {});
    await page.fill('dialog input', USER_KEY);
    await page.click('dialog button[type=submit]');
    await page.waitForSelector('dialog', { state: 'detached' });
    await transcribe(page);
    assert.deepEqual(await wordsOf(page), ['transfer', 'three', 'five', 'seven', 'nine']);
    await page.waitForSelector('.waveform canvas');
    const record = await (await speech.fetch(`/api/v1${new URL(page.url()).pathname.replace('/ui', '')}`)).json();
    const { start } = (record as { result: { segments: { words: { start: number }[] }[] } }).result.segments[0]!
      .words[3]!;
    await page.locator('.word').nth(3).click();
    await waitUntil(page, `document.querySelector('audio').currentTime >= ${start}`);
    // The mark follows what is heard, and what is heard ends with the last word.
    await page.waitForSelector('.word[data-now]:text("nine")');
    assert.ok((await numberOf(page, 'document.querySelector("audio").currentTime')) < start + 2);
    assert.deepEqual(complaints, []);
    await page.context().close();
  });

  it('walks, corrects and searches with the keyboard, and exports what was corrected with its times', async () => {
    const { page, complaints } = await open('');
    await transcribe(page);
    await page.focus('.transcript');
    await page.keyboard.press('Enter');
    await page.waitForSelector('.word:focus:text("transfer")');
    await page.keyboard.press('ArrowRight');
    await page.waitForSelector('.word:focus:text("three")');
    await page.keyboard.press('F2');
    await page.waitForSelector('.word-editor:focus');
    await page.keyboard.type('thirty');
    await page.keyboard.press('Enter');
    await page.waitForSelector('.word.edited:focus:text("thirty")');
    await page.fill('input[type=search]', 'thirty five');
    await page.waitForSelector('.word.found:text("five")');
    assert.equal(await page.textContent('.search output'), '1 of 1');
    const download = page.waitForEvent('download');
    await page.click('.exports button:has-text("SRT")');
    const text = await streamText(await (await download).createReadStream());
    const corrected = await (
      await speech.fetch(`/api/v1${new URL(page.url()).pathname.replace('/ui', '')}?response_format=srt`, {
        key: ADMIN_KEY,
      })
    ).text();
    assert.equal(text, corrected.replace('three', 'thirty'));
    // Corrections are this browser's; they are there after a reload, when the recording is not.
    await page.reload();
    await page.waitForSelector('.word.edited:text("thirty")');
    await page.waitForSelector('label:has-text("Choose the recording")');
    assert.deepEqual(complaints, []);
    await page.context().close();
  });

  it('takes several recordings that are dropped, one after the other', async () => {
    const { page, complaints } = await open('');
    const dropped = await Promise.all(
      ['hello-operator', 'cancel-payment'].map(async (name) => ({
        name: `${name}.wav`,
        base64: (await readFile(testdataPath(`speech/${name}.wav`))).toString('base64'),
      })),
    );
    await page.evaluate(`{
      const transfer = new DataTransfer();
      for (const { name, base64 } of ${JSON.stringify(dropped)}) {
        transfer.items.add(new File([Uint8Array.fromBase64(base64)], name, { type: 'audio/wav' }));
      }
      document.body.dispatchEvent(new DragEvent('drop', { dataTransfer: transfer, bubbles: true, cancelable: true }));
    }`);
    await page.waitForSelector('.submission:has-text("hello-operator.wav") .preview:text("hello operator")');
    await page.waitForSelector('.submission:has-text("cancel-payment.wav") .preview:text("cancel payment goodbye")');
    await page.click('button[aria-label="Take off the list: hello-operator.wav"]');
    await waitUntil(page, 'document.querySelectorAll(".submission").length === 1');
    assert.deepEqual(complaints, []);
    await page.context().close();
  });

  it('names speakers, on the page and in what is saved', async () => {
    const { page, complaints } = await open('');
    await page.check('label:has-text("Tell speakers apart")');
    await page.selectOption('label:has-text("Number of speakers") + select', '2');
    await transcribe(page, testdataPath('audio/two-voices.wav'));
    const names = page.locator('.speakers input');
    assert.equal(await names.count(), 2);
    await names.first().fill('Ann');
    await page.waitForSelector('.speaker-name:text("Ann")');
    const download = page.waitForEvent('download');
    await page.click('.exports button:has-text("VTT")');
    assert.match(await streamText(await (await download).createReadStream()), /<v Ann>/);
    assert.deepEqual(complaints, []);
    await page.context().close();
  });

  it('writes down what is said into the microphone while it is said, and then transcribes the recording', async () => {
    const speaking = await launchBrowser(testdataPath('speech/cancel-payment.wav'));
    try {
      const { page, complaints } = await openPage(speaking, `${speech.url}/ui/live`, {}, ADMIN);
      await page.evaluate(`
        window.partials = [];
        new MutationObserver(() => window.partials.push(document.querySelector('.live').innerText)).observe(
          document.querySelector('.live'), { childList: true, subtree: true, characterData: true });
      `);
      await page.click('button.record');
      await page.waitForSelector('.live [data-final=true]', { timeout: 60_000 });
      const said = (await page.locator('.live [data-final=true]').first().textContent()) ?? '';
      assert.match(said, /cancel|payment|goodbye/);
      const partials = (await page.evaluate('window.partials')) as string[];
      assert.ok(new Set(partials).size > 2, `only these before the last: ${partials.join(' | ')}`);
      await page.click('button.record');
      await page.click('button:has-text("Transcribe this recording")');
      await page.waitForSelector('.word');
      assert.deepEqual(complaints, []);
    } finally {
      await speaking.close();
    }
  });

  it('follows a job while the page is reloaded', async () => {
    const { page, complaints } = await open('');
    // Long enough to be under way still when the page comes back.
    const long = join(folder, 'long.wav');
    await writeFile(long, await repeated(DIGITS, 500));
    await page.setInputFiles('input[type=file]', long);
    await page.waitForURL('**/ui/jobs/job_*');
    await page.waitForSelector('.job-progress');
    await page.reload();
    await page.waitForSelector('.job-progress');
    await waitUntil(page, `/%/.test(document.querySelector('.job-progress')?.innerText ?? '100 %')`);
    await page.waitForSelector('.word', { timeout: 120_000 });
    assert.equal(await page.textContent('.page-title .badge'), 'Done');
    // A long transcript keeps few of its words in the document.
    assert.ok((await page.locator('.word').count()) < 1500);
    assert.deepEqual(complaints, []);
    await page.context().close();
  });

  it('lists jobs, filters them, and cancels one', async () => {
    const { page, complaints } = await open('');
    const long = join(folder, 'cancel-me.wav');
    await writeFile(long, await repeated(DIGITS, 600));
    await page.setInputFiles('input[type=file]', long);
    await page.waitForSelector('.job-progress');
    await page.click('nav a:has-text("Jobs")');
    await page.click('button[aria-label="Cancel cancel-me.wav"]');
    await page.waitForSelector('tr:has-text("cancel-me.wav") .badge:text("Cancelled")');
    await page.selectOption('label:has-text("State") + select', 'canceled');
    await waitUntil(page, 'document.querySelectorAll("tbody tr").length === 1');
    assert.deepEqual(complaints, []);
    await page.context().close();
  });

  it('downloads a model, pins one and lets it go', async () => {
    const { page, complaints } = await open('/models');
    await page.click('button:text("Catalog")');
    await page.click('button[aria-label="Download: More punctuation"]');
    await page.waitForSelector('.notice:has-text("More punctuation is installed.")');
    await page.click('button:text("Installed")');
    await page.waitForSelector('.model:has-text("More punctuation")');
    const card = page.locator('.model', { hasText: 'demo-ctc-en@2026-12-01' });
    await card.locator('button:text("Pin")').click();
    await card.locator('.badge:text("Pinned")').waitFor();
    await card.locator('button:text("Unload")').click();
    await page.click('dialog button.danger');
    await card.locator('.badge:text("On disk")').waitFor();
    assert.deepEqual(complaints, []);
    await page.context().close();
  });

  it('swaps in another revision of a model', async () => {
    const { page, complaints } = await open('/models');
    const serving = page.locator('.model', { hasText: 'demo-ctc-en@2026-11-21' });
    await serving.locator('button:text("Swap")').click();
    await page.selectOption('dialog select', '2026-12-01');
    await page.click('dialog button[type=submit]');
    await page.locator('.model', { hasText: 'demo-ctc-en@2026-12-01' }).locator('.badge:text("In memory")').waitFor();
    assert.deepEqual(complaints, []);
    await page.context().close();
  });

  it('transcribes a recording again with another model', async () => {
    const { page, complaints } = await open('');
    await transcribe(page);
    const first = page.url();
    await page.click('button:text("Transcribe again")');
    await page.selectOption('dialog select', 'demo-ctc-en');
    await page.click('dialog button[type=submit]');
    await page.waitForURL((url) => url.href !== first && url.href.includes('/ui/jobs/'));
    await page.waitForSelector('.facts .badge:text("demo-ctc-en@")');
    await page.waitForSelector('.waveform canvas');
    assert.deepEqual(complaints, []);
    await page.context().close();
  });

  it('shows the settings to administrators only', async () => {
    const { page } = await open('/settings');
    await page.fill('input[type=search]', 'asr.default_model');
    await page.waitForSelector('tr:has-text("demo-transducer-en")');
    await page.context().close();
    const other = await open('/settings', 1200, { 'parley-key': USER_KEY });
    await other.page.waitForSelector('.warning-box');
    assert.deepEqual(other.complaints, []);
    await other.page.context().close();
  });

  for (const width of [360, 1440]) {
    it(`has no overflow, no complaint and no serious finding of axe at ${width} px, in either appearance`, async () => {
      const { page, complaints } = await open('', width);
      await transcribe(page);
      await page.waitForSelector('.waveform canvas');
      assert.deepEqual(await seriousFindings(page), [], 'with the waveform');
      const result = new URL(page.url()).pathname.replace('/ui', '');
      for (const place of [...PLACES, result]) {
        await page.goto(`${speech.url}/ui${place}`);
        await page.waitForLoadState('networkidle');
        // Colours are the same at every width.
        for (const theme of width === 360 ? ['light'] : ['light', 'dark']) {
          await page.evaluate(`document.documentElement.dataset.theme = '${theme}'`);
          assert.deepEqual(await seriousFindings(page), [], `${place} ${theme}`);
        }
        assert.ok(await hasNoOverflow(page), place);
      }
      assert.deepEqual(complaints, []);
      await page.context().close();
    });
  }

  it('speaks Russian to those who do, and remembers the choice', async () => {
    const { page } = await openPage(browser, `${speech.url}/ui`, { locale: 'ru-RU' }, ADMIN);
    await page.waitForSelector('h1:text("Расшифровка записей")');
    await page.click('.language-button');
    await page.waitForSelector('h1:text("Transcribe recordings")');
    await page.reload();
    await page.waitForSelector('h1:text("Transcribe recordings")');
    await page.context().close();
  });

  it('loads less than 300 kB at first, compressed', async () => {
    const { page } = await openPage(browser, 'about:blank');
    let bytes = 0;
    const network = await page.context().newCDPSession(page);
    await network.send('Network.enable');
    network.on('Network.loadingFinished', ({ encodedDataLength }) => {
      bytes += encodedDataLength;
    });
    await page.goto(`${speech.url}/ui`);
    await page.waitForLoadState('networkidle');
    assert.ok(bytes > 10_000 && bytes < 300_000, `${bytes} bytes`);
    await page.context().close();
  });
});

/** Another revision of a fixture model, beside the first. */
const installAgain = async (dataDir: string, fixture: FixtureModel, revision: string): Promise<void> => {
  const manifest = JSON.parse(await readFile(testdataPath(`models/${fixture}/model.json`), 'utf8')) as { id: string };
  const place = join(dataDir, 'models', `${manifest.id}@${revision}`);
  await cp(testdataPath(`models/${fixture}`), place, { recursive: true });
  await writeFile(join(place, 'model.json'), JSON.stringify({ ...manifest, revision }));
};

const streamText = async (stream: NodeJS.ReadableStream): Promise<string> => {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks).toString('utf8');
};

/** The sound of a WAV file so many times over. */
const repeated = async (path: string, times: number): Promise<Buffer> => {
  const wav = await readFile(path);
  const at = wav.indexOf('data') + 8;
  const sound = wav.subarray(at);
  const head = Buffer.from(wav.subarray(0, at));
  head.writeUInt32LE(at - 8 + sound.length * times, 4);
  head.writeUInt32LE(sound.length * times, at - 4);
  return Buffer.concat([head, ...Array.from({ length: times }, () => sound)]);
};
