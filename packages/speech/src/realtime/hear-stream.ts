/** An utterance on a streaming model. When the engine dies under it, it is said once more, from its beginning, to a new one. */
import { toWords } from '../pipeline/words.ts';
import type { Recognition } from '../recognizer/recognizer.ts';
import type { RecognitionStream, StreamingRecognizer, StreamListener } from '../recognizer/streaming.ts';
import type { Ear, Hearing, HearingListener, HearingOptions } from './hearing.ts';
import { SESSION_RATE } from './intake.ts';

/** How often an utterance is said again: more would let one recording end the engine for ever. */
const MAX_REPLAYS = 1;

const beginStream = (
  recognizer: StreamingRecognizer,
  model: string,
  { language }: HearingOptions,
  listener: HearingListener,
): Hearing => {
  const said: Int16Array[] = [];
  let saidSamples = 0;
  let doneSamples = 0;
  let replays = 0;
  let finished = false;
  let over = false;
  let stream: RecognitionStream | undefined;

  const end = (): void => {
    over = true;
    said.length = 0;
    doneSamples = saidSamples;
  };
  const fail = (reason: unknown): void => {
    if (over) return;
    end();
    listener.onFailed(reason instanceof Error ? reason : new Error('The engine failed.'));
  };
  const onFinal = (recognition: Recognition): void => {
    const durationSec = saidSamples / SESSION_RATE;
    const timed = recognizer.facts.timestamps ? toWords(recognition, { start: 0, end: durationSec }) : undefined;
    end();
    listener.onHeard({ text: recognition.text, words: timed?.words, model });
  };
  const streamListener: StreamListener = {
    onText: listener.onText,
    onEndpoint: listener.onEndpoint,
    onProgress: (samples) => {
      doneSamples = samples;
      listener.onProgress();
    },
    onFinal,
    onLost: (reason) => {
      if (over) return;
      replays += 1;
      if (replays > MAX_REPLAYS) {
        fail(reason);
        return;
      }
      listener.onRestart(reason);
      open();
    },
  };
  const open = (): void => {
    doneSamples = 0;
    try {
      stream = recognizer.openStream(streamListener, language === undefined ? {} : { language });
    } catch (thrown) {
      fail(thrown);
      return;
    }
    for (const samples of said) stream.push(samples, SESSION_RATE);
    if (finished) stream.finish();
  };
  open();

  return {
    push: (samples) => {
      if (over || finished || samples.length === 0) return;
      said.push(samples);
      saidSamples += samples.length;
      stream?.push(samples, SESSION_RATE);
    },
    finish: () => {
      if (over || finished) return;
      finished = true;
      stream?.finish();
    },
    close: () => {
      if (over) return;
      end();
      stream?.close();
    },
    pendingSamples: () => (over ? 0 : saidSamples - doneSamples),
    behindSamples: () => (over ? 0 : saidSamples - doneSamples),
  };
};

/** Hears through a streaming model; `model` is its `id@revision`. */
export const createStreamEar = (recognizer: StreamingRecognizer, model: string, maxSec: number): Ear => ({
  retracts: false,
  maxSec,
  begin: (options, listener) => beginStream(recognizer, model, options, listener),
});
