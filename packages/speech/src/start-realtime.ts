/** Composition of the realtime sessions. */
import type { Log } from '@parley/kit/log.ts';
import { problem } from './core/codes.ts';
import type { Realtime } from './core/realtime.ts';
import type { Models } from './core/speech.ts';
import type { Caller, ModelInfo } from './core/types.ts';
import { mayUseModel } from './keys/globs.ts';
import type { Line } from './pipeline/transcribe.ts';
import { createRealtime } from './realtime/realtime.ts';
import { type SpeechSettings, sizeFor } from './settings.ts';
import type { ModelParts } from './start-models.ts';

const allow = (caller: Caller, model: ModelInfo): ModelInfo => {
  if (mayUseModel(caller, model.id)) return model;
  throw problem('forbidden', `This key may not use ${model.id}.`, { param: 'model' });
};

export const openRealtime = (
  settings: SpeechSettings,
  { models: managed, lease }: ModelParts,
  models: Models,
  line: Line,
  isReady: () => boolean,
  log: Log,
): Realtime => {
  const { values } = settings;
  return createRealtime({
    resolve: async (caller, model) => {
      if (model === undefined && !isReady()) {
        throw problem('model_unavailable', 'The service is still getting its first model.', { retryAfterSec: 10 });
      }
      return allow(caller, await managed.resolveLive(model, values['realtime.model']));
    },
    resolveFinal: async (caller, model) => allow(caller, await models.resolve(model, undefined)),
    lease,
    scheduler: line.scheduler,
    text: line.text,
    finalModel: values['realtime.final_model'],
    maxUtteranceSec: values['realtime.max_utterance'] / 1000,
    hotwords: line.hotwords,
    limits: {
      maxSessions: sizeFor(settings).realtimeSessions,
      maxSessionMs: values['realtime.max_session'],
      idleMs: values['realtime.idle_timeout'],
      noAudioMs: values['realtime.no_audio_timeout'],
      pingMs: values['realtime.ping_interval'],
    },
    maxBufferedSec: values['realtime.max_buffered_seconds'],
    log,
  });
};
