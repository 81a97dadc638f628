/**
 * The line a recording takes: decode and cut (media process) → wait for a turn (scheduler) → recognise (engine process)
 * → words → marks and digits → speakers → transcript. Nothing here holds the whole recording: segments come no faster than
 * they are recognised.
 */
import type { Log } from '@parley/kit/log.ts';
import type { Tracing } from '@parley/kit/tracing.ts';
import type { LaidSegment, Media, MediaOptions, MediaStream } from '../audio/audio.ts';
import { problem } from '../core/codes.ts';
import type {
  ChannelMode,
  ModelInfo,
  Priority,
  Segment,
  TokenProbability,
  Transcript,
  TranscriptionRequest,
  Warning,
} from '../core/types.ts';
import type { EngineFacts, Recognition, RecognizeOptions, Recognizer } from '../recognizer/recognizer.ts';
import { type DraftSegment, probabilitiesOf, separatorOf, toSegments } from './assemble.ts';
import { createCollector, createGate } from './collect.ts';
import { type Diarized, diarize, SPEAKER_AUDIO, type Speakers } from './diarize.ts';
import { createTextFinish, type TextFinish, type TextStages } from './finish-text.ts';
import { type Scheduler, type Ticket, ticketOf } from './scheduler.ts';
import { type Heard, inOrder, shown, toTranscript, wantsWords, warningsOf } from './transcript.ts';
import { baseLanguage, checkCapabilities, languageOf, refuseWhenStrict, type Stages } from './warnings.ts';

/** What decoding depends on: of a request, and of the engine that will hear it. */
export type MediaRequest = Pick<
  TranscriptionRequest,
  'channelMode' | 'voiceActivity' | 'voiceActivityTuning' | 'rawPcmRate'
>;
export type MediaFacts = Pick<EngineFacts, 'sampleRate' | 'cut'>;

/** What the line needs of the house. */
export type Line = {
  readonly media: Media;
  readonly scheduler: Scheduler;
  /** Borrows the loaded model; the lease ends with the block that took it. */
  lease(model: ModelInfo, signal: AbortSignal): Promise<AsyncDisposable & { readonly recognizer: Recognizer }>;
  mediaOptions(request: MediaRequest, recognizer: { readonly facts: MediaFacts }): MediaOptions;
  readonly hotwords: { readonly enabled: boolean; readonly defaultScore: number };
  readonly text: TextStages;
  readonly speakers: Speakers;
  /** What is done with several channels when a request does not say. */
  readonly channelMode: ChannelMode;
  /** Told of each finished recording. */
  readonly onTranscribed: (model: ModelInfo, audioSec: number, tookSec: number) => void;
  readonly log: Log;
  readonly tracing: Tracing;
};

/** What the stages of this line can do now, for checking a request against it. */
export const stagesOf = ({ hotwords, text, speakers, channelMode }: Line): Stages => ({
  hotwordsEnabled: hotwords.enabled,
  canPunctuate: (language) => text.punctuatorFor(language) !== undefined,
  canDiarize: speakers.isAvailable(),
  channelMode,
});

export type Work = {
  readonly id: string;
  readonly keyId: string;
  readonly priority: Priority;
  readonly model: ModelInfo;
  readonly request: TranscriptionRequest;
  readonly path: string;
  /** Utterances of an earlier attempt by their index: they are not recognised again. */
  readonly known?: ReadonlyMap<number, readonly DraftSegment[]>;
};

export type Watcher = {
  readonly signal: AbortSignal;
  readonly onSegment?: (segment: Segment, index: number) => void;
  /** Told of each utterance that was recognised now, in any order. */
  readonly onUtterance?: (index: number, drafts: readonly DraftSegment[]) => void;
  /** Told as the work goes on; `doneSec` counts the recording's seconds up to which everything is recognised. */
  readonly onProgress?: (doneSec: number, stream: Pick<MediaStream, 'decodedSec' | 'readShare'>) => void;
  /** Set for jobs: they can wait; a pass that tells speakers apart ends with the service, and the job is done again. */
  readonly isJob?: true;
  /** Told when the pass that tells speakers apart begins; from then on it runs to its end. */
  readonly onSpeakers?: () => void;
};

