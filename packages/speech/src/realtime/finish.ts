/** What is done to the final text of an utterance: marks and capitals, numbers as digits; the stages recordings go through. */
import type { Log } from '@parley/kit/log.ts';
import type { ModelInfo, TranscriptionRequest, Warning } from '../core/types.ts';
import { createTextFinish, type TextStages } from '../pipeline/finish-text.ts';
import type { Heard } from './hearing.ts';

/** What a session says of it; `undefined` is what the settings say. */
export type FinishWants = {
  readonly language: string | undefined;
  readonly punctuate: boolean | undefined;
  readonly itn: boolean | undefined;
};

export type Finished = { readonly heard: Heard; readonly warnings: readonly Warning[] };

export type Finish = (wants: FinishWants, signal: AbortSignal, heard: Heard) => Promise<Finished>;

/** The language a text of this model is in, as far as that can be said. */
export const languageOf = (model: ModelInfo, language: string | undefined): string =>
  language ?? model.languages.find((listed) => listed !== 'multi')?.split('-')[0] ?? 'en';

const requestOf = ({ punctuate, itn }: FinishWants): TranscriptionRequest => ({
  model: undefined,
  language: undefined,
  channelMode: undefined,
  diarize: false,
  numSpeakers: 0,
  punctuate,
  itn,
  hotwords: [],
  hotwordsScore: undefined,
  decodingMethod: undefined,
  maxActivePaths: undefined,
  wordTimestamps: undefined,
  voiceActivity: undefined,
  strict: false,
  warnings: [],
});

/** `model` is the one that writes the final text. A stage that fails leaves the text as it is, with a warning. */
export const createFinish =
  (stages: TextStages, model: ModelInfo, id: string, log: Log): Finish =>
  async (wants, signal, heard) => {
    if (heard.text === '') return { heard, warnings: [] };
    const finish = createTextFinish(
      stages,
      { request: requestOf(wants), model, id },
      languageOf(model, wants.language),
      log,
    );
    const { text, words } = heard;
    const draft = {
      start: 0,
      end: 0,
      text,
      channel: 0,
      speaker: null,
      source: 'token',
      ...(words && { words }),
    } as const;
    const [finished] = await finish.finish([draft], signal);
    if (!finished) return { heard, warnings: [] };
    return { heard: { ...heard, text: finished.text, words: words && finished.words }, warnings: finish.warnings() };
  };
