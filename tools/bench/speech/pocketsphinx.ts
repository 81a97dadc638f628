/** Beside `pocketsphinx_batch`: the same Debian model and recording, how fast and how many words are right. */
import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createSilentLog } from '@parley/kit/log.ts';
import { countEdits } from '../../../packages/parley/src/eval/align.ts';
import { openApt } from '../../../packages/speech/src/models/apt.ts';
import { buildDebianModel } from '../../../packages/speech/src/models/debian.ts';
import { DownloadFault } from '../../../packages/speech/src/models/fault.ts';
import type { BenchContext, BenchPart, BenchRow } from '../part.ts';
import { treeCpuMs } from './processes.ts';
import { median } from './ratio.ts';
import { RATE, toWav } from './recordings.ts';
import { startBenchService } from './service.ts';

const FIGURE = 'service ÷ pocketsphinx_batch';
const PROGRAM_PACKAGE = 'pocketsphinx';
/** A reader of LibriVox, five sentences with their words: 16-bit, 16 kHz, mono. */
const SPEECH_PACKAGE = 'pocketsphinx-testdata';
const SPEECH_FOLDER = 'usr/share/pocketsphinx/test/data/librivox';
const PAUSE_SEC = 1;
const PROGRAM_MS = 300_000;
const run = promisify(execFile);

type Manifest = {
  readonly id: string;
  readonly revision: string;
  readonly files: Readonly<Record<string, string>>;
  readonly library_paths?: readonly string[];
};
type Installed = {
  readonly model: { id: string; folder: string };
  readonly manifest: Manifest;
  readonly program: string;
  readonly speech: string;
};

/** The model as `parley models pull` makes it, and beside it the program, unpacked without being installed. */
const install = async ({ folder, signal }: BenchContext): Promise<Installed> => {
  const log = createSilentLog();
  const model = join(folder, 'pocketsphinx-en-us@debian');
  await mkdir(model);
  const manifest = (await buildDebianModel(model, { dataDir: join(folder, 'apt'), log, signal })) as Manifest;
  await writeFile(join(model, 'model.json'), JSON.stringify({ ...manifest, revision: 'debian' }));
  await using apt = await openApt([PROGRAM_PACKAGE], { dir: join(folder, 'apt-program'), log, signal });
  const into = join(folder, 'program');
  await apt.unpack([PROGRAM_PACKAGE, SPEECH_PACKAGE], into);
  const program = join(into, 'usr/bin/pocketsphinx_batch');
  return { model: { id: manifest.id, folder: model }, manifest, program, speech: join(into, SPEECH_FOLDER) };
};

type Heard = { readonly wallMs: number; readonly cpuMs: number; readonly text: string };

const runBatch = async ({ program, manifest, model }: Installed, folder: string, name: string): Promise<Heard> => {
  const control = join(folder, 'files.ctl');
  const out = join(folder, 'heard.hyp');
  await writeFile(control, `${name}\n`);
  const places = Object.entries(manifest.files).flatMap(([role, path]) => [`-${role}`, join(model.folder, path)]);
  const input = ['-adcin', 'yes', '-adchdr', '44', '-cepdir', folder, '-cepext', '.wav', '-ctl', control, '-hyp', out];
  const libraries = (manifest.library_paths ?? []).map((path) => join(model.folder, path)).join(':');
  // `times` of the shell counts what the program spent.
  const script = 'export LD_LIBRARY_PATH="$1"; shift; "$@" >/dev/null 2>&1; times';
  const startMs = performance.now();
  const { stdout } = await run('sh', ['-c', script, 'sh', libraries, program, ...places, ...input], {
    timeout: PROGRAM_MS,
  });
  const wallMs = performance.now() - startMs;
  const spent = stdout
    .trim()
    .split('\n')
    .at(-1)!
    .matchAll(/(\d+)m([\d.]+)s/g);
  const cpuMs = [...spent].reduce(
    (sum, [, minutes, seconds]) => sum + (Number(minutes) * 60 + Number(seconds)) * 1000,
    0,
  );
  const text = (await readFile(out, 'utf8')).replaceAll(/\([^)]*\)/g, ' ').trim();
  return { wallMs, cpuMs, text };
};

