/** The fields of the compat form, told to people: the reference page is written from these. */
import type { FieldNote } from '../dialect.ts';
import { RESPONSE_FORMATS } from './fields.ts';

export const TRANSCRIPTION_NOTES: readonly FieldNote[] = [
  { name: 'file', kind: 'file', required: true, about: 'The recording. Its format is found from its bytes.' },
  { name: 'model', kind: 'text', about: 'Model id or an alias such as `whisper-1`. Left out: the default model.' },
  { name: 'language', kind: 'text', about: 'Language tag such as `en`.' },
  { name: 'languages[]', kind: 'text', about: 'Candidates; the first that an installed model knows is taken.' },
  { name: 'response_format', kind: 'choice', choices: RESPONSE_FORMATS, about: 'Shape of the answer.' },
  {
    name: 'timestamp_granularities[]',
    kind: 'choice',
    choices: ['word', 'segment'],
    about: 'With `verbose_json`: words, segments or (sent twice) both.',
  },
  { name: 'prompt', kind: 'text', about: 'Read as a comma-separated list of words to favour.' },
  { name: 'keywords[]', kind: 'text', about: 'Words to favour; `hotwords` is the same.' },
  { name: 'stream', kind: 'switch', about: 'Answer with server-sent events as segments are finished.' },
  { name: 'diarize', kind: 'switch', about: 'Tell speakers apart.' },
  { name: 'num_speakers', kind: 'number', about: 'How many speakers, 0 (unknown) to 32.' },
  { name: 'include[]', kind: 'text', about: 'With `json`: `logprobs`, where the model gives token probabilities.' },
  {
    name: 'chunking_strategy',
    kind: 'text',
    about: '`auto`, or an object of type `server_vad` with `threshold` and `silence_duration_ms`.',
  },
  { name: 'temperature', kind: 'number', about: '0 to 1; taken and ignored, because the decoders do not sample.' },
];
