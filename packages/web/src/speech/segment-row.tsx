/** One segment: when, who, its words; and the silence before it. */
import { memo, useRef, useState } from 'react';
import { formatClock, formatDuration, formatPercent } from '../shared/format.ts';
import { useLanguage } from '../shared/i18n.tsx';
import { useResultTexts } from './result-texts.ts';
import { colourOf } from './speakers.tsx';
import {
  type Edits,
  type Layout,
  type Match,
  nameOf,
  type ShownSegment,
  type ShownWord,
  textOf,
} from './transcript.ts';

/** `text` undefined leaves the word as it was; `byKey` when the keyboard ended it and goes on from there. */
export type Edited = (word: ShownWord, text: string | undefined, byKey: boolean) => void;

type RowProps = {
  readonly layout: Layout;
  readonly segment: ShownSegment;
  readonly edits: Edits;
  readonly unsureBelow: number;
  readonly found: ReadonlySet<number> | undefined;
  readonly current: Match | undefined;
  /** The word that is being corrected. */
  readonly edited: number | undefined;
  readonly onEdited: Edited;
  readonly onTime: (timeSec: number) => void;
};

const isSameRow = (before: RowProps, after: RowProps): boolean =>
  before.segment === after.segment &&
  before.edits === after.edits &&
  before.unsureBelow === after.unsureBelow &&
  before.found === after.found &&
  before.current === after.current &&
  before.edited === after.edited;

export const SegmentRow = memo((props: RowProps) => {
  const { layout, segment, edits, onTime } = props;
  const t = useResultTexts();
  const { language } = useLanguage();
  const isNewSpeaker = segment.at === 0 || layout.segments[segment.at - 1]!.speaker !== segment.speaker;
  return (
    <>
      {segment.silenceSec > 0 ? (
        <div className="silence small">{t.silence(formatDuration(segment.silenceSec, language))}</div>
      ) : null}
      <div className={`segment ${colourOf(layout, segment.speaker)}`}>
        <button type="button" className="time mono" tabIndex={-1} onClick={() => onTime(segment.startSec)}>
          {formatClock(segment.startSec)}
        </button>
        <div className="words">
          {segment.speaker !== undefined && isNewSpeaker ? (
            <div className="speaker-name">{nameOf(segment.speaker, edits)}</div>
          ) : null}
          {segment.words.map((word) => (
            <WordPart key={word.index} {...props} word={word} />
          ))}
        </div>
      </div>
    </>
  );
}, isSameRow);

const WordPart = (props: RowProps & { word: ShownWord }) => (
  <>
    {props.word.glue}
    {props.edited === props.word.index ? <WordEditor {...props} /> : <WordButton {...props} />}
  </>
);

const WordButton = (props: RowProps & { word: ShownWord }) => {
  const text = textOf(props.word, props.edits);
  const title = useWordTitle(props);
  // A word that was taken out leaves a mark to bring it back.
  return (
    <button type="button" tabIndex={-1} data-word={props.word.index} className={classOf(props)} title={title}>
      {text === '' ? '⌫' : text}
    </button>
  );
};

const classOf = ({ word, edits, unsureBelow, found, current }: RowProps & { word: ShownWord }): string => {
  const isEdited = edits.words[word.index] !== undefined;
  const isCurrent = current !== undefined && word.index >= current.from && word.index < current.until;
  const classes = [
    'word',
    isEdited ? 'edited' : '',
    !isEdited && word.confidence !== undefined && word.confidence < unsureBelow ? 'unsure' : '',
    found?.has(word.index) ? 'found' : '',
    isCurrent ? 'current' : '',
  ];
  return classes.filter((one) => one !== '').join(' ');
};

const useWordTitle = ({ word, edits }: RowProps & { word: ShownWord }): string => {
  const t = useResultTexts();
  const { language } = useLanguage();
  const parts = [`${formatClock(word.startSec, true)} – ${formatClock(word.endSec, true)}`];
  if (word.confidence !== undefined) parts.push(t.sure(formatPercent(word.confidence * 100, language)));
  if (word.original !== undefined) parts.push(t.said(word.original));
  if (edits.words[word.index] !== undefined) parts.push(t.recognised(word.text));
  return parts.join(', ');
};

const WordEditor = ({ word, edits, onEdited }: RowProps & { word: ShownWord }) => {
  const t = useResultTexts();
  const [text, setText] = useState(textOf(word, edits));
  const isEnded = useRef(false);
  const finish = (kept: string | undefined, byKey: boolean): void => {
    // Taking the field away blurs it once more.
    if (isEnded.current) return;
    isEnded.current = true;
    onEdited(word, kept, byKey);
  };
  return (
    <input
      className="word-editor"
      aria-label={t.correction}
      size={Math.max(4, text.length + 1)}
      value={text}
      // biome-ignore lint/a11y/noAutofocus: whoever asks to correct a word wants to type.
      autoFocus
      onFocus={(event) => event.target.select()}
      onChange={(event) => setText(event.target.value)}
      onBlur={() => finish(text, false)}
      onKeyDown={(event) => {
        if (event.key === 'Enter') finish(text, true);
        if (event.key === 'Escape') finish(undefined, true);
      }}
    />
  );
};
