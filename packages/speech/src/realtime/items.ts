/**
 * The utterances of a session from their beginning to their text. Texts are told in the order in which the utterances
 * were committed, whichever is recognised first.
 */
import { createPrefixedId } from '@parley/kit/ids.ts';
import { asProblem } from '@parley/kit/problem.ts';
import { problem } from '../core/codes.ts';
import type { RealtimeEvent } from '../core/realtime.ts';
import type { Word } from '../core/types.ts';
import { createDeltas } from './deltas.ts';
import type { Finished } from './finish.ts';
import type { Ear, Heard, Hearing, HearingOptions } from './hearing.ts';
import { SESSION_RATE } from './intake.ts';
import { createOutbox, type Outbox } from './outbox.ts';

/** An utterance that is being said. Places are samples since the session began. */
export type Item = {
  readonly id: string;
  readonly start: number;
  /** Whether its beginning was told. */
  readonly announced: boolean;
  /** Place up to which it was pushed. */
  fed: number;
  push(samples: Int16Array): void;
  /** Ends it at this place: told as committed, its text follows. */
  commit(end: number): void;
  drop(): void;
};

type Outcome = Heard | Error;
type Entry = {
  readonly id: string;
  readonly start: number;
  readonly language: string | undefined;
  hearing: Hearing | undefined;
  end: number | undefined;
  previousId: string | null;
  outcome: Outcome | undefined;
};

export type Items = {
  /** Tells an event in its turn among those of the utterances. */
  tell(event: RealtimeEvent): void;
  begin(options: BeginOptions): Item;
  /** Samples that wait for an engine, of all utterances. */
  pendingSamples(): number;
  /** Resolves at the next progress. */
  moved(): Promise<void>;
  settled(): Promise<void>;
  close(): void;
};

export type BeginOptions = {
  readonly ear: Ear;
  readonly hearing: HearingOptions;
  readonly finish: (heard: Heard) => Promise<Finished>;
  readonly start: number;
  readonly announced: boolean;
  /** The decoder thinks that this one is over. */
  readonly onEndpoint: (item: Item) => void;
};

export const toMs = (place: number): number => Math.round((place * 1000) / SESSION_RATE);

/** What the items of one session share. */
type Shared = {
  /** Not yet settled. */
  readonly live: Set<Entry>;
  readonly outbox: Outbox;
  /** Ended, their text not yet told. */
  committed: Entry[];
  lastId: string | null;
  /** Resolved and replaced at every progress. */
  change: PromiseWithResolvers<void>;
  closed: boolean;
};

const tellChange = (shared: Shared): void => {
  shared.outbox.advance();
  shared.change.resolve();
  shared.change = Promise.withResolvers();
};

const emit = (shared: Shared, event: RealtimeEvent): void => {
  if (!shared.closed) shared.outbox.tell(event);
};

const outcomeEvent = (entry: Entry, end: number, outcome: Outcome): RealtimeEvent => {
  const { id: itemId } = entry;
  if (outcome instanceof Error) return { type: 'failed', itemId, problem: asProblem(outcome) };
  return {
    type: 'completed',
    itemId,
    previousItemId: entry.previousId,
    transcript: outcome.text,
    startMs: toMs(entry.start),
    endMs: toMs(end),
    model: outcome.model,
    language: entry.language,
    words: outcome.words && shift(outcome.words, entry.start / SESSION_RATE),
  };
};

/** Tells the texts that are due. */
const flush = (shared: Shared): void => {
  const { committed } = shared;
  for (let head = committed[0]; head?.outcome && head.end !== undefined; head = committed[0]) {
    committed.shift();
    emit(shared, outcomeEvent(head, head.end, head.outcome));
  }
  tellChange(shared);
};

