/** kill -9 at random moments: what was accepted or acknowledged and is not there afterwards. */
import { runKills } from '../../packages/platform/test/kill.ts';
import { killJobs } from '../soak/jobs-kill.ts';
import type { BenchContext, BenchPart } from './part.ts';

const KILLS = 200;
const KILLS_QUICK = 3;

const run = async ({ quick, log, signal }: BenchContext) => {
  const kills = quick ? KILLS_QUICK : KILLS;
  const seed = Date.now() % 1_000_000;
  log(`seed ${seed}: ${kills} kills of the platform under eight writers`);
  // Throws when a write that was acknowledged is not there with its entry, or one is half there.
  const writes = await runKills(kills, seed);
  signal.throwIfAborted();
  log(`${kills} kills of the speech service under jobs`);
  const jobs = await killJobs(kills, seed);
  for (const fault of jobs.faults) log(fault);
  const rows = [
    {
      figure: `platform, ${writes.kills} times: acknowledged writes and their journal entries lost`,
      value: '0',
      target: '0',
      met: true,
      note: `${writes.acknowledged} acknowledged; ${writes.unanswered} unanswered, none half there`,
    },
    {
      figure: `speech, ${jobs.kills} times: accepted jobs lost, and other faults`,
      value: `${jobs.faults.length}`,
      target: '0',
      met: jobs.faults.length === 0,
      note: `${jobs.accepted} accepted, ${jobs.succeeded} succeeded, ${jobs.canceled} cancelled, ${jobs.deliveries} delivered`,
    },
  ];
  return { rows, notes: [`Seed ${seed}; \`npm run soak -- platform-kill\` and \`jobs-kill\` do the same.`] };
};

export const KILLS_BENCH: BenchPart = { name: 'kills', title: 'kill -9 at random moments', run };
