/** The parameters of the legacy dialect, told to people: the reference page is written from these. */
import type { FieldNote } from '../dialect.ts';
import { OUTPUTS } from './fields.ts';

const FILE: FieldNote = {
  name: 'audio_file',
  kind: 'file',
  required: true,
  about: 'The recording. Its format is found from its bytes.',
};
const ENCODE: FieldNote = {
  name: 'encode',
  kind: 'switch',
  about: '`false`: bytes without a known header are bare 16-bit samples, mono, 16 kHz.',
};
const MODEL: FieldNote = { name: 'model', kind: 'text', about: 'Model id. Left out: by language, else the default.' };

export const ASR_NOTES: readonly FieldNote[] = [
  FILE,
  { name: 'output', kind: 'choice', choices: OUTPUTS, about: 'Format of the file; `text` is txt.' },
  { name: 'task', kind: 'choice', choices: ['transcribe', 'translate'], about: '`translate` is refused with 501.' },
  { name: 'language', kind: 'text', about: "Language code such as `en`, or whisper's English name." },
  { name: 'word_timestamps', kind: 'switch', about: 'Show words in json.' },
  ENCODE,
  { name: 'initial_prompt', kind: 'text', about: 'Read as a comma-separated list of words to favour.' },
  { name: 'vad_filter', kind: 'switch', about: 'Taken and ignored: silence is always left out.' },
  { name: 'diarize', kind: 'switch', about: 'Tell speakers apart; `enable_diarization` is the same.' },
  { name: 'min_speakers', kind: 'number', about: 'With the same `max_speakers`: exactly so many.' },
  { name: 'max_speakers', kind: 'number', about: 'A range is not used; the service counts itself.' },
  MODEL,
];

export const DETECT_NOTES: readonly FieldNote[] = [FILE, ENCODE, MODEL];
