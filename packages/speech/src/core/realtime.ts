/** What a dialect sees of realtime sessions: audio and orders in, events out. Places in time are ms of the session's audio. */
import type { Problem } from '@parley/kit/problem.ts';
import type { Caller, Hotword, ModelInfo, Warning, Word } from './types.ts';

/** How a client's samples are written; always mono, 16-bit ones little-endian. */
export type RealtimeFormat = { readonly encoding: 'pcm16' | 'ulaw' | 'alaw'; readonly rate: number };

/** How the service finds utterances by itself. */
export type TurnDetection = {
  /** 0..1, from which sound counts as speech. */
  readonly threshold: number;
  readonly prefixPaddingMs: number;
  readonly silenceDurationMs: number;
};

export type RealtimeConfig = {
  readonly format: RealtimeFormat;
  /** null: an utterance ends when the client says so. */
  readonly turnDetection: TurnDetection | null;
  readonly language: string | undefined;
  /** Words to favour; only offline models take any. */
  readonly hotwords: readonly Hotword[];
  /** Marks and capitals, and numbers as digits, in the final text; `undefined` is what the settings say. */
  readonly punctuate: boolean | undefined;
  readonly itn: boolean | undefined;
};

export type RealtimeEvent =
  | { readonly type: 'speech-started'; readonly itemId: string; readonly startMs: number }
  /** `delta` appends to what was told before and may be empty; `text` is the whole hypothesis. */
  | {
      readonly type: 'text';
      readonly itemId: string;
      readonly delta: string;
      readonly text: string;
      readonly startMs: number;
    }
  | { readonly type: 'speech-stopped'; readonly itemId: string; readonly endMs: number }
  | { readonly type: 'committed'; readonly itemId: string; readonly previousItemId: string | null }
  | {
      readonly type: 'completed';
      readonly itemId: string;
      readonly previousItemId: string | null;
      readonly transcript: string;
      readonly startMs: number;
      readonly endMs: number;
      /** `id@revision` that gave the transcript. */
      readonly model: string;
      readonly language: string | undefined;
      /** Seconds of the session's audio, where the model has word times. */
      readonly words: readonly Word[] | undefined;
    }
  | { readonly type: 'failed'; readonly itemId: string; readonly problem: Problem }
  | { readonly type: 'cleared' }
  | { readonly type: 'warning'; readonly warning: Warning }
  | { readonly type: 'error'; readonly problem: Problem };

/**
 * One session. Orders are obeyed one after the other; `append` resolves when there is room for more, so that awaiting
 * each keeps a client from running ahead.
 */
export type RealtimeSession = AsyncDisposable & {
  readonly id: string;
  /** The model that hears, and the one that writes the final text when it is another. */
  models(): SessionModels;
  append(bytes: Uint8Array): Promise<void>;
  /** Ends the utterance here. Problem invalid_request (reason input_audio_buffer_commit_empty) below 100 ms of audio. */
  commit(): Promise<void>;
  /** Drops what was not committed. */
  clear(): Promise<void>;
  /** From here on. */
  configure(config: RealtimeConfig): Promise<void>;
  /**
   * Changes models between two utterances: what was said so far is committed. Problems: model_not_found,
   * model_unavailable, forbidden; the old ones then go on.
   */
  useModels(choice: ModelChoice): Promise<void>;
  /** Resolves when everything committed so far has its text. */
  settled(): Promise<void>;
};

export type SessionModels = {
  readonly model: ModelInfo;
  readonly finalModel: ModelInfo | undefined;
  /** Whether `hotwords` have an effect. */
  readonly takesHotwords: boolean;
  /** Whether final texts in the model's language can be punctuated, and have their numbers written as digits. */
  readonly canPunctuate: boolean;
  readonly canWriteNumbers: boolean;
};

export type ModelChoice = {
  /** Streaming or offline; the default one when not said. */
  readonly model: string | undefined;
  /** Offline model for the final text; null for none, `undefined` for what the settings say. */
  readonly finalModel: string | null | undefined;
};

/** A place for a session, with its models loaded; one that is disposed, or its session, gives the place back. */
export type RealtimePlace = AsyncDisposable & {
  open(config: RealtimeConfig, onEvent: (event: RealtimeEvent) => void): Promise<RealtimeSession>;
};

export type Realtime = {
  /**
   * The installed model a session would use. Problems: model_not_found; model_unavailable; not_implemented (501) when
   * nothing is installed that transcribes; forbidden.
   */
  resolve(caller: Caller, model: string | undefined): Promise<ModelInfo>;
  /** Takes a place. Problems as `resolve`, and model_unavailable when every place is taken. */
  reserve(caller: Caller, choice: ModelChoice, signal: AbortSignal): Promise<RealtimePlace>;
  readonly limits: RealtimeLimits;
  active(): number;
};

/** Durations are ms; 0 is no limit. */
export type RealtimeLimits = {
  readonly maxSessions: number;
  readonly maxSessionMs: number;
  readonly idleMs: number;
  /** From the beginning to the first audio. */
  readonly noAudioMs: number;
  readonly pingMs: number;
};
