/** The part of the composition that runs service scripts. */
import type { Log } from '@parley/kit/log.ts';
import type { Domains } from './domains/types.ts';
import { ELEMENTS } from './scripts/elements/all.ts';
import type { ResumeRequest, RunOutcome, RunRequest } from './scripts/outcome.ts';
import type { ScriptParts } from './scripts/parts.ts';
import { resumeScript, runScript } from './scripts/run.ts';
import { createSandbox } from './scripts/sandbox-pool.ts';
import { createScripts } from './scripts/script.ts';
import type { ScriptServices } from './scripts/services.ts';

export type RunningScripts = AsyncDisposable & {
  run(request: RunRequest): Promise<RunOutcome>;
  resume(request: ResumeRequest): Promise<RunOutcome>;
};

type Parts = { readonly domains: Domains; readonly services: ScriptServices; readonly log: Log };

export const startScripts = ({ domains, services, log }: Parts): RunningScripts => {
  const sandbox = createSandbox({ log });
  const parts: ScriptParts = {
    domains,
    scripts: createScripts(),
    elements: ELEMENTS,
    sandbox,
    services,
    log,
    onEnd: ({ runId }) => {
      services.counters?.release(runId).catch((error: unknown) => log.warn({ err: error, run: runId }, 'not released'));
    },
  };
  return {
    run: (request) => runScript(parts, request),
    resume: (request) => resumeScript(parts, request),
    [Symbol.asyncDispose]: () => sandbox[Symbol.asyncDispose](),
  };
};
