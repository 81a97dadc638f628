/** Short-lived engine processes: does this model work, and which native libraries are these. */
import { problem } from '../core/codes.ts';
import { openChild } from './child.ts';
import { loadFaultOf, loadModel } from './load.ts';
import type { EngineVersions, FromEngine } from './messages.ts';
import type { EngineFacts, EngineModel } from './recognizer.ts';

export type Probe =
  | { readonly ok: true; readonly facts: EngineFacts; readonly rssBytes: number }
  | {
      readonly ok: false;
      /** In words for an operator. */
      readonly reason: string;
      /** True when the model ended its process rather than being refused. */
      readonly quarantine: boolean;
    };

export type ProbeOptions = { readonly startTimeoutMs: number; readonly signal: AbortSignal };

const SILENCE_SEC = 1;
const VERSIONS_TIMEOUT_MS = 30_000;

/** Loads a model and recognises a second of silence. Rejects only with the signal's reason. */
export const probeModel = async (model: EngineModel, options: ProbeOptions): Promise<Probe> => {
  const loaded = await loadModel(model, options).catch(
    (thrown: unknown) => loadFaultOf(thrown) ?? Promise.reject(thrown),
  );
  if (loaded instanceof Error) return { ok: false, reason: loaded.reason, quarantine: loaded.quarantine };
  const { child, facts } = loaded;
  const onAbort = (): void => child.kill('was told to stop');
  options.signal.addEventListener('abort', onAbort, { once: true });
  const timer = setTimeout(() => child.kill('did not answer in time'), options.startTimeoutMs);
  try {
    const answered = new Promise<Probe>((resolve) => {
      loaded.listen((message) => {
        if (message.kind === 'failed') resolve({ ok: false, reason: message.message, quarantine: false });
        if (message.kind === 'recognized') child.send({ kind: 'ping', id: 0 });
        if (message.kind === 'pong') resolve({ ok: true, facts, rssBytes: message.rssBytes });
      });
    });
    const samples = new Int16Array(SILENCE_SEC * facts.sampleRate);
    const utterance = { samples, sampleRate: facts.sampleRate, bandHz: facts.sampleRate / 2 };
    // A streaming model has heard its silence while it was loaded.
    if (model.streaming) child.send({ kind: 'ping', id: 0 });
    else child.send({ kind: 'recognize', id: 0, utterance, options: {} });
    const died = child.gone.then(({ reason }): Probe => ({ ok: false, reason, quarantine: true }));
    const result = await Promise.race([answered, died]);
    options.signal.throwIfAborted();
    return result;
  } finally {
    clearTimeout(timer);
    options.signal.removeEventListener('abort', onAbort);
    child.kill('is not needed');
    await child.gone;
  }
};

/**
 * Versions of the native libraries. `libraryPaths` are the folders of a PocketSphinx model, when there is one.
 * Rejects with Problem `model_unavailable` when the libraries cannot be loaded.
 */
export const readEngineVersions = async (
  options: { readonly libraryPaths?: readonly string[] } = {},
): Promise<EngineVersions> => {
  const libraryPaths = options.libraryPaths ?? [];
  let onMessage: (message: FromEngine) => void = () => undefined;
  const answered = new Promise<FromEngine>((resolve) => {
    onMessage = resolve;
  });
  const child = openChild({ name: 'versions', libraryPaths, threads: 1, onMessage: (message) => onMessage(message) });
  const timer = setTimeout(() => child.kill('did not answer in time'), VERSIONS_TIMEOUT_MS);
  try {
    child.send({ kind: 'versions', libraryPaths });
    const outcome = await Promise.race([answered, child.gone]);
    if ('kind' in outcome && outcome.kind === 'versions') return outcome.versions;
    const reason = 'reason' in outcome ? outcome.reason : 'answered out of turn';
    throw problem('model_unavailable', 'The native libraries cannot be loaded.', { cause: new Error(reason) });
  } finally {
    clearTimeout(timer);
    child.kill('is not needed');
    await child.gone;
  }
};
