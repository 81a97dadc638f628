/**
 * `npm run bench:studio`: a recording of an hour and three quarters (10,000 words) in the studio. Plays it at double speed
 * and prints frames, the work they took, and memory at the beginning, after playing and after going through all of it.
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CDPSession, Page } from 'playwright-core';
import { ADMIN_KEY, startTestSpeech, testdataPath } from '../packages/speech/test/start-test-speech.ts';
import { launchBrowser, openPage } from '../packages/web/test/browser.ts';

/** Five words each. */
const REPETITIONS = 2000;
const PLAYED_SEC = 10;
const SCROLLS = 60;
/** A frame that took longer than two of 60 a second was dropped. */
const DROPPED_MS = 34;

type Figures = {
  readonly taskSec: number;
  readonly scriptSec: number;
  readonly heapMb: number;
  readonly nodes: number;
};

const writeRecording = async (path: string): Promise<void> => {
  const wav = await readFile(testdataPath('speech/transfer-digits.wav'));
  const at = wav.indexOf('data') + 8;
  const sound = wav.subarray(at);
  const head = Buffer.from(wav.subarray(0, at));
  head.writeUInt32LE(at - 8 + sound.length * REPETITIONS, 4);
  head.writeUInt32LE(sound.length * REPETITIONS, at - 4);
  await writeFile(path, Buffer.concat([head, ...Array.from({ length: REPETITIONS }, () => sound)]));
};

const figuresOf = async (devtools: CDPSession): Promise<Figures> => {
  await devtools.send('HeapProfiler.collectGarbage');
  const { metrics } = await devtools.send('Performance.getMetrics');
  const of = (name: string): number => metrics.find((one) => one.name === name)?.value ?? 0;
  return {
    taskSec: of('TaskDuration'),
    scriptSec: of('ScriptDuration'),
    heapMb: of('JSHeapUsedSize') / 1e6,
    nodes: of('Nodes'),
  };
};

/** Plays from a word and tells how long each frame took, ms. */
const playFrames = (page: Page): Promise<number[]> =>
  page.evaluate(`new Promise((resolve) => {
    const audio = document.querySelector('audio');
    audio.playbackRate = 2;
    audio.currentTime = 1800;
    audio.play();
    const frames = [];
    let before = performance.now();
    const end = before + ${PLAYED_SEC * 1000};
    const look = (now) => {
      frames.push(now - before);
      before = now;
      if (now < end) requestAnimationFrame(look);
      else { audio.pause(); resolve(frames.slice(1)); }
    };
    requestAnimationFrame(look);
  })`);

/** Goes through the whole transcript. */
const scrollThrough = async (page: Page): Promise<void> => {
  for (let step = 0; step <= SCROLLS; step += 1) {
    await page.evaluate(`new Promise((resolve) => {
      const frame = document.querySelector('.transcript');
      frame.scrollTop = (frame.scrollHeight * ${step}) / ${SCROLLS};
      requestAnimationFrame(() => requestAnimationFrame(resolve));
    })`);
  }
};

const print = (label: string, value: string): void => void process.stdout.write(`${label.padEnd(38)} ${value}\n`);

const run = async (folder: string): Promise<void> => {
  const recording = join(folder, 'long.wav');
  await writeRecording(recording);
  await using speech = await startTestSpeech({ models: ['offline-transducer'] });
  const browser = await launchBrowser();
  try {
    const { page } = await openPage(
      browser,
      `${speech.url}/ui`,
      { viewport: { width: 1280, height: 900 } },
      { 'parley-key': ADMIN_KEY },
    );
    const devtools = await page.context().newCDPSession(page);
    await devtools.send('Performance.enable');
    await page.setInputFiles('input[type=file]', recording);
    await page.waitForSelector('.word', { timeout: 300_000 });
    await page.waitForSelector('.waveform canvas');
    const begun = await figuresOf(devtools);
    const frames = (await playFrames(page)).sort((a, b) => a - b);
    const played = await figuresOf(devtools);
    await scrollThrough(page);
    const walked = await figuresOf(devtools);
    const at = (share: number): string => `${frames[Math.floor(frames.length * share)]!.toFixed(1)} ms`;
    print('frames in 10 s of playing', String(frames.length));
    print('frame, median / 95 % / longest', `${at(0.5)} / ${at(0.95)} / ${frames.at(-1)!.toFixed(1)} ms`);
    print('frames dropped', String(frames.filter((ms) => ms > DROPPED_MS).length));
    print(
      'script / all work a second of playing',
      `${(((played.scriptSec - begun.scriptSec) / PLAYED_SEC) * 1000).toFixed(0)} / ${(((played.taskSec - begun.taskSec) / PLAYED_SEC) * 1000).toFixed(0)} ms`,
    );
    print(
      'heap shown / played / walked through',
      `${[begun, played, walked].map(({ heapMb }) => heapMb.toFixed(1)).join(' / ')} MB`,
    );
    print('nodes shown / played / walked through', [begun, played, walked].map(({ nodes }) => nodes).join(' / '));
    print('words in the document at once', String(await page.locator('.word').count()));
  } finally {
    await browser.close();
  }
};

const folder = await mkdtemp(join(tmpdir(), 'parley-bench-'));
try {
  await run(folder);
} finally {
  await rm(folder, { recursive: true, force: true });
}
