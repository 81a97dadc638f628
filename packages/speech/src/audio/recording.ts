/**
 * One recording from file to segments: decode, channels, rate, voice activity, cut. Runs in a media process and knows
 * nothing of messages; `emit` takes the segments and holds the work back by not resolving.
 */
import { problem } from '../core/codes.ts';
import type { AudioSegment, AudioSummary, MediaOptions } from './audio.ts';
import { bandOf } from './band.ts';
import { type Channel, createChannel, type Piece } from './channel.ts';
import { type Decoding, openRecording } from './decode.ts';
import { createDuration } from './pcm.ts';
import { createResampler, type Resampler } from './resample.ts';
import { openSource } from './source.ts';
import { openDetectors } from './voice-activity.ts';
import type { Block } from './wav.ts';

export type RecordingSink = {
  /** Resolves when more may come. */
  emit(segment: AudioSegment): Promise<void>;
  progress(decodedSec: number, readShare: number): void;
};

/** The length of a file may be over by this much: encoders pad. */
const DURATION_SLACK_SEC = 0.1;

type Span = { readonly start: number; readonly end: number };

/** A sum is finite only when all of it is. */
const allFinite = (samples: Float32Array): boolean => {
  let sum = 0;
  for (let i = 0; i < samples.length; i++) sum += samples[i]! * 0;
  return sum === 0;
};

/** The same samples with 0 for what is no number: one such sample would spread over a filter's length. */
const onlyFinite = (samples: Float32Array): Float32Array =>
  allFinite(samples) ? samples : samples.map((sample) => (Number.isFinite(sample) ? sample : 0));

const mean = (channels: readonly Float32Array[]): Float32Array => {
  const mixed = new Float32Array(channels[0]!.length);
  const share = 1 / channels.length;
  if (channels.length === 2) {
    const [left, right] = [channels[0]!, channels[1]!];
    for (let i = 0; i < mixed.length; i++) mixed[i] = (left[i]! + right[i]!) * share;
  } else for (const samples of channels) for (let i = 0; i < mixed.length; i++) mixed[i]! += samples[i]! * share;
  return mixed;
};

/** The channels that segments are cut from; always `count` of them, whatever the block has. */
const pick = ({ channels }: Block, mode: MediaOptions['channelMode'], count: number): Float32Array[] => {
  if (mode === 'downmix') {
    const mixed = channels.length === 1 ? channels[0]! : mean(channels);
    return [allFinite(mixed) ? mixed : mean(channels.map(onlyFinite))];
  }
  return Array.from({ length: count }, (_, i) => onlyFinite(channels[Math.min(i, channels.length - 1)]!));
};

const checkSplit = (channels: number, { channelMode, maxSplitChannels }: MediaOptions): void => {
  if (channelMode === 'split' && channels > maxSplitChannels)
    throw problem('invalid_request', `The audio has ${channels} channels; ${maxSplitChannels} can be split.`, {
      param: 'channel_mode',
    });
};

const union = (spans: readonly Span[]): Span[] => {
  const joined: { start: number; end: number }[] = [];
  for (const span of [...spans].sort((a, b) => a.start - b.start)) {
    const last = joined.at(-1);
    if (last !== undefined && span.start <= last.end) last.end = Math.max(last.end, span.end);
    else joined.push({ ...span });
  }
  return joined;
};

/** What lies between the stretches of speech, where it is long enough. */
const silences = (speech: readonly Span[], durationSec: number, leastSec: number): Span[] => {
  const found: Span[] = [];
  let from = 0;
  for (const span of [...union(speech), { start: durationSec, end: durationSec }]) {
    if (span.start - from >= leastSec) found.push({ start: from, end: span.start });
    from = span.end;
  }
  return found;
};

const cutOf = ({ cut, voiceActivity: { enabled, minSilenceMs, minSpeechMs } }: MediaOptions) =>
  enabled
    ? { ...cut, minSilenceSec: minSilenceMs / 1000, minSpeechSec: minSpeechMs / 1000 }
    : { ...cut, minSilenceSec: cut.maxSec, minSpeechSec: 0 };

const openChannels = async (count: number, options: MediaOptions): Promise<Channel[]> => {
  const { enabled, threshold, sileroPath } = options.voiceActivity;
  const createDetector = enabled ? await openDetectors({ threshold, sileroPath }) : undefined;
  const [rate, cut] = [options.sampleRate, cutOf(options)];
  return Array.from({ length: count }, () => createChannel({ rate, detector: createDetector?.(), cut }));
};

