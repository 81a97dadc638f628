/** Composition of what is done after recognition: installed punctuation and speaker models, and their processes. */
import { join } from 'node:path';
import type { Log } from '@parley/kit/log.ts';
import { createSemaphore } from '@parley/kit/semaphore.ts';
import { type Installed, isUsable, type UsableModel } from './models/installed.ts';
import type { Speakers } from './pipeline/diarize.ts';
import type { TextStages } from './pipeline/finish-text.ts';
import { baseLanguage } from './pipeline/warnings.ts';
import { createPunctuator, type Punctuator } from './recognizer/punctuation-host.ts';
import { type SpeakersPass, startSpeakersPass } from './recognizer/speakers-host.ts';
import type { SpeechSettings } from './settings.ts';

export type Support = {
  readonly text: TextStages;
  readonly speakers: Speakers;
  /** Ends the passes of jobs, because the service stops. Those of requests have the time that requests have. */
  stopJobPasses(): void;
};

const fileOf = (model: UsableModel, role: string): string | undefined => {
  const path = model.manifest.files[role];
  return path === undefined ? undefined : join(model.dir, path);
};

/** The wanted model of this kind when it is installed, else any; the newest of each id comes first. */
const choose = (
  installed: Installed,
  kind: UsableModel['manifest']['kind'],
  wanted: string,
): UsableModel | undefined => {
  const usable = installed
    .list()
    .filter(isUsable)
    .filter((model) => model.manifest.kind === kind);
  const byName = usable.find(({ id, revision }) => wanted === id || wanted === `${id}@${revision}`);
  return byName ?? usable[0];
};

const fitsLanguage = ({ manifest }: UsableModel, language: string): boolean =>
  manifest.languages.some((listed) => listed === 'multi' || baseLanguage(listed) === language);

const findPunctuation = (installed: Installed, wanted: string, language: string): UsableModel | undefined => {
  const fitting = installed
    .list()
    .filter(isUsable)
    .filter((model) => model.manifest.kind === 'punctuation' && fitsLanguage(model, language));
  return fitting.find(({ id, revision }) => wanted === id || wanted === `${id}@${revision}`) ?? fitting[0];
};

const NUM_THREADS = 1;

const openText = (
  settings: SpeechSettings,
  installed: Installed,
  log: Log,
  stack: AsyncDisposableStack,
): TextStages => {
  const { values } = settings;
  const punctuators = new Map<string, Punctuator>();
  stack.defer(async () => {
    await Promise.all([...punctuators.values()].map((punctuator) => punctuator[Symbol.asyncDispose]()));
  });
  const open = (model: UsableModel): Punctuator => {
    const known = punctuators.get(model.dir);
    if (known) return known;
    const files = Object.fromEntries(Object.keys(model.manifest.files).map((role) => [role, fileOf(model, role)!]));
    const punctuator = createPunctuator(
      { id: model.id, family: model.manifest.family, files, numThreads: NUM_THREADS },
      { log, startTimeoutMs: values['asr.engine_start_timeout'], idleMs: values['asr.idle_ttl'] },
    );
    punctuators.set(model.dir, punctuator);
    return punctuator;
  };
  return {
    byDefault: { punctuate: values['postproc.punctuation.enabled'], itn: values['postproc.itn.enabled'] },
    punctuatorFor: (language) => {
      const model = findPunctuation(installed, values['postproc.punctuation.model'], language);
      return model && ((text, signal) => open(model).punctuate(text, signal));
    },
  };
};

/** The two files of speaker models: of one model that has both, or of one for each. */
const findSpeakerFiles = ({ values }: SpeechSettings, installed: Installed) => {
  const both = choose(installed, 'diarization', '');
  const parts = {
    segmentation: choose(installed, 'segmentation', values['diarization.segmentation_model']),
    embedding: choose(installed, 'embedding', values['diarization.embedding_model']),
  };
  const segmentation = parts.segmentation ? fileOf(parts.segmentation, 'model') : both && fileOf(both, 'segmentation');
  const embedding = parts.embedding ? fileOf(parts.embedding, 'model') : both && fileOf(both, 'embedding');
  return segmentation !== undefined && embedding !== undefined ? { segmentation, embedding } : undefined;
};

const openSpeakers = (settings: SpeechSettings, installed: Installed, passes: Map<SpeakersPass, boolean>): Speakers => {
  const { values } = settings;
  return {
    isAvailable: () => values['diarization.enabled'] && findSpeakerFiles(settings, installed) !== undefined,
    places: createSemaphore(values['diarization.max_concurrent']),
    maxDurationSec: values['diarization.max_duration'] / 1000,
    start: async (numSpeakers, isJob) => {
      const files = findSpeakerFiles(settings, installed);
      if (!files) throw new Error('The speaker models are gone.');
      const pass = await startSpeakersPass(
        {
          ...files,
          numSpeakers: numSpeakers || values['diarization.clustering.num_clusters'],
          threshold: values['diarization.clustering.threshold'],
          minDurationOn: values['diarization.min_duration_on'],
          minDurationOff: values['diarization.min_duration_off'],
          numThreads: NUM_THREADS,
        },
        values['asr.engine_start_timeout'],
      );
      passes.set(pass, isJob);
      return {
        ...pass,
        [Symbol.asyncDispose]: async () => {
          passes.delete(pass);
          await pass[Symbol.asyncDispose]();
        },
      };
    },
  };
};

const killAll = (passes: readonly SpeakersPass[]): void => {
  for (const pass of passes) pass.kill('the service is stopping');
};

/** Starts nothing yet; what must be closed goes on the stack. */
export const openSupport = (
  settings: SpeechSettings,
  installed: Installed,
  log: Log,
  stack: AsyncDisposableStack,
): Support => {
  const passes = new Map<SpeakersPass, boolean>();
  stack.defer(() => killAll([...passes.keys()]));
  return {
    text: openText(settings, installed, log, stack),
    speakers: openSpeakers(settings, installed, passes),
    stopJobPasses: () => {
      killAll([...passes].flatMap(([pass, isJob]) => (isJob ? [pass] : [])));
    },
  };
};
