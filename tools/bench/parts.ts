/** The parts of `npm run bench`, in the order in which they run; each is loaded only when it is needed. */
import type { BenchPart } from './part.ts';

export type ListedPart = {
  readonly name: string;
  /** Left out of a run that names no parts: it takes more than some minutes, or a network. */
  readonly isExtra?: true;
  readonly load: () => Promise<BenchPart>;
};

export const PARTS: readonly ListedPart[] = [
  { name: 'platform', load: async () => (await import('./platform/requests.ts')).PLATFORM_BENCH },
  { name: 'platform-slow-disk', load: async () => (await import('./platform/slow-disk.ts')).SLOW_DISK_BENCH },
  { name: 'platform-sign-in', load: async () => (await import('./platform/sign-in.ts')).SIGN_IN_BENCH },
  { name: 'platform-start', load: async () => (await import('./platform/start.ts')).START_BENCH },
  {
    name: 'platform-million',
    isExtra: true,
    load: async () => (await import('./platform/million.ts')).MILLION_BENCH,
  },
  {
    name: 'platform-others',
    isExtra: true,
    load: async () => (await import('./platform/others.ts')).OTHERS_BENCH,
  },
  { name: 'speech-long', load: async () => (await import('./speech/throughput.ts')).LONG_BENCH },
  { name: 'speech-formats', load: async () => (await import('./speech/throughput.ts')).FORMATS_BENCH },
  { name: 'speech-engine', load: async () => (await import('./speech/engine.ts')).ENGINE_BENCH },
  { name: 'speech-memory', load: async () => (await import('./speech/memory.ts')).MEMORY_BENCH },
  { name: 'speech-latency', load: async () => (await import('./speech/latency.ts')).LATENCY_BENCH },
  {
    name: 'speech-pocketsphinx',
    load: async () => (await import('./speech/pocketsphinx.ts')).POCKETSPHINX_BENCH,
  },
  { name: 'studio', load: async () => (await import('./pages.ts')).STUDIO_BENCH },
  { name: 'console', load: async () => (await import('./pages.ts')).CONSOLE_BENCH },
  { name: 'kills', isExtra: true, load: async () => (await import('./kills.ts')).KILLS_BENCH },
];
