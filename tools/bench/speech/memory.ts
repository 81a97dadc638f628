/** Memory against length: the media process by format, and the whole service by length of one recording. */
import { join } from 'node:path';
import { startMedia } from '../../../packages/speech/src/audio/media.ts';
import { treePss } from '../../soak/process-tree.ts';
import { testdata } from '../../soak/service.ts';
import type { BenchContext, BenchPart, BenchRow } from '../part.ts';
import { MEDIA } from './bare.ts';
import { peakMib, pidsOf } from './processes.ts';
import { FORMATS, writeCoded, writeWav } from './recordings.ts';
import { startBenchService } from './service.ts';

const MOST_MEDIA_MB = 250;
const MOST_GROWTH = 1.3;
const MIB = 2 ** 20;
const LOOK_MS = 250;
/** What else testdata has: short, but each has a decoder of its own. */
const OTHERS = ['words.ogg', 'words.webm', 'words.aac', 'words.wma', 'words.amr', 'words-ima.wav'];

/** Most memory of a fresh media process that reads the file from end to end, MiB. */
const mediaPeak = async (path: string, signal: AbortSignal): Promise<number> => {
  const log = { info: () => undefined, warn: () => undefined };
  await using media = startMedia({ processes: 1, log });
  const stream = media.open(path, MEDIA, signal);
  for await (const segment of stream.segments) void segment;
  await stream.summary;
  return peakMib(media.pids()[0]!);
};

const measureMedia = async ({ folder, quick, log, signal }: BenchContext): Promise<BenchRow> => {
  const seconds = quick ? 300 : 3600;
  const peaks: { readonly what: string; readonly mib: number }[] = [];
  const take = async (what: string, path: string): Promise<void> => {
    const mib = await mediaPeak(path, signal);
    log(`media process, ${what}: ${mib.toFixed(0)} MiB`);
    peaks.push({ what, mib });
  };
  await take(`wav of ${(4 * seconds) / 60} min`, (await writeWav(folder, 4 * seconds)).path);
  for (const format of FORMATS)
    await take(`${format} of ${seconds / 60} min`, (await writeCoded(folder, format, seconds)).path);
  for (const name of OTHERS) await take(name, testdata(join('audio', name)));
  const worst = peaks.reduce((most, one) => (one.mib > most.mib ? one : most));
  return {
    figure: 'media process: peak memory',
    value: `${worst.mib.toFixed(0)} MiB (${worst.what})`,
    target: `≤ ${MOST_MEDIA_MB} MB`,
    met: worst.mib * MIB <= MOST_MEDIA_MB * 1e6,
    note: peaks.map(({ what, mib }) => `${what} ${mib.toFixed(0)}`).join(', '),
  };
};

type Peaks = { readonly treeMib: number; readonly ownMib: number };

/** Most memory of a fresh service while it transcribes the file: the whole tree without its engine, and its main process. */
const servicePeak = async ({ folder, signal }: BenchContext, path: string): Promise<Peaks> => {
  const model = { id: 'demo-ctc-en', folder: testdata('models/offline-ctc'), name: 'demo-ctc-en@bench' };
  await using service = await startBenchService(folder, [model], signal);
  let tree = 0;
  const look = (): void => {
    tree = Math.max(tree, treePss(service.pid));
  };
  const timer = setInterval(look, LOOK_MS);
  try {
    await service.transcribe(path);
  } finally {
    clearInterval(timer);
  }
  look();
  return { treeMib: tree / MIB, ownMib: peakMib(pidsOf(service.pid, 'speech')[0] ?? service.pid) };
};

const measureGrowth = async (context: BenchContext): Promise<BenchRow[]> => {
  const { folder, quick, log } = context;
  const [short, long] = [240, quick ? 1200 : 4 * 3600];
  const few = await servicePeak(context, (await writeWav(folder, short)).path);
  const many = await servicePeak(context, (await writeWav(folder, long)).path);
  log(`speech: ${few.treeMib.toFixed(0)} MiB for ${short} s, ${many.treeMib.toFixed(0)} MiB for ${long} s`);
  const row = (figure: string, less: number, more: number): BenchRow => ({
    figure: `${figure}: ${long / 60} min ÷ ${short / 60} min of wav`,
    value: `${(more / less).toFixed(2)} (${more.toFixed(0)} ÷ ${less.toFixed(0)} MiB)`,
    target: `≤ ${MOST_GROWTH}`,
    met: more / less <= MOST_GROWTH,
  });
  return [
    row('memory of speech, all processes (PSS)', few.treeMib, many.treeMib),
    row('memory of speech, its main process', few.ownMib, many.ownMib),
  ];
};

export const MEMORY_BENCH: BenchPart = {
  name: 'speech-memory',
  title: 'Speech: memory by format and length',
  run: async (context) => ({ rows: [await measureMedia(context), ...(await measureGrowth(context))], notes: [] }),
};
