import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { isTerminal, type JobEvent, type JobRow, next } from './job.ts';

const NOW = '2026-01-02T03:04:05.000Z';

const queued: JobRow = {
  id: 'job_1',
  key_id: 'k',
  status: 'queued',
  seq: 1,
  attempt: 0,
  source: 'api',
  priority: 'batch',
  model_id: 'm',
  model_rev: '1',
  filename: null,
  audio_bytes: 10,
  audio_seconds: null,
  request: {} as JobRow['request'],
  place: 'here',
  trace: null,
  stage: null,
  percent: null,
  done_seconds: 0,
  segments_told: 0,
  run_started_ms: null,
  run_started_percent: 0,
  created_at: NOW,
  started_at: null,
  finished_at: null,
  error: null,
  callback: { url: 'https://example.org/', status: 'waiting', attempts: 0, last_status: null },
};

const anyEvent: fc.Arbitrary<JobEvent> = fc.constantFrom<JobEvent>(
  { type: 'claimed', attempt: 1 },
  { type: 'progress', stage: 'asr', percent: 50, doneSec: 5, segments: 2 },
  { type: 'interrupted' },
  { type: 'succeeded', audioSeconds: 10 },
  { type: 'failed', error: { code: 'internal', message: '' } },
  { type: 'canceled', delivers: true },
  { type: 'expired', error: { code: 'audio_missing', message: '' } },
);

describe('next', () => {
  it('takes a job through its life and numbers every step', () => {
    const running = next(queued, { type: 'claimed', attempt: 1 }, NOW)!;
    const half = next(running, { type: 'progress', stage: 'asr', percent: 50, doneSec: 5, segments: 0 }, NOW)!;
    const done = next(half, { type: 'succeeded', audioSeconds: 10 }, NOW)!;
    assert.deepEqual([running.status, half.percent, done.status, done.seq], ['running', 50, 'succeeded', 4]);
    assert.equal(done.callback?.status, 'pending');
    assert.equal(done.finished_at, NOW);
  });

  it('puts a job whose process died back and keeps what it had', () => {
    const running = { ...queued, status: 'running' as const, done_seconds: 7, started_at: NOW };
    const back = next(running, { type: 'interrupted' }, NOW)!;
    assert.deepEqual([back.status, back.done_seconds], ['queued', 7]);
  });

  it('never leaves a terminal state, and numbers grow by one with every change', () => {
    const walk = fc.property(fc.array(anyEvent, { maxLength: 30 }), (events) => {
      let job = queued;
      for (const event of events) {
        const after = next(job, event, NOW);
        if (isTerminal(job.status)) assert.equal(after, undefined);
        if (!after) continue;
        assert.equal(after.seq, job.seq + 1);
        assert.equal(after.finished_at !== null, isTerminal(after.status));
        job = after;
      }
    });
    fc.assert(walk);
  });
});
