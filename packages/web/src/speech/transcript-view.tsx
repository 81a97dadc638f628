/**
 * The words of a transcript: click to hear, arrows to walk, F2 to correct. Only the segments in view are in the document.
 */
import { useVirtualizer } from '@tanstack/react-virtual';
import { type KeyboardEvent, type MouseEvent, useCallback, useEffect, useMemo, useRef, useState } from 'react';
import type { Editing } from './edits.ts';
import { useHighlight } from './highlight.ts';
import type { Playback } from './player.tsx';
import { useResultTexts } from './result-texts.ts';
import type { Find } from './search-box.tsx';
import { type Edited, SegmentRow } from './segment-row.tsx';
import type { Layout } from './transcript.ts';

type TranscriptProps = {
  readonly layout: Layout;
  readonly editing: Editing;
  readonly playback: Playback;
  readonly find: Find;
  readonly unsureBelow: number;
  /** A click corrects a word instead of playing it. */
  readonly isCorrecting: boolean;
  readonly follows: boolean;
};

const ROW_HEIGHT_PX = 96;
const OVERSCAN_ROWS = 3;

const wordOf = (target: EventTarget): number | undefined => {
  const word = (target as HTMLElement).closest<HTMLElement>('[data-word]')?.dataset.word;
  return word === undefined ? undefined : Number(word);
};

export const TranscriptView = (props: TranscriptProps) => {
  const { layout, playback, find, follows } = props;
  const t = useResultTexts();
  const frame = useRef<HTMLElement>(null);
  const virtualizer = useVirtualizer({
    count: layout.segments.length,
    getScrollElement: () => frame.current,
    estimateSize: () => ROW_HEIGHT_PX,
    overscan: OVERSCAN_ROWS,
  });
  const show = useCallback((segment: number) => virtualizer.scrollToIndex(segment, { align: 'center' }), [virtualizer]);
  useHighlight(frame, layout, playback, (segment) => {
    if (follows && playback.isPlaying) show(segment);
  });
  const { current, step } = find;
  // biome-ignore lint/correctness/useExhaustiveDependencies: each step goes to its place, also to the same one again.
  useEffect(() => {
    if (current) show(current.segment);
  }, [current, step]);
  const words = useWords(frame, props, show);
  const found = useMemo(() => bySegment(find), [find]);
  if (layout.segments.length === 0) return <p className="card faint">{t.nothing}</p>;
  return (
    <section
      ref={frame}
      className="card transcript"
      aria-label={t.transcript}
      aria-describedby="transcript-keys"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard (WCAG 2.1.1).
      tabIndex={0}
      {...words.handlers}
    >
      <p id="transcript-keys" className="unseen">
        {t.keys}
      </p>
      <div className="transcript-rows" style={{ height: virtualizer.getTotalSize() }}>
        {virtualizer.getVirtualItems().map((item) => (
          <div
            key={item.key}
            ref={virtualizer.measureElement}
            data-index={item.index}
            className="transcript-row"
            style={{ transform: `translateY(${item.start}px)` }}
          >
            <SegmentRow
              layout={layout}
              segment={layout.segments[item.index]!}
              edits={props.editing.edits}
              unsureBelow={props.unsureBelow}
              found={found.get(item.index)}
              current={current?.segment === item.index ? current : undefined}
              edited={words.editedIn(item.index)}
              onEdited={words.finish}
              onTime={playback.seek}
            />
          </div>
        ))}
      </div>
    </section>
  );
};

/** Words that were found, by segment. */
const bySegment = ({ matches }: Find): ReadonlyMap<number, ReadonlySet<number>> => {
  const found = new Map<number, Set<number>>();
  for (const { segment, from, until } of matches) {
    const words = found.get(segment) ?? new Set();
    for (let word = from; word < until; word += 1) words.add(word);
    found.set(segment, words);
  }
  return found;
};

type FrameRef = { readonly current: HTMLElement | null };

/** Mouse and keyboard on words; which one is being corrected. */
const useWords = (frame: FrameRef, props: TranscriptProps, show: (segment: number) => void) => {
  const { layout, editing, playback, isCorrecting } = props;
  const [edited, setEdited] = useState<number>();

  const focusWord = (word: number): void => {
    show(layout.segmentOf[word]!);
    // The row may have to be rendered first.
    requestAnimationFrame(() =>
      requestAnimationFrame(() => frame.current?.querySelector<HTMLElement>(`[data-word="${word}"]`)?.focus()),
    );
  };
  const play = (word: number): void => playback.seek(layout.starts[word]!);
  const step = (word: number | undefined, by: number): void => {
    const first = Number(frame.current?.querySelector<HTMLElement>('[data-word]')?.dataset.word ?? 0);
    const next = word === undefined ? first : word + by;
    if (next >= 0 && next < layout.wordCount) focusWord(next);
  };
  const press = (key: string, word: number | undefined): boolean => {
    if (key === ' ') playback.toggle();
    else if (key === 'ArrowRight') step(word, 1);
    else if (key === 'ArrowLeft') step(word, -1);
    else if (key === 'F2' && word !== undefined) setEdited(word);
    else if (key === 'Enter') word === undefined ? step(word, 0) : play(word);
    else return false;
    return true;
  };
  return {
    editedIn: (segment: number): number | undefined =>
      edited !== undefined && layout.segmentOf[edited] === segment ? edited : undefined,
    finish: ((word, text, byKey) => {
      if (text !== undefined) editing.setWord(word.index, text.trim(), word.text);
      setEdited(undefined);
      if (byKey) focusWord(word.index);
    }) satisfies Edited,
    handlers: {
      onClick: (event: MouseEvent): void => {
        const word = wordOf(event.target);
        if (word === undefined) return;
        if (isCorrecting) setEdited(word);
        else play(word);
      },
      onDoubleClick: (event: MouseEvent): void => setEdited(wordOf(event.target)),
      onKeyDown: (event: KeyboardEvent): void => {
        const isField = (event.target as HTMLElement).tagName === 'INPUT';
        if (isField || event.ctrlKey || event.metaKey || event.altKey) return;
        if (press(event.key, wordOf(event.target))) event.preventDefault();
      },
    },
  };
};
