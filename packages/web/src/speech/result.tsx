/** One job: its progress while it lives, its result when it is done. A reload goes on where it was. */
import type { JobRecord } from '@parley/speech/core/job-record.ts';
import type { Segment } from '@parley/speech/core/types.ts';
import { ArrowLeft } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import { Link } from 'wouter';
import { PageTitle } from '../shared/layout.tsx';
import { Fault, Loading } from '../shared/parts.tsx';
import { isOver } from './job-hub.ts';
import { useResultTexts } from './result-texts.ts';
import { ResultView } from './result-view.tsx';
import { RetryButton } from './retry.tsx';
import { JobProgress, StatusBadge } from './status.tsx';
import { useStudio } from './studio.tsx';

type Followed = { readonly job?: JobRecord; readonly error?: Error; readonly segments: readonly Segment[] };

const useJob = (id: string): Followed => {
  const { hub } = useStudio();
  const [state, setState] = useState<Followed>({ segments: [] });
  useEffect(() => {
    setState({ segments: [] });
    return hub.follow(id, {
      onRecord: (job) => setState((before) => ({ ...before, job })),
      onSegment: (segment) => setState((before) => ({ ...before, segments: [...before.segments, segment] })),
      onFault: (error) => setState((before) => ({ ...before, error })),
    });
  }, [hub, id]);
  return state;
};

export const ResultPage = ({ id }: { id: string }) => {
  const t = useResultTexts();
  const { job, error, segments } = useJob(id);
  return (
    <>
      <Link href="/jobs" className="back small">
        <ArrowLeft aria-hidden /> {t.back}
      </Link>
      <PageTitle aside={job ? <JobActions job={job} /> : undefined}>{job?.filename ?? t.untitled}</PageTitle>
      {error ? <Fault error={error} /> : null}
      {job ? <JobState job={job} segments={segments} /> : error ? null : <Loading />}
    </>
  );
};

const JobActions = ({ job }: { job: JobRecord }) => {
  const t = useResultTexts();
  const { api } = useStudio();
  return (
    <div className="row">
      <StatusBadge status={job.status} />
      {isOver(job) ? (
        <RetryButton job={job} />
      ) : (
        <button
          type="button"
          className="button quiet small"
          onClick={() => void api.request(`/api/v1/jobs/${job.id}`, { method: 'DELETE' }).catch(() => undefined)}
        >
          {t.cancel}
        </button>
      )}
    </div>
  );
};

const JobState = ({ job, segments }: { job: JobRecord; segments: readonly Segment[] }) => {
  const t = useResultTexts();
  if (job.result) return <ResultView key={job.id} job={job} transcript={job.result} />;
  if (job.error) return <Fault error={new Error(job.error.message)} />;
  if (isOver(job)) return <p className="faint">{t.canceled}</p>;
  return (
    <div className="stack">
      <div className="card">
        <JobProgress job={job} />
      </div>
      {segments.length > 0 ? <SoFar segments={segments} /> : null}
    </div>
  );
};

/** Enough to see that it goes on; the whole comes with the result. */
const SHOWN_SEGMENTS = 12;

const SoFar = ({ segments }: { segments: readonly Segment[] }) => {
  const t = useResultTexts();
  const end = useRef<HTMLParagraphElement>(null);
  return (
    <section className="card so-far" aria-label={t.soFar}>
      <h2>{t.soFar}</h2>
      {segments.slice(-SHOWN_SEGMENTS).map((segment) => (
        <p key={`${segment.channel}-${segment.start}`} ref={end}>
          {segment.text}
        </p>
      ))}
    </section>
  );
};
