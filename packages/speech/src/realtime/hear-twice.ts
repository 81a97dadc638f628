/** Partial texts from a streaming model, the final one from an offline model that hears the whole utterance afterwards. */

import { hearWhole, type WholeParts } from './hear-whole.ts';
import type { Ear, Heard, Hearing, HearingListener, HearingOptions } from './hearing.ts';
import { joinSamples } from './recent.ts';

const beginTwice = (first: Ear, second: WholeParts, options: HearingOptions, listener: HearingListener): Hearing => {
  const said: Int16Array[] = [];
  const stop = new AbortController();
  let waitingSamples = 0;

  const hearAgain = async (): Promise<Heard | Error> => {
    const samples = joinSamples(said.splice(0));
    waitingSamples = samples.length;
    const outcome = await hearWhole(second, samples, options, stop.signal).catch((thrown: unknown) => thrown);
    waitingSamples = 0;
    listener.onProgress();
    return outcome as Heard | Error;
  };
  let again: Promise<Heard | Error> | undefined;
  /** Set when the first model gave up before the utterance was over: the second one can still save it. */
  let early: Error | undefined;
  const settle = async (firstHeard: Heard | Error): Promise<void> => {
    const better = await again;
    if (stop.signal.aborted) return;
    const heard = better instanceof Error ? firstHeard : (better ?? firstHeard);
    if (better instanceof Error && !(firstHeard instanceof Error)) listener.onDegraded(better);
    if (heard instanceof Error) listener.onFailed(heard);
    else listener.onHeard(heard);
  };
  const hearing = first.begin(options, {
    ...listener,
    onHeard: (heard) => void settle(heard),
    onFailed: (reason) => {
      if (again === undefined) early = reason;
      else void settle(reason);
    },
  });
  return {
    push: (samples) => {
      said.push(samples);
      hearing.push(samples);
    },
    finish: () => {
      again = hearAgain();
      hearing.finish();
      if (early) void settle(early);
    },
    close: () => {
      stop.abort(new Error('The utterance was dropped.'));
      hearing.close();
    },
    behindSamples: hearing.behindSamples,
    pendingSamples: () => Math.max(waitingSamples, hearing.pendingSamples()),
  };
};

export const createTwiceEar = (first: Ear, second: WholeParts): Ear => ({
  retracts: first.retracts,
  maxSec: first.maxSec,
  begin: (options, listener) => beginTwice(first, second, options, listener),
});
