/**
 * Marks the word that is heard. Works on the document itself, once a frame while something plays: React renders nothing
 * for it, so ten thousand words cost no more than ten.
 */
import { type RefObject, useEffect, useRef } from 'react';
import type { Playback } from './player.tsx';
import { type Layout, wordAt } from './transcript.ts';

const MARK = 'data-now';

/** `onSegment` is told whenever another segment is heard. */
export const useHighlight = (
  frame: RefObject<HTMLElement | null>,
  layout: Layout,
  { audio, isPlaying, url }: Playback,
  onSegment: (segment: number) => void,
): void => {
  const latest = useRef(onSegment);
  latest.current = onSegment;
  // biome-ignore lint/correctness/useExhaustiveDependencies: another address is another audio element's content.
  useEffect(() => {
    const element = audio.current;
    if (!element) return undefined;
    const state = { word: -1, segment: -1 };
    const show = (): void => {
      const word = wordAt(layout, element.currentTime);
      const isNew = word !== state.word;
      state.word = word;
      markWord(frame.current, word);
      if (!isNew || word < 0) return;
      const segment = layout.segmentOf[word]!;
      if (segment !== state.segment) latest.current(segment);
      state.segment = segment;
    };
    let request = 0;
    const loop = (): void => {
      show();
      request = requestAnimationFrame(loop);
    };
    if (isPlaying) loop();
    // What is paused may still be sought through.
    element.addEventListener('seeked', show);
    return () => {
      cancelAnimationFrame(request);
      element.removeEventListener('seeked', show);
    };
  }, [audio, layout, isPlaying, url]);
};

/** A row that came into view since has its word marked too. */
const markWord = (frame: HTMLElement | null, word: number): void => {
  const marked = frame?.querySelector<HTMLElement>(`[${MARK}]`);
  if (marked?.dataset.word === String(word)) return;
  marked?.removeAttribute(MARK);
  if (word >= 0) frame?.querySelector(`[data-word="${word}"]`)?.setAttribute(MARK, '');
};
