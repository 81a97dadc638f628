/** Where utterances begin and end in a session's audio: by the voice detector, or by the client's word. */
import type { Detector } from '../audio/voice-activity.ts';
import { problem } from '../core/codes.ts';
import type { TurnDetection } from '../core/realtime.ts';
import type { Ear, HearingOptions } from './hearing.ts';
import { SESSION_RATE } from './intake.ts';
import { type BeginOptions, type Item, type Items, toMs } from './items.ts';
import { createRecent, type Recent } from './recent.ts';
import { createTurns, type TurnChange, type Turns } from './turns.ts';

export type Listening = {
  /** Samples at SESSION_RATE. */
  feed(samples: Int16Array): void;
  /** The client ends the utterance. Problem invalid_request when there is hardly any audio. */
  commit(): void;
  /** Ends the utterance if there is one. */
  end(): void;
  clear(): void;
  configure(turnDetection: TurnDetection | null, detectors: Detectors): Promise<void>;
  close(): void;
};

/** Makes a detector for a threshold. */
export type Detectors = (threshold: number) => Promise<Detector>;

export type ListeningParts = {
  readonly items: Items;
  readonly ear: () => Ear;
  readonly hearingOptions: () => HearingOptions;
  /** What is done to the final text of an utterance that begins now. */
  readonly finish: () => BeginOptions['finish'];
};

/** Audio is looked at in pieces of at most this, s. */
const PIECE_SEC = 0.25;
/** Frames for which a fresh detector calls any noise speech, as measured. */
const SETTLING_FRAMES = 5;
/** What is kept beyond the prefix: a turn is noticed some frames after its beginning. */
const LOOKBACK_SEC = 1;
/** Less audio than this cannot be committed. */
const LEAST_COMMIT_SEC = 0.1;
/** A client that never commits gets an utterance this long, s. */
const MAX_MANUAL_SEC = 600;

/** The detector of turns, and how its frames lie in the session's audio. */
type Watch = {
  readonly rules: TurnDetection;
  readonly detector: Detector;
  readonly turns: Turns;
  /** Place of the first frame. */
  readonly base: number;
  readonly frame: Int16Array;
  filled: number;
  /** Frames that are not believed yet. */
  settling: number;
};

const watchFrom = (rules: TurnDetection, detector: Detector, base: number, settling: number): Watch => ({
  rules,
  detector,
  turns: createTurns({
    silenceFrames: Math.max(1, Math.ceil((rules.silenceDurationMs / 1000) * (SESSION_RATE / detector.frameSamples))),
  }),
  base,
  frame: new Int16Array(detector.frameSamples),
  filled: 0,
  settling,
});

const samplesOf = (ms: number): number => Math.round((ms * SESSION_RATE) / 1000);

type State = ListeningParts & {
  readonly recent: Recent;
  watch: Watch | undefined;
  item: Item | undefined;
  /** Place behind the last utterance: no sample belongs to two. */
  lastEnd: number;
};

const feedItem = ({ item, recent }: State, to: number): void => {
  if (item && to > item.fed) item.push(recent.between(item.fed, to));
};

const begin = (state: State, start: number, announced: boolean): void => {
  const item = state.items.begin({
    ear: state.ear(),
    hearing: state.hearingOptions(),
    finish: state.finish(),
    start,
    announced,
    onEndpoint: (over) => {
      if (over === state.item && state.watch) end(state, state.recent.end);
    },
  });
  state.item = item;
  if (announced) state.items.tell({ type: 'speech-started', itemId: item.id, startMs: toMs(start) });
};

const end = (state: State, place: number): void => {
  feedItem(state, place);
  const { item } = state;
  state.item = undefined;
  state.watch?.turns.reset();
  if (!item) return;
  state.lastEnd = place;
  item.commit(place);
};

const onTurn = (state: State, change: TurnChange, { rules, detector, base }: Watch, place: number): void => {
  if (change.kind === 'stopped') {
    end(state, place);
    return;
  }
  const onset = base + change.frame * detector.frameSamples;
  if (!state.item) begin(state, Math.max(state.lastEnd, onset - samplesOf(rules.prefixPaddingMs)), true);
};