/** The sentences one after the other with pauses, `times` times over, and what is said in them. */
const joinSpeech = async (speech: string, folder: string, times: number) => {
  const lines = (await readFile(join(speech, 'transcription'), 'utf8')).trim().split('\n');
  const parts: Int16Array[] = [];
  const said: string[] = [];
  for (const line of Array<string[]>(times).fill(lines).flat()) {
    const [, text, name] = /^<s> (.*) <\/s> \((.*)\)$/.exec(line)!;
    const file = await readFile(join(speech, `${name}.wav`));
    const bytes = new Uint8Array(file.subarray(file.indexOf('data', 0, 'latin1') + 8));
    parts.push(new Int16Array(bytes.buffer, 0, bytes.length >> 1), new Int16Array(PAUSE_SEC * RATE));
    said.push(text!);
  }
  const samples = new Int16Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    samples.set(part, at);
    at += part.length;
  }
  const path = join(folder, 'librivox.wav');
  await writeFile(path, toWav(samples));
  return { path, seconds: Math.round(samples.length / RATE), reference: said.join(' ') };
};

const errorsOf = (reference: string, text: string): number => {
  const words = (said: string): string[] => said.toLowerCase().split(/\s+/).filter(Boolean);
  return (100 * countEdits(words(reference), words(text))) / words(reference).length;
};

const measure = async (context: BenchContext, installed: Installed): Promise<BenchRow[]> => {
  const { folder, rounds, quick, signal, log } = context;
  const { path, seconds, reference } = await joinSpeech(installed.speech, folder, quick ? 1 : 2);
  await using service = await startBenchService(folder, [installed.model], signal);
  await service.transcribe(path);
  const [served, batch]: [Heard[], Heard[]] = [[], []];
  for (let round = 0; round < rounds; round += 1) {
    signal.throwIfAborted();
    const cpuMs = treeCpuMs(service.pid);
    const startMs = performance.now();
    const text = await service.transcribe(path);
    served.push({ wallMs: performance.now() - startMs, cpuMs: treeCpuMs(service.pid) - cpuMs, text });
    batch.push(await runBatch(installed, folder, path.slice(folder.length + 1, -'.wav'.length)));
    log(`service ${served.at(-1)!.wallMs.toFixed(0)} ms, pocketsphinx_batch ${batch.at(-1)!.wallMs.toFixed(0)} ms`);
  }
  const of = (heard: readonly Heard[], key: 'wallMs' | 'cpuMs'): number => median(heard.map((one) => one[key])) / 1000;
  const speed = of(batch, 'wallMs') / of(served, 'wallMs');
  const [ours, theirs] = [served, batch].map((heard) => errorsOf(reference, heard[0]!.text));
  return [
    {
      figure: `${FIGURE}: speed on ${seconds} s`,
      value: `${speed.toFixed(2)} × (${of(served, 'wallMs').toFixed(1)} s, ${of(batch, 'wallMs').toFixed(1)} s)`,
      target: '',
      met: null,
      note: `CPU ${of(served, 'cpuMs').toFixed(1)} s and ${of(batch, 'cpuMs').toFixed(1)} s; the program's time holds its start`,
    },
    {
      figure: 'word errors: service, pocketsphinx_batch',
      value: `${ours!.toFixed(1)} %, ${theirs!.toFixed(1)} %`,
      target: '',
      met: null,
      note: 'a reader of LibriVox (pocketsphinx-testdata), sentences joined; both with the model of Debian',
    },
  ];
};

export const POCKETSPHINX_BENCH: BenchPart = {
  name: 'speech-pocketsphinx',
  title: 'Speech: beside pocketsphinx_batch',
  run: async (context) => {
    const installed = await install(context).catch((error: unknown) => {
      if (error instanceof DownloadFault) return error;
      throw error;
    });
    if (!(installed instanceof DownloadFault)) return { rows: await measure(context, installed), notes: [] };
    return {
      rows: [{ figure: FIGURE, value: `not measured: ${installed.message}`, target: '', met: null }],
      notes: [],
    };
  },
};
