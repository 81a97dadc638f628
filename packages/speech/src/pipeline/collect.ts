/** Utterances on their way through the line: so many at once, and put back into the order of the recording. */
import type { LaidSegment } from '../audio/audio.ts';
import type { DraftSegment } from './assemble.ts';

/** Lets `limit` pass at once; `empty` resolves when all have left. */
export const createGate = (limit: number) => {
  let inside = 0;
  let waiters: (() => void)[] = [];
  const changed = (): Promise<void> => new Promise((resolve) => waiters.push(resolve));
  return {
    enter: async (): Promise<void> => {
      while (inside >= limit) await changed();
      inside += 1;
    },
    leave: (): void => {
      inside -= 1;
      const woken = waiters;
      waiters = [];
      for (const wake of woken) wake();
    },
    empty: async (): Promise<void> => {
      while (inside > 0) await changed();
    },
  };
};

export type Collector = {
  /** Keeps the utterance's place; the function returned fills it. */
  expect(audio: LaidSegment): (drafts: readonly DraftSegment[]) => void;
};

/**
 * Takes results, which come in any order, and passes each draft on as soon as all earlier ones are there; `onPlace` is told
 * of each utterance's end, s.
 */
export const createCollector = (take: (draft: DraftSegment) => void, onPlace: (endSec: number) => void): Collector => {
  const places: { readonly endSec: number; drafts: readonly DraftSegment[] | undefined }[] = [];
  let next = 0;
  const takeReady = (): void => {
    for (let place = places[next]; place?.drafts; place = places[next]) {
      place.drafts.forEach(take);
      next += 1;
      onPlace(place.endSec);
    }
  };
  return {
    expect: (audio) => {
      const place = { endSec: audio.start + audio.samples.length / audio.sampleRate, drafts: undefined };
      const index = places.push(place) - 1;
      return (drafts) => {
        places[index]!.drafts = drafts;
        takeReady();
      };
    },
  };
};
