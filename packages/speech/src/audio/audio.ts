/** What the audio stage gives and takes; the words shared by the main side (media.ts) and the child (media-process.ts). */
import type { PieceFile } from '../core/piece.ts';
import type { ChannelMode } from '../core/types.ts';

export type MediaOptions = {
  readonly channelMode: ChannelMode;
  /** With `split`: more channels than this are refused as invalid_request (param channel_mode). */
  readonly maxSplitChannels: number;
  /** The rate the recogniser wants, Hz. */
  readonly sampleRate: number;
  readonly cut: { readonly maxSec: number; readonly pauseSec: number; readonly padSec: number };
  readonly voiceActivity: {
    readonly enabled: boolean;
    /** 0..1 */
    readonly threshold: number;
    readonly minSilenceMs: number;
    readonly minSpeechMs: number;
    /** Path of a Silero model; WebRTC's detector is used without one. */
    readonly sileroPath: string | undefined;
  };
  readonly maxDurationSec: number;
  /** Set when the bytes are headerless s16le mono at this rate. */
  readonly rawPcmRate: number | undefined;
  readonly ffmpegPath: string;
  readonly ffmpegTimeoutMs: number;
  /** Set when only the beginning is wanted: reading stops after so many seconds. */
  readonly firstSec?: number;
};

/** One stretch of speech, cut for the recogniser. Segments of one channel come in order of time. */
export type AudioSegment = {
  readonly index: number;
  readonly channel: number;
  /** Seconds from the start of the recording to the first sample. */
  readonly start: number;
  readonly samples: Int16Array;
  readonly sampleRate: number;
  readonly bandHz: number;
  readonly speechProbability?: number;
};

/** The same with its samples in a file, or here where the file could not be written. */
export type LaidSegment = Omit<AudioSegment, 'samples'> & { readonly samples: Int16Array | PieceFile };

export type AudioSummary = {
  /** Sniffed container or codec: wav, mp3, flac, ogg, opus, m4a, webm, amr, … */
  readonly format: string;
  readonly sourceRate: number;
  readonly sourceChannels: number;
  /** Channels that segments were cut from: 1 unless split. */
  readonly channels: number;
  readonly durationSec: number;
  /** Seconds the detector called speech, over all channels divided by their number. */
  readonly speechSec: number;
  readonly silence: readonly { readonly start: number; readonly end: number }[];
  readonly decodeMs: number;
  readonly voiceActivityMs: number;
  /** True when the file broke off before its own end and what came before was used. */
  readonly truncated: boolean;
};

/**
 * One recording on its way through a media process. Iterate `segments` to the end, then await `summary`. Segments come
 * no faster than they are taken: at most a few seconds of audio wait. Both reject with a Problem (invalid_audio,
 * unsupported_media_type, duration_exceeded, invalid_request, inference_failed) or the signal's reason.
 */
export type MediaStream<Piece extends LaidSegment = AudioSegment> = {
  readonly segments: AsyncIterable<Piece>;
  readonly summary: Promise<AudioSummary>;
  /** Seconds decoded so far. */
  decodedSec(): number;
  /** Share of the file that was read for them, 0 to 1. */
  readShare(): number;
};

/** A recording whose samples pass this process by. Disposing removes the files that are left. */
export type LaidStream = MediaStream<LaidSegment> &
  AsyncDisposable & {
    /** Removes a segment's file: nobody will read it again. */
    discard(segment: LaidSegment): void;
  };

/** A small pool of media processes. A process that dies is replaced; a recording goes on once more where it stopped (decoding gives the same segments again); one that ends two processes fails. */
export type Media = AsyncDisposable & {
  open(path: string, options: MediaOptions, signal: AbortSignal): MediaStream;
  /** As `open`, for segments that go on to another process: their samples lie in files, which that process reads. */
  openLaid(path: string, options: MediaOptions, signal: AbortSignal): LaidStream;
};
