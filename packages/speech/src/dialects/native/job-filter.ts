/** The query of `GET /api/v1/jobs` → a checked filter. */

import type { JobStatus } from '../../core/job-record.ts';
import type { JobFilter } from '../../core/speech.ts';
import { createFormReader } from '../form.ts';

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 200;
const STATUSES = [
  'queued',
  'running',
  'succeeded',
  'failed',
  'canceled',
  'expired',
] as const satisfies readonly JobStatus[];
/** The other spelling that people type. */
const STATUS_ALIASES: Readonly<Record<string, JobStatus>> = { cancelled: 'canceled' };
const SOURCES = ['api', 'ui'] as const;
const INCLUDES = ['result'] as const;
const RFC_3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/i;

/** Problem: invalid_request naming the bad parameter. */
export const readJobFilter = (query: unknown): JobFilter => {
  const entries = Object.entries(query as Record<string, string | string[]>);
  const read = createFormReader(new Map(entries.map(([name, value]) => [name, [value].flat()])));
  const readInstant = (name: string): string | undefined => {
    const text = read.text(name);
    if (text === undefined) return undefined;
    if (RFC_3339.test(text) && !Number.isNaN(Date.parse(text))) return new Date(text).toISOString();
    return read.fault(name, `${name} must be an instant such as 2026-01-31T12:00:00Z.`);
  };
  const filter: JobFilter = {
    limit: read.int('limit', 1, MAX_LIMIT) ?? DEFAULT_LIMIT,
    cursor: read.text('cursor'),
    statuses: read.all('status').flatMap((text) => {
      const status = STATUS_ALIASES[text] ?? STATUSES.find((one) => one === text);
      if (!status) read.fault('status', `status must be one of ${STATUSES.join(', ')}.`);
      return status ? [status] : [];
    }),
    model: read.text('model'),
    source: read.choice('source', SOURCES),
    since: readInstant('since'),
    until: readInstant('until'),
    keyId: read.text('key'),
    includeResult: read.choice('include', INCLUDES) === 'result',
  };
  read.finish();
  return filter;
};
