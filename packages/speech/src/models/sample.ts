/**
 * A real recording to try Parley with: a public-domain LibriVox clip out of Debian's `pocketsphinx-testdata`, fetched
 * without root like the Debian model.
 */
import { copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { exists, openApt } from './apt.ts';
import { aptDirOf, type DebianOptions } from './debian.ts';
import { DownloadFault } from './fault.ts';

export type Sample = {
  /** A 16 kHz mono wav. */
  readonly path: string;
  /** What is said in it. */
  readonly reference: string;
};

const PACKAGE = 'pocketsphinx-testdata';
const FOLDER = 'usr/share/pocketsphinx/test/data/librivox';
const CLIP = 'sense_and_sensibility_01_austen_64kb-0870';
const SAMPLE_FILE = 'sample.wav';
const REFERENCE_FILE = 'sample.txt';

/** `<s> words of it </s> (name)` → `words of it`. */
export const readReference = (transcription: string, clip: string): string | undefined =>
  transcription
    .split('\n')
    .find((line) => line.includes(`(${clip})`))
    ?.replace(/\([^)]*\)\s*$/, '')
    .replace(/<\/?s>/g, '')
    .trim();

/**
 * Puts `sample.wav` and `sample.txt` into `dir` unless they lie there, and resolves with them. Throws DownloadFault:
 * unsupported_system, unreachable, not_found.
 */
export const fetchSample = async (dir: string, options: DebianOptions): Promise<Sample> => {
  const path = join(dir, SAMPLE_FILE);
  const referencePath = join(dir, REFERENCE_FILE);
  if ((await exists(path)) && (await exists(referencePath))) {
    return { path, reference: (await readFile(referencePath, 'utf8')).trim() };
  }
  await mkdir(dir, { recursive: true });
  const unpacked = join(dir, '.sample-packages');
  try {
    await using apt = await openApt([PACKAGE], { ...options, dir: aptDirOf(options.dataDir) });
    await apt.unpack([PACKAGE], unpacked);
    const folder = join(unpacked, FOLDER);
    const reference = readReference(await readFile(join(folder, 'transcription'), 'utf8').catch(() => ''), CLIP);
    if (!reference) throw new DownloadFault('not_found', `${PACKAGE} does not hold the recording where it used to be.`);
    await copyFile(join(folder, `${CLIP}.wav`), path);
    await writeFile(referencePath, `${reference}\n`);
    return { path, reference };
  } finally {
    await rm(unpacked, { recursive: true, force: true });
  }
};