/** Milliseconds spent in the steps it was given. */
const createStopwatch = () => {
  let spentMs = 0;
  const timed = <T>(step: () => T): T => {
    const from = performance.now();
    const result = step();
    spentMs += performance.now() - from;
    return result;
  };
  const add = (ms: number): void => {
    spentMs += ms;
  };
  return { timed, ms: (): number => spentMs, add };
};

/** The state of one recording once its first block has told its shape. */
const startLine = async (first: Block, decoding: Decoding, options: MediaOptions, sink: RecordingSink) => {
  const sourceChannels = decoding.channels ?? first.channels.length;
  checkSplit(sourceChannels, options);
  const count = options.channelMode === 'split' ? sourceChannels : 1;
  const channels = await openChannels(count, options);
  const voice = createStopwatch();
  let rate = first.rate;
  let resamplers: Resampler[] = channels.map(() => createResampler(rate, options.sampleRate));
  let index = 0;

  const emit = async (channel: number, { startSample, samples }: Piece): Promise<void> => {
    const { sampleRate } = options;
    const bandHz = rate < sampleRate ? rate / 2 : bandOf(samples, sampleRate);
    await sink.emit({ index: index++, channel, start: startSample / sampleRate, samples, sampleRate, bandHz });
  };
  const feed = async (channel: number, samples: Float32Array): Promise<void> => {
    if (samples.length === 0) return;
    for (const piece of voice.timed(() => channels[channel]!.push(samples))) await emit(channel, piece);
  };
  const drain = async (): Promise<void> => {
    for (const [channel, resampler] of resamplers.entries()) await feed(channel, resampler.flush());
  };
  return {
    sourceChannels,
    channels: count,
    voiceActivityMs: voice.ms,
    async take(block: Block): Promise<void> {
      if (block.rate !== rate) {
        await drain();
        rate = block.rate;
        resamplers = channels.map(() => createResampler(rate, options.sampleRate));
      }
      for (const [channel, samples] of pick(block, options.channelMode, count).entries())
        await feed(channel, resamplers[channel]!.push(samples));
    },
    async finish(): Promise<Span[]> {
      await drain();
      for (const [number, channel] of channels.entries())
        for (const piece of voice.timed(() => channel.flush())) await emit(number, piece);
      return channels.flatMap((channel) => channel.speech());
    },
    dispose(): void {
      for (const channel of channels) channel.dispose();
    },
  };
};

/** Blocks with the time each took to decode. */
async function* clocked(blocks: AsyncIterable<Block>, spent: (ms: number) => void): AsyncGenerator<Block> {
  let from = performance.now();
  for await (const block of blocks) {
    spent(performance.now() - from);
    yield block;
    from = performance.now();
  }
}

/**
 * Reads one recording to its end. Problems: invalid_audio, unsupported_media_type, duration_exceeded, invalid_request
 * (param channel_mode); or the signal's reason.
 */
export const readRecording = async (
  path: string,
  options: MediaOptions,
  sink: RecordingSink,
  signal: AbortSignal,
): Promise<AudioSummary> => {
  await using source = await openSource(path);
  const decode = createStopwatch();
  const decoding = await openRecording(source, options, signal);
  const duration = createDuration();
  let durationSec = 0;
  let first: Block | undefined;
  let line: Awaited<ReturnType<typeof startLine>> | undefined;
  try {
    for await (const block of clocked(decoding.blocks, decode.add)) {
      signal.throwIfAborted();
      first ??= block;
      line ??= await startLine(first, decoding, options, sink);
      durationSec = duration.add(block.channels[0]!.length, block.rate);
      if (durationSec > options.maxDurationSec + DURATION_SLACK_SEC)
        throw problem('duration_exceeded', `The audio is longer than ${options.maxDurationSec} s.`, { param: 'file' });
      await line.take(block);
      sink.progress(durationSec, source.readShare());
      if (options.firstSec !== undefined && durationSec >= options.firstSec) break;
    }
    if (first === undefined || line === undefined)
      throw problem('invalid_audio', 'There are no samples in the audio.', { param: 'file' });
    const speech = await line.finish();
    return {
      format: decoding.format,
      sourceRate: first.rate,
      sourceChannels: line.sourceChannels,
      channels: line.channels,
      durationSec,
      speechSec: speech.reduce((sum, span) => sum + span.end - span.start, 0) / line.channels,
      silence: silences(speech, durationSec, options.voiceActivity.minSilenceMs / 1000),
      decodeMs: Math.round(decode.ms()),
      voiceActivityMs: Math.round(line.voiceActivityMs()),
      truncated: decoding.truncated(),
    };
  } finally {
    line?.dispose();
  }
};
