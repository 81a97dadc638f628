/** The fields of the native form, told to people: the reference page is written from these. */
import type { FieldNote } from '../dialect.ts';
import { CHANNEL_MODES, DECODING_METHODS, RESPONSE_FORMATS } from './fields.ts';

export const TRANSCRIBE_NOTES: readonly FieldNote[] = [
  { name: 'file', kind: 'file', required: true, about: 'The recording. Its format is found from its bytes.' },
  {
    name: 'model',
    kind: 'text',
    about: 'Model id, optionally `id@revision`. Left out: by language, else the default.',
  },
  {
    name: 'language',
    kind: 'text',
    about: 'Language tag such as `en`; region and case do not matter. `auto` is none.',
  },
  { name: 'channel_mode', kind: 'choice', choices: CHANNEL_MODES, about: 'What is done with several channels.' },
  { name: 'word_timestamps', kind: 'switch', about: 'false leaves word times out; true insists on them.' },
  { name: 'response_format', kind: 'choice', choices: RESPONSE_FORMATS, about: 'Shape of the answer.' },
  { name: 'hotwords', kind: 'text', about: 'Words to favour, separated by commas; repeatable; at most 500.' },
  { name: 'hotwords_score', kind: 'number', about: 'Weight of hotwords, 0 to 10; 1.5 to 2 is useful.' },
  { name: 'decoding_method', kind: 'choice', choices: DECODING_METHODS, about: 'How the decoder searches.' },
  { name: 'max_active_paths', kind: 'number', about: 'Width of beam search, 1 to 32.' },
  { name: 'diarize', kind: 'switch', about: 'Tell speakers apart.' },
  { name: 'num_speakers', kind: 'number', about: 'How many speakers, 0 (unknown) to 32.' },
  { name: 'punctuate', kind: 'switch', about: 'Punctuate the text.' },
  { name: 'itn', kind: 'switch', about: 'Write spoken numbers as digits.' },
  { name: 'vad', kind: 'switch', about: 'Leave out what is not speech.' },
  { name: 'strict', kind: 'switch', about: 'Refuse with 422 instead of answering with less than was asked.' },
];

export const JOB_NOTES: readonly FieldNote[] = [
  ...TRANSCRIBE_NOTES.filter(({ name }) => name !== 'response_format'),
  { name: 'webhook_url', kind: 'text', about: 'Where a signed delivery goes when the job is over; https.' },
];