/** Lets the detector see samples whose first one lies at `start`. */
const look = (state: State, watch: Watch, samples: Int16Array, start: number): void => {
  const { frame } = watch;
  for (let at = 0; at < samples.length; ) {
    const part = samples.subarray(at, at + frame.length - watch.filled);
    frame.set(part, watch.filled);
    watch.filled += part.length;
    at += part.length;
    if (watch.filled < frame.length) return;
    watch.filled = 0;
    const isSpeech = watch.detector.isSpeech(frame) && watch.settling === 0;
    watch.settling = Math.max(0, watch.settling - 1);
    const change = watch.turns.push(isSpeech);
    if (change) onTurn(state, change, watch, start + at);
  }
};

const feedPiece = (state: State, samples: Int16Array): void => {
  const { recent, watch } = state;
  const start = recent.end;
  recent.push(samples);
  if (watch) look(state, watch, samples, start);
  else if (!state.item) begin(state, start, false);
  feedItem(state, recent.end);
  const maxSec = watch ? state.ear().maxSec : MAX_MANUAL_SEC;
  if (state.item && recent.end - state.item.start >= maxSec * SESSION_RATE) end(state, recent.end);
};

const commit = (state: State): void => {
  const { recent, watch, item, lastEnd } = state;
  const bufferedSamples = recent.end - (item?.start ?? lastEnd);
  if (bufferedSamples < LEAST_COMMIT_SEC * SESSION_RATE) throw commitEmpty(toMs(bufferedSamples));
  // Nobody seems to have spoken: what is still kept of the audio is heard all the same.
  const prefix = samplesOf(watch?.rules.prefixPaddingMs ?? 0) + LOOKBACK_SEC * SESSION_RATE;
  if (!item) begin(state, Math.max(lastEnd, recent.end - prefix), false);
  end(state, recent.end);
};

const drop = (state: State): void => {
  state.item?.drop();
  state.item = undefined;
};

const clear = (state: State): void => {
  const { recent, watch } = state;
  drop(state);
  recent.clear();
  state.lastEnd = recent.end;
  state.items.tell({ type: 'cleared' });
  if (watch) state.watch = watchFrom(watch.rules, watch.detector, recent.end, watch.settling);
};

const configure = async (state: State, rules: TurnDetection | null, detectors: Detectors): Promise<void> => {
  const { watch, recent } = state;
  const kept = rules !== null && watch?.rules.threshold === rules.threshold ? watch.detector : undefined;
  const detector = rules === null ? undefined : (kept ?? (await detectors(rules.threshold)));
  if (!kept) watch?.detector.dispose();
  state.watch =
    rules && detector
      ? watchFrom(rules, detector, recent.end, kept && watch ? watch.settling : SETTLING_FRAMES)
      : undefined;
  if (state.item) state.watch?.turns.assume();
  recent.keep(samplesOf(rules?.prefixPaddingMs ?? 0) + LOOKBACK_SEC * SESSION_RATE);
};

export const createListening = (parts: ListeningParts): Listening => {
  const state: State = { ...parts, recent: createRecent(), watch: undefined, item: undefined, lastEnd: 0 };
  return {
    feed: (samples) => {
      const pieceSamples = PIECE_SEC * SESSION_RATE;
      for (let at = 0; at < samples.length; at += pieceSamples)
        feedPiece(state, samples.subarray(at, at + pieceSamples));
    },
    commit: () => commit(state),
    end: () => end(state, state.recent.end),
    clear: () => clear(state),
    configure: (rules, detectors) => configure(state, rules, detectors),
    close: () => {
      drop(state);
      state.watch?.detector.dispose();
      state.watch = undefined;
    },
  };
};

const commitEmpty = (bufferedMs: number) =>
  problem('invalid_request', `There are only ${bufferedMs} ms of audio; a commit needs 100 ms.`, {
    details: { reason: 'input_audio_buffer_commit_empty' },
  });
