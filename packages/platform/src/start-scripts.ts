/** The part of the composition that runs service scripts. */
import { systemClock } from '@parley/kit/clock.ts';
import type { Log } from '@parley/kit/log.ts';
import { createScriptElementsEndpoint } from './endpoints/script-elements.ts';
import { createScriptRunEndpoints } from './endpoints/script-runs.ts';
import type { Platform } from './platform.ts';
import type { RestEndpoint } from './rest/endpoint.ts';
import { ELEMENTS } from './scripts/elements/all.ts';
import { createModelEntities } from './scripts/model-entities.ts';
import type { ResumeRequest, RunOutcome, RunRequest } from './scripts/outcome.ts';
import { createPace } from './scripts/pace.ts';
import type { ScriptParts } from './scripts/parts.ts';
import { createRestEntities, requireRoute } from './scripts/rest-entities.ts';
import { resumeScript, runScript } from './scripts/run.ts';
import { createRunBook, toKept } from './scripts/run-book.ts';
import { createScripts } from './scripts/script.ts';
import type { ScriptServices } from './scripts/services.ts';
import type { PlatformSettings } from './settings.ts';

export type RunningScripts = {
  run(request: RunRequest): Promise<RunOutcome>;
  resume(request: ResumeRequest): Promise<RunOutcome>;
  readonly endpoints: readonly RestEndpoint[];
};

type Parts = {
  readonly values: PlatformSettings;
  readonly platform: Platform;
  /** What elements need of other parts. */
  readonly services: ScriptServices;
  readonly log: Log;
};

export const startScripts = ({ values, platform, services, log }: Parts): RunningScripts => {
  const { engine, model, resources, sandbox } = platform;
  const { domains } = engine;
  const book = createRunBook();
  const entities = createRestEntities({
    engine,
    resources: resources.all,
    model: createModelEntities(engine, model, requireRoute),
  });
  const parts: ScriptParts = {
    domains,
    scripts: createScripts(),
    elements: ELEMENTS,
    sandbox,
    pace: createPace(),
    services: { entities, allowsCode: values['scripts.code'], ...services },
    log,
    onEnd: (outcome, { domain, entry }, scriptId) => {
      const { runId: run } = outcome;
      services.counters?.release(run).catch((error: unknown) => log.warn({ err: error, run }, 'not released'));
      if (scriptId !== undefined) book.keep(domain.name, scriptId, toKept(outcome, entry, systemClock.now()));
    },
  };
  const run = (request: RunRequest): Promise<RunOutcome> => runScript(parts, request);
  const resume = (request: ResumeRequest): Promise<RunOutcome> => resumeScript(parts, request);
  return {
    run,
    resume,
    endpoints: [
      createScriptElementsEndpoint(ELEMENTS),
      ...createScriptRunEndpoints({ engine, run, resume, book, clock: systemClock }),
    ],
  };
};
