/** Search within a transcript: how many places there are, and one after the other. */
import { ChevronDown, ChevronUp, Search } from 'lucide-react';
import { useDeferredValue, useMemo, useState } from 'react';
import { useResultTexts } from './result-texts.ts';
import { type Edits, type Layout, type Match, search } from './transcript.ts';

export type Find = {
  readonly text: string;
  readonly setText: (text: string) => void;
  readonly matches: readonly Match[];
  /** The place one is at; undefined without any. */
  readonly current: Match | undefined;
  /** Counts every step, so that the same place can be gone to again. */
  readonly step: { readonly at: number; readonly turn: number };
  readonly move: (by: 1 | -1) => void;
};

export const useSearch = (layout: Layout, edits: Edits): Find => {
  const [text, setTextState] = useState('');
  const [step, setStep] = useState({ at: 0, turn: 0 });
  const wanted = useDeferredValue(text);
  const matches = useMemo(() => search(layout, edits, wanted), [layout, edits, wanted]);
  const setText = (next: string): void => {
    setTextState(next);
    setStep(({ turn }) => ({ at: 0, turn: turn + 1 }));
  };
  const move = (by: 1 | -1): void => {
    if (matches.length === 0) return;
    setStep(({ at, turn }) => ({ at: (at + by + matches.length) % matches.length, turn: turn + 1 }));
  };
  return { text, setText, matches, current: matches[step.at], step, move };
};

export const SearchBox = ({ find }: { find: Find }) => {
  const t = useResultTexts();
  const { text, setText, matches, step, move } = find;
  return (
    <search className="search">
      <Search aria-hidden />
      <input
        type="search"
        aria-label={t.search}
        placeholder={t.search}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter') return;
          event.preventDefault();
          move(event.shiftKey ? -1 : 1);
        }}
      />
      <output className="small faint">{text.trim() === '' ? '' : t.found(step.at + 1, matches.length)}</output>
      <button type="button" className="icon-button" aria-label={t.previous} onClick={() => move(-1)}>
        <ChevronUp aria-hidden />
      </button>
      <button type="button" className="icon-button" aria-label={t.next} onClick={() => move(1)}>
        <ChevronDown aria-hidden />
      </button>
    </search>
  );
};
