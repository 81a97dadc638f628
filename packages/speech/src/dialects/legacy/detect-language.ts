/** `POST /detect-language`: the language a model declares, once the recording could be opened. */
import type { Call } from '@parley/kit/http/endpoint.ts';
import { problem } from '../../core/codes.ts';
import type { Caller, ModelInfo, Warning } from '../../core/types.ts';
import type { DialectParts } from '../dialect.ts';
import { languageNameOf, toLanguage } from '../language.ts';
import { mergeWarnings, sendWarningCodes } from '../strict.ts';
import { readRawPcmRate } from './fields.ts';
import { withRecording } from './recording.ts';

/** What a model is taken to speak that declares no language. */
const FALLBACK_LANGUAGE = 'en';

/** Answers language name, code and confidence: 1 when the model declares one language, 0 when the first was taken. */
export const detectLanguage = (parts: DialectParts, call: Call<Caller>): Promise<unknown> =>
  withRecording(
    parts,
    call,
    (read) => ({ model: read.text('model'), rawPcmRate: readRawPcmRate(read) }),
    async ({ model, rawPcmRate }, upload) => {
      await requireTranscriber(parts);
      const asked = { model, ...(rawPcmRate !== undefined && { rawPcmRate }) };
      const found = await parts.speech.inspect(call.caller, asked, upload, call.signal);
      const declared = languageOf(found.model);
      sendWarningCodes(call.reply, mergeWarnings(found.warnings, declared.warnings));
      return () => ({
        detected_language: languageNameOf(declared.code),
        language_code: declared.code,
        confidence: declared.warnings.length === 0 ? 1 : 0,
      });
    },
  );

const requireTranscriber = async ({ speech }: DialectParts): Promise<void> => {
  const models = await speech.models.list();
  const isThere = models.some(({ kind, streaming, problem: fault }) => kind === 'asr' && !streaming && !fault);
  if (!isThere) throw problem('model_unavailable', 'No transcription model is installed.', { param: 'model' });
};

type Declared = { readonly code: string; readonly warnings: readonly Warning[] };

const languageOf = (model: ModelInfo): Declared => {
  const codes = [...new Set(model.languages.filter((tag) => tag !== 'multi').flatMap((tag) => toLanguage(tag) ?? []))];
  const code = codes[0] ?? FALLBACK_LANGUAGE;
  if (codes.length === 1) return { code, warnings: [] };
  const message = `${model.id} declares ${codes.length} languages; ${code} was taken.`;
  return { code, warnings: [{ code: 'language_detection_unavailable', message }] };
};
