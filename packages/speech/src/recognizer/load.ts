/**
 * Brings one model up in an engine process, with one more try when the process dies of it. A model that kills twice is
 * to be left alone; the reason travels as LoadFault in the Problem's cause.
 */
import { availableParallelism } from 'node:os';
import { Problem } from '@parley/kit/problem.ts';
import { problem } from '../core/codes.ts';
import { type EngineChild, openChild } from './child.ts';
import type { FromEngine } from './messages.ts';
import { type EngineFacts, type EngineModel, EXPRESS_SLOTS } from './recognizer.ts';

/** Why a model could not be loaded, in words for an operator. */
export class LoadFault extends Error {
  override name = 'LoadFault';
  /** True when it ended its process twice: it must not be tried again by itself. */
  readonly quarantine: boolean;
  readonly reason: string;

  constructor(reason: string, quarantine: boolean) {
    super(reason);
    this.reason = reason;
    this.quarantine = quarantine;
  }
}

export type LoadOptions = {
  /** Segments that may be in flight at once; 0 or missing is one more than there are cores. */
  readonly slots?: number | undefined;
  readonly startTimeoutMs: number;
  readonly signal: AbortSignal;
};

export type LoadedChild = {
  readonly child: EngineChild;
  readonly facts: EngineFacts;
  /** Takes over the messages that follow. */
  listen(onMessage: (message: FromEngine) => void): void;
};

type Attempt = { readonly loaded: LoadedChild } | { readonly reason: string; readonly died: boolean };

const LOAD_ATTEMPTS = 2;
/** A thread beyond those that decode, for file access and loading. */
const FILE_THREADS = 1;

/** The load fault behind something thrown, when there is one. */
export const loadFaultOf = (thrown: unknown): LoadFault | undefined => {
  const cause = thrown instanceof Problem ? thrown.cause : thrown;
  return cause instanceof LoadFault ? cause : undefined;
};

const attempt = async (model: EngineModel, options: LoadOptions): Promise<Attempt> => {
  options.signal.throwIfAborted();
  const slots = options.slots || availableParallelism() + 1;
  let onMessage: (message: FromEngine) => void = () => undefined;
  const child = openChild({
    name: `${model.id}@${model.revision}`,
    libraryPaths: model.libraryPaths,
    threads: slots + EXPRESS_SLOTS + FILE_THREADS,
    onMessage: (message) => onMessage(message),
  });
  const onAbort = (): void => child.kill('was told to stop');
  options.signal.addEventListener('abort', onAbort, { once: true });
  const timer = setTimeout(
    () => child.kill(`did not load within ${Math.round(options.startTimeoutMs / 1000)} s`),
    options.startTimeoutMs,
  );
  try {
    const answered = new Promise<FromEngine>((resolve) => {
      onMessage = resolve;
    });
    child.send({ kind: 'load', model, slots });
    const outcome = await Promise.race([answered, child.gone]);
    if (!('kind' in outcome)) return { reason: outcome.reason, died: true };
    if (outcome.kind === 'loaded') {
      const listen: LoadedChild['listen'] = (next) => {
        onMessage = next;
      };
      return { loaded: { child, facts: outcome.facts, listen } };
    }
    child.kill('is not needed');
    await child.gone;
    return { reason: outcome.kind === 'refused' ? outcome.reason : 'answered out of turn', died: false };
  } finally {
    clearTimeout(timer);
    options.signal.removeEventListener('abort', onAbort);
  }
};

/**
 * Loads a model in a fresh process. Rejects with Problem `model_unavailable` whose cause is a LoadFault, or with the
 * signal's reason.
 */
export const loadModel = async (model: EngineModel, options: LoadOptions): Promise<LoadedChild> => {
  let reason = '';
  let died = true;
  for (let count = 0; count < LOAD_ATTEMPTS && died; count += 1) {
    const result = await attempt(model, options);
    options.signal.throwIfAborted();
    if ('loaded' in result) return result.loaded;
    ({ reason, died } = result);
  }
  throw problem('model_unavailable', `Model ${model.id} cannot be loaded.`, { cause: new LoadFault(reason, died) });
};
