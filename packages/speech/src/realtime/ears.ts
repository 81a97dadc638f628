/** The models of a session, borrowed from the pool, as one ear. */
import type { Log } from '@parley/kit/log.ts';
import { asProblem } from '@parley/kit/problem.ts';
import type { Detector } from '../audio/voice-activity.ts';
import type { ModelChoice, SessionModels } from '../core/realtime.ts';
import type { Caller, ModelInfo } from '../core/types.ts';
import type { TextStages } from '../pipeline/finish-text.ts';
import { hasNumberRules } from '../pipeline/itn.ts';
import type { Scheduler } from '../pipeline/scheduler.ts';
import type { Recognizer } from '../recognizer/recognizer.ts';
import { isStreaming } from '../recognizer/streaming.ts';
import { createFinish, type Finish, languageOf } from './finish.ts';
import { createStreamEar } from './hear-stream.ts';
import { createTwiceEar } from './hear-twice.ts';
import { createWholeEar, type WholeParts } from './hear-whole.ts';
import type { Ear } from './hearing.ts';

export type Ears = AsyncDisposable & { readonly ear: Ear; readonly models: SessionModels; readonly finish: Finish };

export type EarParts = {
  /** Problems: model_not_found, model_unavailable, not_implemented, forbidden. */
  resolve(caller: Caller, model: string | undefined): Promise<ModelInfo>;
  /** The offline model of that name. Problems as above and capability_unavailable. */
  resolveFinal(caller: Caller, model: string): Promise<ModelInfo>;
  lease(model: ModelInfo, signal: AbortSignal): Promise<AsyncDisposable & { readonly recognizer: Recognizer }>;
  readonly scheduler: Scheduler;
  /** A detector that is there already, for cutting what is too long. */
  readonly detector: () => Detector;
  /** Offline model for the final texts of sessions that do not say; empty is none. */
  readonly finalModel: string;
  readonly maxUtteranceSec: number;
  /** What is done to final texts. */
  readonly text: TextStages;
  readonly log: Log;
  readonly hotwords: { readonly enabled: boolean; readonly defaultScore: number };
};

const nameOf = (model: ModelInfo): string => `${model.id}@${model.revision}`;

/** The session's own choice must be there; one of the settings that was removed since must not end every session. */
const chooseFinal = async (
  { resolveFinal, finalModel, log }: EarParts,
  caller: Caller,
  choice: ModelChoice,
): Promise<ModelInfo | undefined> => {
  if (choice.finalModel !== undefined) return choice.finalModel ? resolveFinal(caller, choice.finalModel) : undefined;
  if (finalModel === '') return undefined;
  return resolveFinal(caller, finalModel).catch((thrown: unknown) => {
    log.warn({ model: finalModel, problem: asProblem(thrown).code }, 'realtime.final_model cannot be used');
    return undefined;
  });
};

const textAbilities = (text: TextStages, model: ModelInfo) => {
  const language = languageOf(model, undefined);
  return {
    canPunctuate: model.capabilities.punctuation_builtin || text.punctuatorFor(language) !== undefined,
    canWriteNumbers: hasNumberRules(language),
  };
};

/** Borrows what the choice asks for. Rejects with a Problem; nothing stays borrowed then. */
export const openEars = async (
  parts: EarParts,
  caller: Caller,
  sessionId: string,
  choice: ModelChoice,
  signal: AbortSignal,
): Promise<Ears> => {
  await using stack = new AsyncDisposableStack();
  const wholeParts = (model: ModelInfo, recognizer: Recognizer): WholeParts => ({
    recognizer,
    model: nameOf(model),
    takesHotwords: parts.hotwords.enabled && model.capabilities.hotwords,
    hotwordsScore: parts.hotwords.defaultScore,
    scheduler: parts.scheduler,
    // Somebody is listening: these go before recordings whatever the key.
    ticket: { requestId: sessionId, keyId: caller.keyId, priority: 'interactive' },
    detector: parts.detector,
  });
  const borrow = async (model: ModelInfo): Promise<Recognizer> =>
    stack.use(await parts.lease(model, signal)).recognizer;

  const model = await parts.resolve(caller, choice.model);
  const recognizer = await borrow(model);
  let ear: Ear;
  let finalModel: ModelInfo | undefined;
  let takesHotwords: boolean;
  if (isStreaming(recognizer)) {
    ear = createStreamEar(recognizer, nameOf(model), parts.maxUtteranceSec);
    finalModel = await chooseFinal(parts, caller, choice);
    const second = finalModel && wholeParts(finalModel, await borrow(finalModel));
    if (second) ear = createTwiceEar(ear, second);
    takesHotwords = second?.takesHotwords ?? false;
  } else {
    const whole = wholeParts(model, recognizer);
    ear = createWholeEar(whole, Math.min(parts.maxUtteranceSec, recognizer.facts.cut.maxSec));
    takesHotwords = whole.takesHotwords;
  }
  const owned = stack.move();
  return {
    ear,
    models: { model, finalModel, takesHotwords, ...textAbilities(parts.text, finalModel ?? model) },
    finish: createFinish(parts.text, finalModel ?? model, sessionId, parts.log),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
};