/** Segments of one request that may be with the scheduler at once, for each slot of the recogniser: one runs, one waits. */
const AHEAD_PER_SLOT = 2;

/**
 * Transcribes the file at `work.path`. Rejects with the signal's reason when aborted: what is in flight is left to
 * finish unseen, nothing further is started. Problems: see Speech.transcribe in core/speech.ts.
 */
export const transcribe = async (line: Line, work: Work, watcher: Watcher): Promise<Transcript> => {
  const startedMs = performance.now();
  await using lease = await line.lease(work.model, watcher.signal);
  const { recognizer } = lease;
  const warnings = checkCapabilities(work.request, work.model, recognizer.facts, stagesOf(line));
  const finish = createTextFinish(line.text, work, languageOf(work.request, work.model), line.log);
  const heard = await recognizeAll(line, work, recognizer, finish, watcher);
  return line.tracing.run('finish', {}, () => finishAll(line, work, heard, { startedMs, warnings, finish }, watcher));
};

type Begun = { readonly startedMs: number; readonly warnings: readonly Warning[]; readonly finish: TextFinish };

/** Everything after recognition. */
const finishAll = async (
  line: Line,
  work: Work,
  heard: Heard,
  { startedMs, warnings, finish }: Begun,
  watcher: Watcher,
): Promise<Transcript> => {
  const speakersMs = performance.now();
  const told = await tellApart(line, work, heard, watcher);
  const known = new Set(warnings.map(({ code }) => code));
  const toldOf = (told?.warnings ?? []).filter(({ code }) => !known.has(code));
  const all = [...warnings, ...warningsOf(heard), ...finish.warnings(), ...toldOf];
  refuseWhenStrict(work.request, all);
  const spent = { startedMs, post: finish.spentMs(), diarize: performance.now() - speakersMs };
  line.onTranscribed(work.model, heard.summary.durationSec, (performance.now() - startedMs) / 1000);
  return toTranscript(work, heard, told, all, spent);
};

/** The second pass, when speakers are wanted and there is something to tell them apart with. */
const tellApart = async (line: Line, work: Work, heard: Heard, watcher: Watcher): Promise<Diarized | undefined> => {
  const { request, id, path } = work;
  const { channels, durationSec } = heard.summary;
  if (!request.diarize) return undefined;
  const mediaOptions = line.mediaOptions({ ...request, voiceActivity: false }, { facts: SPEAKER_AUDIO });
  const separator = separatorOf(languageOf(request, work.model));
  const task = { id, path, request, durationSec, channels, separator };
  const { speakers, media, log } = line;
  return diarize({ speakers, media, mediaOptions, log }, inOrder(heard.segments), task, watcher);
};

const recognizeAll = async (
  line: Line,
  work: Work,
  recognizer: Recognizer,
  finish: TextFinish,
  watcher: Watcher,
): Promise<Heard> => {
  // A failure anywhere stops the media process and whatever of this request still waits for a turn.
  const stop = new AbortController();
  const signal = AbortSignal.any([watcher.signal, stop.signal]);
  await using stream = line.media.openLaid(work.path, line.mediaOptions(work.request, recognizer), signal);
  // Without this a rejection that arrives while segments are still awaited would count as unhandled.
  const decoding = line.tracing.start('decode');
  stream.summary.then(() => decoding.end(), decoding.end);
  const kept = createKeeper(work, watcher);
  const collector = createCollector(kept.take, (endSec) => watcher.onProgress?.(endSec, stream));
  const gate = createGate(recognizer.facts.slots * AHEAD_PER_SLOT);
  let firstMs: number | undefined;
  const failed: unknown[] = [];
  try {
    for await (const audio of stream.segments) {
      firstMs ??= performance.now();
      await gate.enter();
      if (signal.aborted) {
        // Whoever waits for the gate to be empty must not wait for this one.
        gate.leave();
        throw signal.reason;
      }
      void hearOne(line, work, recognizer, finish, audio, watcher, signal)
        .then(collector.expect(audio))
        .catch((thrown: unknown) => {
          failed.push(thrown);
          stop.abort(thrown);
        })
        .finally(() => {
          stream.discard(audio);
          gate.leave();
        });
    }
    await gate.empty();
    if (failed.length > 0) throw failed[0];
    const summary = await stream.summary;
    const asrMs = firstMs === undefined ? 0 : performance.now() - firstMs;
    const { segments, sources, probabilities } = kept;
    return { segments, sources, probabilities, summary, asrMs };
  } catch (thrown) {
    stop.abort(thrown);
    await gate.empty();
    throw failed[0] ?? thrown;
  }
};

