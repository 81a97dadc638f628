/**
 * Memory against length: the same speech joined to four minutes and to an hour, in several formats, through the real
 * service. The peak of the whole process tree must not grow with the length. Needs ffmpeg to make the files.
 */
import { execFileSync } from 'node:child_process';
import { openAsBlob } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rolesOf, watchPeak } from './process-tree.ts';
import { createDataDir, KEY, type SoakService, startService, testdata } from './service.ts';

const SHORT_MIN = 4;
const LONG_MIN = 60;
const MAX_GROWTH = 1.3;
const MIB = 2 ** 20;
/** ffmpeg writes `moov` last unless told otherwise. */
const FORMATS: Readonly<Record<string, readonly string[]>> = {
  wav: [],
  mp3: ['-ar', '44100', '-b:a', '128k'],
  ogg: ['-c:a', 'libvorbis', '-ar', '44100'],
  m4a: ['-c:a', 'aac', '-ar', '44100'],
};

const makeFile = (path: string, minutes: number, options: readonly string[]): void => {
  const input = testdata('audio/words.wav');
  execFileSync('ffmpeg', [
    '-v',
    'error',
    '-y',
    '-stream_loop',
    '-1',
    '-i',
    input,
    '-t',
    String(minutes * 60),
    ...options,
    path,
  ]);
};

type Answer = { duration: number; text: string; stats: { processing_ms: number; segments_total: number } };

const transcribe = async (service: SoakService, path: string): Promise<Answer> => {
  const form = new FormData();
  form.append('file', await openAsBlob(path), 'recording');
  form.append('word_timestamps', 'true');
  const response = await fetch(`${service.url}/api/v1/transcribe`, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}` },
    body: form,
  });
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
  return (await response.json()) as Answer;
};

type Measured = { peak: number; answer: Answer; seconds: number };

/** A fresh service for each figure, so that none inherits another's memory. */
const measure = async (path: string, killEngine: boolean): Promise<Measured> => {
  const data = await createDataDir();
  const service = await startService(data.path);
  try {
    const watch = watchPeak(service.pid);
    const startedMs = performance.now();
    const killing = killEngine ? killEngineSoon(service) : undefined;
    const answer = await transcribe(service, path);
    clearInterval(killing);
    return { peak: watch.stop(), answer, seconds: (performance.now() - startedMs) / 1000 };
  } finally {
    await service.stop();
    await data.remove();
  }
};

const killEngineSoon = (service: SoakService): NodeJS.Timeout => {
  let killed = false;
  return setInterval(() => {
    const engine = rolesOf(service.pid).find(({ role }) => role === 'engine');
    if (killed || !engine) return;
    killed = true;
    setTimeout(() => process.kill(engine.pid, 'SIGKILL'), 1500);
  }, 100);
};

/** Prints one row a format; fails when a peak grows by more than 1.3 or a killed engine costs words. */
export const runMemory = async (args: readonly string[]): Promise<void> => {
  const minutes = Number(args[0] ?? LONG_MIN);
  const dir = await mkdtemp(join(tmpdir(), 'parley-soak-files-'));
  let worst = 0;
  let longWav: { path: string; text: string } | undefined;
  try {
    process.stdout.write(`format  ${SHORT_MIN} min MiB  ${minutes} min MiB  ratio  seconds  segments\n`);
    for (const [format, options] of Object.entries(FORMATS)) {
      const [short, long] = [join(dir, `short.${format}`), join(dir, `long.${format}`)];
      makeFile(short, SHORT_MIN, options);
      makeFile(long, minutes, options);
      const a = await measure(short, false);
      const b = await measure(long, false);
      const ratio = b.peak / a.peak;
      worst = Math.max(worst, ratio);
      if (format === 'wav') longWav = { path: long, text: b.answer.text };
      const cells = [
        format.padEnd(6),
        (a.peak / MIB).toFixed(0).padStart(9),
        (b.peak / MIB).toFixed(0).padStart(10),
        ratio.toFixed(2).padStart(6),
        b.seconds.toFixed(1).padStart(8),
        String(b.answer.stats.segments_total).padStart(9),
      ];
      process.stdout.write(`${cells.join('  ')}\n`);
    }
    const killed = await measure(longWav!.path, true);
    const same = killed.answer.text === longWav!.text;
    process.stdout.write(
      `engine killed in the middle of ${minutes} min of wav: ${same ? 'same text' : 'TEXT DIFFERS'}\n`,
    );
    if (worst > MAX_GROWTH || !same) process.exitCode = 1;
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
};
