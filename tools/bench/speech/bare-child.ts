/**
 * The bare engine: a process that holds sherpa-onnx-node and nothing of the service, and decodes segments with the settings that
 * proved fastest (docs/benchmarks.md): one recogniser, one thread a segment, so many segments in flight.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { toFloats } from '../../../packages/speech/src/audio/pcm.ts';

export type BareTask = {
  readonly model: string;
  readonly tokens: string;
  /** 16-bit samples, one segment after the other. */
  readonly samplesPath: string;
  /** Samples in each segment. */
  readonly lengths: readonly number[];
  readonly inFlight: number;
  readonly numThreads: number;
};
export type BareRun = { readonly wallMs: number; readonly cpuMs: number; readonly texts: readonly string[] };

type Recognizer = {
  createStream(): { acceptWaveform(wave: { samples: Float32Array; sampleRate: number }): void };
  decodeAsync(stream: object): Promise<{ text: string }>;
};
type Addon = { readonly OfflineRecognizer: { createAsync(config: unknown): Promise<Recognizer> } };

const RATE = 16_000;

const load = ({ model, tokens, numThreads }: BareTask): Promise<Recognizer> => {
  const addon = createRequire(import.meta.url)('sherpa-onnx-node') as Addon;
  return addon.OfflineRecognizer.createAsync({
    featConfig: { sampleRate: RATE, featureDim: 80 },
    modelConfig: { zipformerCtc: { model }, tokens, numThreads, debug: 0, provider: 'cpu' },
    decodingMethod: 'greedy_search',
  });
};

const readSegments = ({ samplesPath, lengths }: BareTask): Int16Array[] => {
  const bytes = new Uint8Array(readFileSync(samplesPath));
  const samples = new Int16Array(bytes.buffer);
  let at = 0;
  return lengths.map((length) => {
    at += length;
    return samples.subarray(at - length, at);
  });
};

const decode = async (recognizer: Recognizer, segments: readonly Int16Array[], inFlight: number): Promise<string[]> => {
  const texts: string[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    for (let index = next++; index < segments.length; index = next++) {
      const stream = recognizer.createStream();
      const samples = toFloats(segments[index]!);
      stream.acceptWaveform({ samples, sampleRate: RATE });
      texts[index] = (await recognizer.decodeAsync(stream)).text.trim();
    }
  };
  await Promise.all(Array.from({ length: inFlight }, work));
  return texts;
};

const serve = async (task: BareTask): Promise<void> => {
  const recognizer = await load(task);
  const segments = readSegments(task);
  process.on('message', async (): Promise<void> => {
    const cpu = process.cpuUsage();
    const startMs = performance.now();
    const texts = await decode(recognizer, segments, task.inFlight);
    const wallMs = performance.now() - startMs;
    const { user, system } = process.cpuUsage(cpu);
    process.send!({ wallMs, cpuMs: (user + system) / 1000, texts } satisfies BareRun);
  });
  process.send!('ready');
};

process.once('message', (task: BareTask) => void serve(task));
process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'));
