/** What each message of a client does to its session, and what it is answered. Order and timing are the socket's. */
import { asProblem, type Problem } from '@parley/kit/problem.ts';
import { problem } from '../../core/codes.ts';
import type { RealtimeConfig, RealtimeLimits, RealtimeSession } from '../../core/realtime.ts';
import type { Hotword, Warning } from '../../core/types.ts';
import { parseHotwords } from '../hotwords.ts';
import { isLanguageTag, languageCodeOf, toLanguage } from '../language.ts';
import { DEFAULT_DECLARED, type Declared, parseUpdate } from './realtime-config.ts';
import {
  renderCreated,
  renderError,
  renderSession,
  renderUpdated,
  renderWarning,
  type WireEvent,
} from './realtime-events.ts';

export type Dialogue = {
  /** Says hello. */
  greet(): void;
  /** A binary frame: samples in the declared format. */
  onBytes(bytes: Uint8Array): Promise<void>;
  /** A text frame. Never rejects for what a client said. */
  onText(text: string): Promise<void>;
};

export type DialogueParts = {
  readonly session: RealtimeSession;
  readonly send: (event: WireEvent) => void;
  /** Told of the first and every other bit of audio. */
  readonly onAudio: () => void;
  readonly gaEvents: boolean;
  readonly limits: RealtimeLimits;
  readonly active: () => number;
  /** Unix seconds. */
  readonly expiresAt: number;
  readonly resolveAlias: (name: string | undefined) => Promise<{
    readonly model: string | undefined;
    readonly warnings: readonly Warning[];
  }>;
  readonly finalModel: string | undefined;
  /** What there is to say from the handshake. */
  readonly warnings: readonly Warning[];
};

const MAX_EVENT_ID_CHARS = 512;
const MAX_TYPE_CHARS = 100;
const MAX_WARNED = 200;

type Message = Readonly<Record<string, unknown>> & { readonly type: string };

const refuse = (reason: string, message: string, param?: string): Problem =>
  problem('invalid_request', message, { details: { reason }, ...(param !== undefined && { param }) });

/** Problem with the reason `invalid_json` or `invalid_event`. */
const parseMessage = (text: string): Message => {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw refuse('invalid_json', 'The message is not JSON.');
  }
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  if (!isObject || typeof (value as Message).type !== 'string') {
    throw refuse('invalid_event', 'A message is an object with a type.', 'type');
  }
  return value as Message;
};

const readEventId = ({ event_id: id }: Message): string | null => {
  if (id === undefined || id === null) return null;
  if (typeof id !== 'string' || id.length > MAX_EVENT_ID_CHARS)
    throw refuse('invalid_event', `event_id is text of at most ${MAX_EVENT_ID_CHARS} characters.`, 'event_id');
  return id;
};

/** Base64 as clients write it: padded or not, in either alphabet. Problem invalid_request, param audio. */
const readAudio = ({ audio }: Message): Uint8Array => {
  if (typeof audio !== 'string') throw problem('invalid_request', 'audio is base64 text.', { param: 'audio' });
  const bytes = Buffer.from(audio, 'base64');
  const padding = audio.endsWith('==') ? 2 : audio.endsWith('=') ? 1 : 0;
  // Node leaves out what is not base64, so junk shows in the length.
  if (bytes.length !== Math.floor(((audio.length - padding) * 3) / 4))
    throw problem('invalid_request', 'audio is not base64.', { param: 'audio' });
  return bytes;
};

const LOGPROBS = 'item.input_audio_transcription.logprobs';

/** What of a declaration the models cannot do. */
const checkDeclared = (
  declared: Declared,
  session: RealtimeSession,
): { config: RealtimeConfig; warnings: Warning[] } => {
  const { model, takesHotwords, canPunctuate, canWriteNumbers } = session.models();
  const { transcription, include, punctuate, itn } = declared;
  const warnings: Warning[] = [];
  const ignore = (code: Warning['code'], message: string, param: string): void =>
    void warnings.push({ code, message, param });
  const known = new Set(model.languages.flatMap((tag) => toLanguage(tag) ?? []));
  const asked = transcription.language;
  const isTag = asked !== undefined && isLanguageTag(asked);
  const wanted = isTag ? toLanguage(languageCodeOf(toLanguage(asked) ?? asked, known)) : undefined;
  const language = wanted !== undefined && (known.has(wanted) || known.has('multi')) ? wanted : undefined;
  if (asked !== undefined && language === undefined && asked !== 'auto')
    ignore('language_ignored', `${model.id} does not know this language.`, 'language');
  const hotwords = hotwordsOf(transcription, takesHotwords, warnings);
  if (include.includes(LOGPROBS)) ignore('logprobs_unavailable', 'Token probabilities are not sent.', 'include');
  if (punctuate && !canPunctuate)
    ignore('punctuation_unavailable', 'Nothing here punctuates the language.', 'punctuate');
  if (itn && !canWriteNumbers) ignore('itn_unavailable', 'There are no number rules for the language.', 'itn');
  const { format, turnDetection } = declared;
  return { config: { format, turnDetection, language, hotwords, punctuate, itn }, warnings };
};

