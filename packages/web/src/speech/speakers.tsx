/** Who speaks: a colour, a name that can be changed, and for how long. */
import type { Transcript } from '@parley/speech/core/types.ts';
import { formatClock } from '../shared/format.ts';
import type { Editing } from './edits.ts';
import { useResultTexts } from './result-texts.ts';
import type { Layout } from './transcript.ts';

const COLOURS = 8;

/** The class that gives a speaker a colour. */
export const colourOf = (layout: Layout, speaker: string | undefined): string =>
  speaker === undefined ? '' : `speaker-${layout.speakers.indexOf(speaker) % COLOURS}`;

type SpeakersProps = { readonly layout: Layout; readonly transcript: Transcript; readonly editing: Editing };

export const Speakers = ({ layout, transcript, editing }: SpeakersProps) => {
  const t = useResultTexts();
  const secondsOf = (speaker: string): number =>
    transcript.speakers?.find(({ id }) => id === speaker)?.total_speech ??
    layout.segments.filter((one) => one.speaker === speaker).reduce((sum, one) => sum + one.endSec - one.startSec, 0);
  return (
    <section className="card" aria-label={t.speakers}>
      <h2 className="section-title">{t.speakers}</h2>
      <ul className="speakers">
        {layout.speakers.map((speaker) => (
          <li key={speaker} className={colourOf(layout, speaker)}>
            <span className="dot" aria-hidden />
            <input
              aria-label={t.speakerName(speaker)}
              placeholder={speaker}
              maxLength={60}
              value={editing.edits.speakers[speaker] ?? ''}
              onChange={(event) => editing.setSpeaker(speaker, event.target.value)}
            />
            <span className="faint small">{formatClock(secondsOf(speaker))}</span>
          </li>
        ))}
      </ul>
    </section>
  );
};