/** Starts the hearing of an entry and lets its words become events. */
const hear = (shared: Shared, entry: Entry, options: BeginOptions, onEndpoint: () => void): Hearing => {
  const { ear, hearing } = options;
  const deltas = createDeltas(ear.retracts);
  const tellText = (delta: string, text: string): void =>
    emit(shared, { type: 'text', itemId: entry.id, delta, text, startMs: toMs(entry.start) });
  const settle = (outcome: Outcome): void => {
    entry.outcome = outcome;
    shared.live.delete(entry);
    flush(shared);
  };
  const tellRest = (text: string): void => {
    const delta = deltas.finish(text);
    if (delta !== '') tellText(delta, text);
  };
  const settleHeard = async (heard: Heard): Promise<void> => {
    // Live texts end as they began, without marks; who had none hears the finished text only.
    const isLive = deltas.told !== '';
    if (isLive) tellRest(heard.text);
    tellChange(shared);
    const finished = await options.finish(heard).catch((): Finished => ({ heard, warnings: [] }));
    for (const warning of finished.warnings) emit(shared, { type: 'warning', warning });
    if (!isLive) tellRest(finished.heard.text);
    settle(finished.heard);
  };
  return ear.begin(hearing, {
    onText: (text) => {
      // An engine that was started again repeats what was told before.
      if (text !== '' && text !== deltas.told) tellText(deltas.push(text), text);
    },
    onProgress: () => tellChange(shared),
    onEndpoint,
    onRestart: (reason) => emit(shared, { type: 'error', problem: asRestart(reason) }),
    onDegraded: () => emit(shared, { type: 'warning', warning: DEGRADED }),
    onHeard: (heard) => void settleHeard(heard),
    onFailed: settle,
  });
};

const DEGRADED = { code: 'postprocessing_degraded', message: 'The final model failed; the live text stands.' } as const;

const begin = (shared: Shared, options: BeginOptions): Item => {
  const { start, announced } = options;
  const id = createPrefixedId('item');
  const { language } = options.hearing;
  const entry: Entry = {
    id,
    start,
    language,
    hearing: undefined,
    end: undefined,
    previousId: null,
    outcome: undefined,
  };
  shared.live.add(entry);
  const hearing = hear(shared, entry, options, () => options.onEndpoint(item));
  entry.hearing = hearing;
  const item: Item = {
    id,
    start,
    announced,
    fed: start,
    push: (samples) => {
      hearing.push(samples);
      item.fed += samples.length;
    },
    commit: (end) => {
      entry.end = end;
      entry.previousId = shared.lastId;
      shared.committed.push(entry);
      shared.outbox.holdFor(id, () => hearing.behindSamples() === 0);
      if (announced) emit(shared, { type: 'speech-stopped', itemId: id, endMs: toMs(end) });
      emit(shared, { type: 'committed', itemId: id, previousItemId: shared.lastId });
      shared.lastId = id;
      hearing.finish();
      // It may have failed while it was being said.
      if (entry.outcome) flush(shared);
    },
    drop: () => {
      shared.live.delete(entry);
      hearing.close();
      tellChange(shared);
    },
  };
  return item;
};

export const createItems = (onEvent: (event: RealtimeEvent) => void): Items => {
  const shared: Shared = {
    outbox: createOutbox(onEvent),
    live: new Set(),
    committed: [],
    lastId: null,
    change: Promise.withResolvers(),
    closed: false,
  };
  return {
    tell: (event) => emit(shared, event),
    begin: (options) => begin(shared, options),
    pendingSamples: () => shared.live.values().reduce((sum, { hearing }) => sum + (hearing?.pendingSamples() ?? 0), 0),
    moved: () => shared.change.promise,
    settled: async () => {
      while (shared.committed.length > 0 && !shared.closed) await shared.change.promise;
    },
    close: () => {
      shared.closed = true;
      for (const { hearing } of shared.live) hearing?.close();
      shared.live.clear();
      shared.committed = [];
      tellChange(shared);
    },
  };
};

const shift = (words: readonly Word[], bySec: number): Word[] =>
  words.map((word) => ({ ...word, start: word.start + bySec, end: word.end + bySec }));

const asRestart = (cause: Error) =>
  problem('inference_failed', 'The engine ended and was started again; the utterance is heard once more.', { cause });