const hotwordsOf = (
  { prompt, keywords }: Declared['transcription'],
  takesHotwords: boolean,
  warnings: Warning[],
): readonly Hotword[] => {
  if (prompt !== undefined) {
    warnings.push(
      takesHotwords
        ? { code: 'prompt_mapped_to_hotwords', message: 'prompt was read as words to favour.', param: 'prompt' }
        : { code: 'prompt_ignored', message: 'The model cannot favour words.', param: 'prompt' },
    );
  }
  if (keywords.length > 0 && !takesHotwords)
    warnings.push({ code: 'hotwords_unavailable', message: 'The model cannot favour words.', param: 'keywords' });
  if (!takesHotwords) return [];
  const parsed = parseHotwords([...keywords, ...(prompt === undefined ? [] : [prompt])], 'keywords');
  warnings.push(...parsed.warnings);
  return parsed.hotwords;
};

/** The configuration a session begins with. */
export const FIRST_CONFIG: RealtimeConfig = {
  format: DEFAULT_DECLARED.format,
  turnDetection: DEFAULT_DECLARED.turnDetection,
  language: undefined,
  hotwords: [],
  punctuate: undefined,
  itn: undefined,
};

/** What one dialogue has come to. */
type State = DialogueParts & {
  declared: Declared;
  /** Warnings are told once. */
  readonly warned: Set<string>;
};

const warnOnce = ({ warned, send }: State, warnings: readonly Warning[]): void => {
  for (const warning of warnings) {
    const name = `${warning.code} ${warning.param ?? ''}`;
    if (!warned.has(name)) send(renderWarning(warning));
    // Fields are named by the client: there must be an end to them.
    if (warned.size < MAX_WARNED) warned.add(name);
  }
};

const renderNow = ({ session, expiresAt, declared, limits, active }: State) =>
  renderSession({ id: session.id, expiresAt, declared, models: session.models(), limits, active: active() });

/** Takes other models when the declaration names others. */
const changeModels = async (state: State, next: Declared): Promise<readonly Warning[]> => {
  const { declared, session } = state;
  const { model } = next.transcription;
  if (model === declared.transcription.model && next.finalModel === declared.finalModel) return [];
  const resolved = await state.resolveAlias(model);
  const current = session.models().model;
  const currentName = `${current.id}@${current.revision}`;
  const isSame = model === undefined || resolved.model === current.id || model === currentName;
  if (!isSame || next.finalModel !== declared.finalModel)
    await session.useModels({ model: isSame ? currentName : resolved.model, finalModel: next.finalModel });
  return resolved.warnings;
};

const update = async (state: State, message: Message): Promise<void> => {
  const { declared: next, ignored } = parseUpdate(message.session, state.declared);
  const aliases = await changeModels(state, next);
  state.declared = next;
  const { config, warnings } = checkDeclared(next, state.session);
  await state.session.configure(config);
  for (const event of renderUpdated(renderNow(state), message.type, state.gaEvents)) state.send(event);
  const fields = ignored.map((name): Warning => {
    const param = name.slice(0, MAX_TYPE_CHARS);
    return { code: 'field_ignored', message: `${param} has no effect here.`, param };
  });
  warnOnce(state, [...aliases, ...warnings, ...fields]);
};

const append = ({ onAudio, session }: State, bytes: Uint8Array): Promise<void> => {
  if (bytes.length > 0) onAudio();
  return session.append(bytes);
};

const obey = async (state: State, message: Message): Promise<void> => {
  switch (message.type) {
    case 'session.update':
    case 'transcription_session.update':
      return update(state, message);
    case 'input_audio_buffer.append':
      return append(state, readAudio(message));
    case 'input_audio_buffer.commit':
      return state.session.commit();
    case 'input_audio_buffer.clear':
      return state.session.clear();
    default:
      throw refuse('unsupported_event', `There is no event ${message.type.slice(0, MAX_TYPE_CHARS)}.`, 'type');
  }
};

export const createDialogue = (parts: DialogueParts): Dialogue => {
  const state: State = {
    ...parts,
    declared: { ...DEFAULT_DECLARED, finalModel: parts.finalModel },
    warned: new Set(),
  };
  return {
    greet: () => {
      for (const event of renderCreated(renderNow(state), parts.gaEvents)) parts.send(event);
      warnOnce(state, parts.warnings);
    },
    onBytes: (bytes) => append(state, bytes),
    onText: async (text) => {
      let eventId: string | null = null;
      try {
        const message = parseMessage(text);
        eventId = readEventId(message);
        await obey(state, message);
      } catch (thrown) {
        const fault = asProblem(thrown);
        if (fault.code === 'internal') throw thrown;
        parts.send(renderError(fault, eventId));
      }
    },
  };
};
