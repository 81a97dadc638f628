/** A finished transcript with everything that can be done with it. */
import type { JobRecord } from '@parley/speech/core/job-record.ts';
import type { Transcript } from '@parley/speech/core/types.ts';
import { useMemo, useState } from 'react';
import { formatClock, formatDuration, formatNumber } from '../shared/format.ts';
import { useLanguage } from '../shared/i18n.tsx';
import { Badge } from '../shared/parts.tsx';
import { useEdits } from './edits.ts';
import { ExportBar } from './export-bar.tsx';
import { Player, usePlayback } from './player.tsx';
import { useResultTexts } from './result-texts.ts';
import { SearchBox, useSearch } from './search-box.tsx';
import { Speakers } from './speakers.tsx';
import { useStudio } from './studio.tsx';
import { layOut } from './transcript.ts';
import { TranscriptView } from './transcript-view.tsx';
import { useWarningTexts } from './warning-texts.ts';

/** Confidence is uncalibrated; below a half a word is often wrong. */
const UNSURE_BELOW = 0.5;

export const ResultView = ({ job, transcript }: { job: JobRecord; transcript: Transcript }) => {
  const t = useResultTexts();
  const { submissions } = useStudio();
  const layout = useMemo(() => layOut(transcript), [transcript]);
  const editing = useEdits(job.id);
  const [file, setFile] = useState(submissions.fileOf(job.id));
  const playback = usePlayback(file);
  const find = useSearch(layout, editing.edits);
  const [unsureBelow, setUnsureBelow] = useState(UNSURE_BELOW);
  const [isCorrecting, setCorrecting] = useState(false);
  const [follows, setFollows] = useState(true);
  const attach = (chosen: File): void => {
    submissions.keepFile(job.id, chosen);
    setFile(chosen);
  };
  const corrected = Object.keys(editing.edits.words).length;
  return (
    <div className="stack">
      <Facts transcript={transcript} />
      <Player
        playback={playback}
        file={file}
        onFile={attach}
        transcript={transcript}
        layout={layout}
        follows={follows}
        onFollows={setFollows}
      />
      {layout.speakers.length > 0 ? <Speakers layout={layout} transcript={transcript} editing={editing} /> : null}
      <div className="card tools">
        <SearchBox find={find} />
        <ConfidenceRange value={unsureBelow} onChange={setUnsureBelow} />
        <button
          type="button"
          className="button quiet small"
          aria-pressed={isCorrecting}
          onClick={() => setCorrecting(!isCorrecting)}
        >
          {t.correct}
        </button>
        {corrected > 0 ? (
          <button type="button" className="link small" onClick={editing.reset} title={t.undo}>
            {t.corrections(corrected)} · {t.undo}
          </button>
        ) : null}
      </div>
      <TranscriptView
        layout={layout}
        editing={editing}
        playback={playback}
        find={find}
        unsureBelow={unsureBelow}
        isCorrecting={isCorrecting}
        follows={follows}
      />
      <ExportBar job={job} exported={{ transcript, layout, edits: editing.edits }} />
    </div>
  );
};

const Facts = ({ transcript }: { transcript: Transcript }) => {
  const t = useResultTexts();
  const warningTexts = useWarningTexts();
  const { language } = useLanguage();
  const { stats, warnings } = transcript;
  const times = stats.rtf > 0 ? formatNumber(1 / stats.rtf, language, stats.rtf > 0.1 ? 1 : 0) : '–';
  return (
    <>
      <div className="row facts">
        <Badge>{transcript.model}</Badge>
        <Badge>{transcript.language}</Badge>
        <span className="faint small">
          {t.facts(formatClock(transcript.duration), formatDuration(stats.processing_ms / 1000, language), times)}
        </span>
      </div>
      {warnings.length > 0 ? (
        <div className="warning-box">
          <ul>
            {warnings.map((warning) => (
              <li key={warning.code}>{warningTexts[warning.code] ?? warning.message}</li>
            ))}
          </ul>
        </div>
      ) : null}
    </>
  );
};

const ConfidenceRange = ({ value, onChange }: { value: number; onChange: (value: number) => void }) => {
  const t = useResultTexts();
  const percent = Math.round(value * 100);
  return (
    <label className="range small">
      <span>
        {t.unsure} {percent} %
      </span>
      <input
        type="range"
        min={0}
        max={100}
        step={5}
        value={percent}
        onChange={(event) => onChange(Number(event.target.value) / 100)}
      />
    </label>
  );
};
