/** The warnings a result may carry, for people. Codes without a text show what the service says. */
import type { WarningCode } from '@parley/speech/core/types.ts';
import { createTexts } from '../shared/i18n.tsx';

export const useWarningTexts = createTexts<Partial<Record<WarningCode, string>>>({
  en: {},
  ru: {
    word_timestamps_unavailable: 'Модель не даёт времени слов; указано время отрезков.',
    word_confidence_unavailable: 'Модель не сообщает уверенность.',
    hotwords_unavailable: 'Модель не умеет предпочитать слова.',
    hotwords_truncated: 'Список предпочитаемых слов слишком длинный; часть опущена.',
    decoding_method_unavailable: 'Модель декодирует по-своему.',
    punctuation_unavailable: 'Для этого языка нет модели пунктуации.',
    itn_unavailable: 'Для этого языка нет правил записи чисел.',
    diarization_unavailable: 'Различить говорящих нельзя: нет модели, или запись слишком длинная.',
    diarization_skipped_split: 'Говорящие уже разделены по каналам.',
    diarization_found_no_speakers: 'Говорящих не найдено.',
    diarization_fewer_speakers: 'Говорящих найдено меньше, чем указано.',
    diarization_more_speakers: 'Говорящих найдено больше, чем указано.',
    language_mismatch: 'Модель не знает этого языка.',
    no_speech_detected: 'Речи в записи не слышно.',
    audio_truncated: 'Файл обрывается раньше своего конца; использовано то, что было.',
    postprocessing_degraded: 'Обработка после распознавания не удалась; текст оставлен как есть.',
  },
});
