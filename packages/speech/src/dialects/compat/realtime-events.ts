/** The events of a realtime session as they go over the wire, under the names of both generations of the API. */
import { createPrefixedId } from '@parley/kit/ids.ts';
import type { Problem } from '@parley/kit/problem.ts';
import type { RealtimeEvent, RealtimeFormat, RealtimeLimits, SessionModels } from '../../core/realtime.ts';
import type { Warning, Word } from '../../core/types.ts';
import { compatErrorOf } from '../errors.ts';
import type { Declared } from './realtime-config.ts';

/** One message; the socket adds nothing to it. */
export type WireEvent = Readonly<Record<string, unknown>> & { readonly type: string };

/** Puts the members every event has in front. */
export const toMessage = (event: WireEvent): string =>
  JSON.stringify({ event_id: createPrefixedId('event'), ...event });

export type SessionFacts = {
  readonly id: string;
  readonly expiresAt: number;
  readonly declared: Declared;
  readonly models: SessionModels;
  readonly limits: RealtimeLimits;
  readonly active: number;
};

const BETA_NAMES = { pcm16: 'pcm16', ulaw: 'g711_ulaw', alaw: 'g711_alaw' } as const;
const GA_NAMES = { pcm16: 'audio/pcm', ulaw: 'audio/pcmu', alaw: 'audio/pcma' } as const;
const BETA_RATE = 24_000;

const betaFormat = ({ encoding, rate }: RealtimeFormat): string =>
  encoding === 'pcm16' && rate !== BETA_RATE ? `pcm16;rate=${rate}` : BETA_NAMES[encoding];

/** The session object, a superset of both generations'. */
export const renderSession = ({ id, expiresAt, declared, models, limits, active }: SessionFacts) => {
  const { model, finalModel } = models;
  const { language, prompt } = declared.transcription;
  const transcription = { model: model.id, language: language ?? null, prompt: prompt ?? '' };
  const turns = declared.turnDetection && {
    type: 'server_vad',
    threshold: declared.turnDetection.threshold,
    prefix_padding_ms: declared.turnDetection.prefixPaddingMs,
    silence_duration_ms: declared.turnDetection.silenceDurationMs,
  };
  const { encoding, rate } = declared.format;
  return {
    id,
    object: 'realtime.transcription_session',
    type: 'transcription',
    model: model.id,
    expires_at: expiresAt,
    input_audio_format: betaFormat(declared.format),
    input_audio_transcription: transcription,
    turn_detection: turns,
    input_audio_noise_reduction: null,
    include: declared.include,
    client_secret: null,
    audio: {
      input: {
        format: { type: GA_NAMES[encoding], rate },
        transcription,
        noise_reduction: null,
        turn_detection: turns,
      },
    },
    service: {
      model_sample_rate: model.sample_rate,
      input_sample_rate: rate,
      languages: model.languages,
      punctuation: models.canPunctuate,
      word_timestamps: (finalModel ?? model).capabilities.word_timestamps,
      streaming: model.streaming,
      final_model: finalModel?.id ?? null,
      punctuate: declared.punctuate ?? null,
      itn: declared.itn ?? null,
      max_sessions: limits.maxSessions,
      active_sessions: active,
      notes: model.streaming ? [] : ['The model is not a streaming one: texts come when an utterance is over.'],
    },
  };
};

export const renderWarning = ({ code, message, param }: Warning): WireEvent => ({
  type: 'service.warning',
  code,
  message,
  ...(param !== undefined && { param }),
});

const errorOf = (problem: Problem): Record<string, string | null> => compatErrorOf(problem, 'GET /v1/realtime');

/** `eventId` is the client's own name for the event at fault. */
export const renderError = (problem: Problem, eventId: string | null = null): WireEvent => ({
  type: 'error',
  error: { ...errorOf(problem), event_id: eventId },
});

const itemOf = (id: string, transcript: string | null) => ({
  id,
  object: 'realtime.item',
  type: 'message',
  status: 'completed',
  role: 'user',
  content: [{ type: 'input_audio', transcript }],
});

const wordOf = ({ word, start, end, confidence, original }: Word) => ({
  word,
  start_ms: Math.round(start * 1000),
  end_ms: Math.round(end * 1000),
  ...(confidence !== undefined && { confidence }),
  ...(original !== undefined && { original }),
});

const TRANSCRIPTION = 'conversation.item.input_audio_transcription';

const renderCommitted = (event: Extract<RealtimeEvent, { type: 'committed' }>, ga: boolean): WireEvent[] => {
  const place = { previous_item_id: event.previousItemId };
  const created = { ...place, item: itemOf(event.itemId, null) };
  return [
    { type: 'input_audio_buffer.committed', ...place, item_id: event.itemId },
    { type: 'conversation.item.created', ...created },
    ...(ga ? [{ type: 'conversation.item.added', ...created }] : []),
  ];
};

const renderCompleted = (event: Extract<RealtimeEvent, { type: 'completed' }>, ga: boolean): WireEvent[] => {
  const { itemId, previousItemId, transcript, startMs, endMs, model, language, words } = event;
  return [
    {
      type: `${TRANSCRIPTION}.completed`,
      item_id: itemId,
      content_index: 0,
      transcript,
      usage: { type: 'duration', seconds: Math.max(0, endMs - startMs) / 1000 },
      ...(language !== undefined && { languages: [{ code: language }] }),
      logprobs: null,
      service: { start_ms: startMs, end_ms: endMs, model, ...(words && { words: words.map(wordOf) }) },
    },
    ...(ga
      ? [{ type: 'conversation.item.done', previous_item_id: previousItemId, item: itemOf(itemId, transcript) }]
      : []),
  ];
};

/** The messages one event becomes, in order. `ga` adds the newer names beside the older ones. */
export const renderEvent = (event: RealtimeEvent, ga: boolean): WireEvent[] => {
  switch (event.type) {
    case 'speech-started':
      return [{ type: 'input_audio_buffer.speech_started', audio_start_ms: event.startMs, item_id: event.itemId }];
    case 'text': {
      const service = { text: event.text, start_ms: event.startMs };
      const { itemId: item_id, delta } = event;
      return [{ type: `${TRANSCRIPTION}.delta`, item_id, content_index: 0, delta, logprobs: null, service }];
    }
    case 'speech-stopped':
      return [{ type: 'input_audio_buffer.speech_stopped', audio_end_ms: event.endMs, item_id: event.itemId }];
    case 'committed':
      return renderCommitted(event, ga);
    case 'completed':
      return renderCompleted(event, ga);
    case 'failed': {
      const error = errorOf(event.problem);
      return [{ type: `${TRANSCRIPTION}.failed`, item_id: event.itemId, content_index: 0, error }];
    }
    case 'cleared':
      return [{ type: 'input_audio_buffer.cleared' }];
    case 'warning':
      return [renderWarning(event.warning)];
    case 'error':
      return [renderError(event.problem)];
  }
};

/** What a new session is greeted with: the older name first. */
export const renderCreated = (session: unknown, ga: boolean): WireEvent[] =>
  ['transcription_session.created', ...(ga ? ['session.created'] : [])].map((type) => ({ type, session }));

/** The answer to an update; to `session.update` it comes under the newer name too. */
export const renderUpdated = (session: unknown, update: string, ga: boolean): WireEvent[] =>
  ['transcription_session.updated', ...(ga && update === 'session.update' ? ['session.updated'] : [])].map((type) => ({
    type,
    session,
  }));
