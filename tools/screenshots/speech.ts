/**
 * The studio's pages, with the fixture models; with `PARLEY_TEST_POCKETSPHINX` (the folder of that model) and
 * `PARLEY_SAMPLE` (a recording) the result shows real speech.
 */
import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import {
  ADMIN_KEY,
  installFixture,
  startTestSpeech,
  type TestSpeech,
  testdataPath,
} from '../../packages/speech/test/start-test-speech.ts';
import { launchBrowser, openPage, waitUntil } from '../../packages/web/test/browser.ts';
import { type Capture, LOOKS, type Look, nameOf, type Scene } from './scene.ts';

const { PARLEY_TEST_POCKETSPHINX: pocketsphinx = '', PARLEY_SAMPLE: sample = '' } = process.env;
const RECORDINGS = ['transfer-digits', 'account-balance', 'close-menu', 'hello-operator'];
const POCKETSPHINX_ID = 'pocketsphinx-en-us';

export const captureSpeech = async (capture: Capture): Promise<void> => {
  const dataDir = await mkdtemp(join(tmpdir(), 'parley-screens-'));
  await mkdir(join(dataDir, 'models'));
  if (pocketsphinx !== '') {
    await cp(pocketsphinx, join(dataDir, 'models', basename(pocketsphinx)), { recursive: true });
    await installFixture(dataDir, 'punct');
  }
  const speech = await startTestSpeech({
    dataDir,
    models: ['offline-transducer', 'offline-ctc', 'online-transducer', 'diarization'],
  });
  const browser = await launchBrowser(testdataPath('speech/transfer-sales-wait.wav'));
  try {
    await fillJobs(speech, browser);
    for (const look of LOOKS) {
      for (const scene of scenesOf()) {
        if (capture.isWanted(nameOf(scene.name, look))) await shootScene(capture, browser, speech, scene, look);
      }
    }
  } finally {
    await browser.close();
    await speech[Symbol.asyncDispose]();
    await rm(dataDir, { recursive: true, force: true });
  }
};

const shootScene = async (capture: Capture, browser: Browser, { url }: TestSpeech, scene: Scene, look: Look) => {
  const { width, theme } = look;
  const height = width > 1000 ? (scene.height ?? look.height) : look.height;
  const { page, complaints } = await openPage(
    browser,
    `${url}${scene.base ?? '/ui'}${scene.path}`,
    { viewport: { width, height }, colorScheme: theme },
    { 'parley-key': ADMIN_KEY },
  );
  await page.waitForLoadState('networkidle');
  await scene.prepare?.(page);
  await capture.shoot(page, nameOf(scene.name, look));
  await page.context().close();
  if (complaints.length > 0) throw new Error(`${scene.name}: ${complaints.join('\n')}`);
};

const scenesOf = (): Scene[] => [
  { name: 'transcribe', path: '' },
  { name: 'result', path: '', prepare: showSpeakers },
  ...(sample === '' ? [] : [{ name: 'sample', path: '', prepare: showSample, height: 590 }]),
  { name: 'live', path: '/live', prepare: speak },
  { name: 'jobs', path: '/jobs' },
  { name: 'models', path: '/models' },
  { name: 'catalog', path: '/models', prepare: (page) => page.click('.segmented button:last-child') },
  { name: 'settings', path: '/settings' },
  { name: 'key', path: '/jobs', prepare: (page) => page.click('header button[aria-label="API key"]') },
  { name: 'docs', base: '', path: '/docs' },
  { name: 'docs-try', base: '', path: '/docs', prepare: tryRequest },
];

/** Goes to a word and stops there, so that it is marked. */
const stopAtWord = async (page: Page, at: number): Promise<void> => {
  await page.waitForSelector('.waveform canvas');
  await page.locator('.word').nth(at).click();
  await page.waitForSelector('.word[data-now]');
  await page.evaluate('document.querySelector("audio").pause()');
};

const showSpeakers = async (page: Page): Promise<void> => {
  await page.check('label:has-text("Tell speakers apart")');
  await page.selectOption('label:has-text("Number of speakers") + select', '2');
  await page.setInputFiles('input[type=file]', testdataPath('audio/two-voices.wav'));
  await page.waitForSelector('.word');
  await page.locator('.speakers input').first().fill('Ann');
  await stopAtWord(page, 3);
};

const showSample = async (page: Page): Promise<void> => {
  await page.selectOption('label:has-text("Model") + select', POCKETSPHINX_ID);
  await page.setInputFiles('input[type=file]', sample);
  await page.waitForSelector('.word', { timeout: 120_000 });
  await stopAtWord(page, 9);
};

const speak = async (page: Page): Promise<void> => {
  await page.click('button.record');
  await page.waitForSelector('.live [data-final=true]', { timeout: 60_000 });
  await page.waitForSelector('.live [data-final=false]', { timeout: 60_000 });
};

/** Jobs of every kind: done, cancelled, failed. */
const fillJobs = async (speech: TestSpeech, browser: Browser): Promise<void> => {
  const { page } = await openPage(browser, `${speech.url}/ui`, {}, { 'parley-key': ADMIN_KEY });
  await page.waitForLoadState('networkidle');
  const broken = { name: 'interrupted.flac', mimeType: 'audio/flac', buffer: Buffer.from('fLaC, but no more') };
  await page.setInputFiles(
    'input[type=file]',
    RECORDINGS.map((name) => testdataPath(`speech/${name}.wav`)),
  );
  await waitUntil(page, `document.querySelectorAll('.submission .badge.good').length === ${RECORDINGS.length}`);
  await page.setInputFiles('input[type=file]', broken);
  await page.waitForSelector('.badge.bad');
  await page.context().close();
};

const tryRequest = async (page: Page): Promise<void> => {
  await page.locator('summary:has(.path:text-is("/api/v1/transcribe"))').click();
  const form = page.locator('form[aria-label="Try POST /api/v1/transcribe"]');
  await form.locator('input[type=file]').setInputFiles(testdataPath('speech/transfer-digits.wav'));
  await form.getByRole('button', { name: 'Send' }).click();
  await form.locator('output pre:has-text("transfer")').waitFor();
  await form.getByRole('button', { name: 'Send' }).scrollIntoViewIfNeeded();
};
