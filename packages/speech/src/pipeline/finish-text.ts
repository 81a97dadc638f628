/**
 * What is done to the text of an utterance once it is recognised: marks and capitals, then numbers as digits. Each stage
 * may fail; the text then stays as it was and the answer says so.
 */
import type { Log } from '@parley/kit/log.ts';
import type { ModelInfo, TranscriptionRequest, Warning, Word } from '../core/types.ts';
import type { DraftSegment } from './assemble.ts';
import { hasNumberRules, writeNumbers, writeNumbersIn } from './itn.ts';
import { attachMarks, replaceWords, toPlainText } from './punctuate.ts';
import { warn } from './warnings.ts';
import { splitText } from './words.ts';

/** A model that writes marks into a text. */
export type Punctuate = (text: string, signal: AbortSignal) => Promise<string>;

/** What the house can do to texts. */
export type TextStages = {
  /** The installed punctuation model that fits the language (without region), if there is one. */
  punctuatorFor(language: string): Punctuate | undefined;
  /** What is done when a request does not say. */
  readonly byDefault: { readonly punctuate: boolean; readonly itn: boolean };
};

/** What is done to the texts of one request. */
export type TextFinish = {
  /** The finished segments of one utterance. */
  finish(drafts: readonly DraftSegment[], signal: AbortSignal): Promise<readonly DraftSegment[]>;
  /** What went wrong on the way. */
  warnings(): Warning[];
  /** Time spent so far, ms; utterances are finished side by side, so that this may be more than went by. */
  spentMs(): number;
};

type Stage = (draft: DraftSegment, signal: AbortSignal) => Promise<DraftSegment> | DraftSegment;

const punctuateDraft = async (
  draft: DraftSegment,
  language: string,
  punctuate: Punctuate,
  signal: AbortSignal,
): Promise<DraftSegment> => {
  const words = draft.words?.map(({ word }) => word) ?? splitText(draft.text);
  if (words.length === 0) return draft;
  const written = attachMarks(words, await punctuate(toPlainText(words), signal), language);
  if (!written) throw new Error('The punctuation model changed words.');
  const text = replaceWords(draft.text, words, written);
  const marked = draft.words?.map((word, index): Word => ({ ...word, word: written[index]! }));
  return { ...draft, text, ...(marked && { words: marked }) };
};

const numberDraft = (draft: DraftSegment, language: string): DraftSegment => {
  if (!draft.words) return { ...draft, text: writeNumbers(draft.text, language) };
  const words = writeNumbersIn(draft.words, language);
  // Word for word the same: the text keeps the model's own spaces.
  if (words.every(({ original }) => original === undefined)) return draft;
  return { ...draft, words, text: words.map(({ word }) => word).join(' ') };
};

const stagesOf = (stages: TextStages, request: TranscriptionRequest, model: ModelInfo, language: string): Stage[] => {
  const wantsMarks = (request.punctuate ?? stages.byDefault.punctuate) && !model.capabilities.punctuation_builtin;
  const punctuate = wantsMarks ? stages.punctuatorFor(language) : undefined;
  const wantsDigits = (request.itn ?? stages.byDefault.itn) && hasNumberRules(language);
  return [
    ...(punctuate
      ? [(draft: DraftSegment, signal: AbortSignal) => punctuateDraft(draft, language, punctuate, signal)]
      : []),
    ...(wantsDigits ? [(draft: DraftSegment) => numberDraft(draft, language)] : []),
  ];
};

/** The stages one request goes through; none when it asks for none. */
export const createTextFinish = (
  stages: TextStages,
  { request, model, id }: { readonly request: TranscriptionRequest; readonly model: ModelInfo; readonly id: string },
  language: string,
  log: Log,
): TextFinish => {
  const wanted = stagesOf(stages, request, model, language);
  let failures = 0;
  let spentMs = 0;

  const run = async (draft: DraftSegment, signal: AbortSignal): Promise<DraftSegment> => {
    let current = draft;
    for (const stage of wanted) {
      try {
        current = await stage(current, signal);
      } catch (thrown) {
        signal.throwIfAborted();
        if (failures === 0) log.warn({ request: id, err: thrown }, 'a text stage failed');
        failures += 1;
      }
    }
    return current;
  };

  return {
    finish: async (drafts, signal) => {
      if (wanted.length === 0) return drafts;
      const startedMs = performance.now();
      const finished: DraftSegment[] = [];
      for (const draft of drafts) finished.push(await run(draft, signal));
      spentMs += performance.now() - startedMs;
      return finished;
    },
    warnings: () =>
      failures === 0
        ? []
        : [
            warn(
              'postprocessing_degraded',
              `Text could not be finished in ${failures} places; it stays as recognised there.`,
            ),
          ],
    spentMs: () => spentMs,
  };
};