/** What an earlier attempt kept of this utterance, else what the recogniser hears in it. */
const hearOne = async (
  line: Line,
  work: Work,
  recognizer: Recognizer,
  finish: TextFinish,
  audio: LaidSegment,
  watcher: Watcher,
  signal: AbortSignal,
): Promise<readonly DraftSegment[]> => {
  const known = work.known?.get(audio.index);
  if (known) return known;
  const ticket = ticketOf({ ...work, requestId: work.id }, audio.start, watcher.isJob ?? false);
  const recognition = await recognizeOne(line, work, recognizer, audio, ticket, signal);
  // Speakers are told apart word by word, whether or not words are shown.
  const raw = toSegments({ audio, recognition }, wantsWords(work) || work.request.diarize);
  const finished = await finish.finish(raw, signal);
  const drafts = work.request.tokenProbabilities ? withProbabilities(finished, recognition) : finished;
  watcher.onUtterance?.(audio.index, drafts);
  return drafts;
};

const withProbabilities = (drafts: readonly DraftSegment[], recognition: Recognition): DraftSegment[] =>
  drafts.map((draft, index) => (index === 0 ? { ...draft, probabilities: probabilitiesOf(recognition) } : draft));

const recognizeOne = (
  line: Line,
  work: Work,
  recognizer: Recognizer,
  audio: LaidSegment,
  ticket: Ticket,
  signal: AbortSignal,
): Promise<Recognition> => {
  const { scheduler, tracing } = line;
  const options = recognizeOptionsOf(line, work, recognizer);
  const { samples, sampleRate, bandHz } = audio;
  const attributes = { 'parley.segment': audio.index, 'parley.audio_seconds': samples.length / sampleRate };
  const waiting = tracing.start('wait', { attributes });
  const recognize = (): Promise<Recognition> => {
    waiting.end();
    return tracing.run('recognize segment', { attributes }, () =>
      recognizer.recognize({ samples, sampleRate, bandHz }, options, signal),
    );
  };
  // One that was given up while it waited ends here.
  return scheduler.submit(recognizer, ticket, recognize, signal).finally(() => waiting.end());
};

const recognizeOptionsOf = ({ hotwords }: Line, { request, model }: Work, recognizer: Recognizer): RecognizeOptions => {
  const canFavour = hotwords.enabled && model.capabilities.hotwords && request.hotwords.length > 0;
  const method = request.decodingMethod;
  const canDecode = method !== undefined && recognizer.facts.decodingMethods.includes(method);
  return {
    ...(canDecode ? { decodingMethod: method } : {}),
    ...(request.maxActivePaths === undefined ? {} : { maxActivePaths: request.maxActivePaths }),
    ...(canFavour ? { hotwords: request.hotwords, hotwordsScore: request.hotwordsScore ?? hotwords.defaultScore } : {}),
    ...(request.language === undefined ? {} : { language: baseLanguage(request.language) }),
  };
};

/** Numbers segments as they come and tells of each. */
const createKeeper = (work: Work, watcher: Watcher) => {
  const segments: Segment[] = [];
  const sources = new Set<string>();
  const probabilities: TokenProbability[] = [];
  return {
    segments,
    sources,
    probabilities,
    take: ({ source, probabilities: tokens = [], ...rest }: DraftSegment): void => {
      probabilities.push(...tokens);
      const segment: Segment = { id: segments.length, ...rest };
      segments.push(segment);
      sources.add(wantsWords(work) ? source : 'segment');
      watcher.onSegment?.(shown(work, segment), segment.id);
    },
  };
};

/** Turns the time limit of a request into its Problem. */
export const processingTimeout = (limitMs: number): Error =>
  problem('processing_timeout', `Not finished within ${Math.round(limitMs / 1000)} s.`);
