/**
 * One realtime session: audio in, utterances with their texts out. It finds the turns of speech, or lets the client
 * commit, and hands each utterance to an ear (hearing.ts). Orders are obeyed one after the other.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ModelChoice, RealtimeConfig, RealtimeEvent, RealtimeSession } from '../core/realtime.ts';
import type { Ears } from './ears.ts';
import { createIntake, SESSION_RATE } from './intake.ts';
import { createItems } from './items.ts';
import { createListening, type Detectors } from './listening.ts';

export type SessionParts = {
  readonly id: string;
  /** Opens other models; the session disposes what it was given. */
  readonly openEars: (choice: ModelChoice, signal: AbortSignal) => Promise<Ears>;
  readonly ears: Ears;
  readonly detectors: Detectors;
  /** Seconds that may wait for the engine before `append` makes the client wait. */
  readonly maxBufferedSec: number;
  readonly onEvent: (event: RealtimeEvent) => void;
  readonly onClose: () => void;
};

/** Bytes taken in between two turns of the event loop, so that a large message does not hold up the other sessions. */
const SLICE_BYTES = 64 * 1024;

/** Runs work one after the other. */
const createOrder = () => {
  let last: Promise<unknown> = Promise.resolve();
  return <T>(work: () => Promise<T>): Promise<T> => {
    const done = last.then(work, work);
    last = done.catch(() => undefined);
    return done;
  };
};

/** Opens a session. */
export const openSession = async (parts: SessionParts, first: RealtimeConfig): Promise<RealtimeSession> => {
  let config = first;
  let ears = parts.ears;
  let intake = createIntake(config.format);
  let closing: Promise<void> | undefined;
  const stop = new AbortController();
  const items = createItems(parts.onEvent);
  const listening = createListening({
    items,
    ear: () => ears.ear,
    finish: () => ears.finish.bind(undefined, config, stop.signal),
    hearingOptions: () => ({ bandHz: intake.bandHz, language: config.language, hotwords: config.hotwords }),
  });
  await listening.configure(config.turnDetection, parts.detectors);

  /** Resolves when the engine has caught up far enough, or the session is over. */
  const room = async (): Promise<void> => {
    while (closing === undefined && items.pendingSamples() > parts.maxBufferedSec * SESSION_RATE) await items.moved();
  };
  const inOrder = createOrder();

  const append = async (bytes: Uint8Array): Promise<void> => {
    for (let at = 0; at < bytes.length && closing === undefined; at += SLICE_BYTES) {
      if (at > 0) await nextTurn();
      listening.feed(intake.take(bytes.subarray(at, at + SLICE_BYTES)));
      await room();
    }
  };
  const configure = async (next: RealtimeConfig): Promise<void> => {
    const { format } = config;
    if (next.format.encoding !== format.encoding || next.format.rate !== format.rate) {
      listening.feed(intake.flush());
      intake = createIntake(next.format);
    }
    config = next;
    await listening.configure(next.turnDetection, parts.detectors);
  };
  const useModels: RealtimeSession['useModels'] = async (choice) => {
    const opened = await parts.openEars(choice, stop.signal);
    listening.feed(intake.flush());
    listening.end();
    const replaced = ears;
    ears = opened;
    // The texts of what was said before still come from the old ones.
    await items.settled();
    await replaced[Symbol.asyncDispose]();
  };
  const close = async (): Promise<void> => {
    stop.abort(new Error('The session is over.'));
    listening.close();
    items.close();
    await inOrder(async () => undefined);
    await ears[Symbol.asyncDispose]();
    parts.onClose();
  };

  return {
    id: parts.id,
    models: () => ears.models,
    append: (bytes) => inOrder(() => append(bytes)),
    commit: () =>
      inOrder(async () => {
        listening.feed(intake.flush());
        listening.commit();
      }),
    clear: () =>
      inOrder(async () => {
        intake.reset();
        listening.clear();
      }),
    configure: (next) => inOrder(() => configure(next)),
    useModels: (choice) => inOrder(() => useModels(choice)),
    settled: () => items.settled(),
    [Symbol.asyncDispose]: () => {
      closing ??= close();
      return closing;
    },
  };
};
