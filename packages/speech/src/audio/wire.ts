/** The messages between media.ts and a media process (fork, serialization `advanced`), and the limits both keep. */
import type { Code } from '../core/codes.ts';
import type { AudioSummary, LaidSegment, MediaOptions } from './audio.ts';

export type ToMedia =
  | {
      readonly type: 'open';
      readonly id: number;
      readonly path: string;
      readonly options: MediaOptions;
      readonly skip: number;
      /** Where samples are laid as files; in the messages without it. */
      readonly folder: string | undefined;
    }
  /** The consumer took a segment of this many seconds. */
  | { readonly type: 'taken'; readonly id: number; readonly seconds: number }
  | { readonly type: 'abort'; readonly id: number }
  | { readonly type: 'end' };

export type FromMedia =
  | { readonly type: 'ready' }
  | { readonly type: 'beat'; readonly rssBytes: number }
  | { readonly type: 'progress'; readonly id: number; readonly decodedSec: number; readonly readShare: number }
  | { readonly type: 'segment'; readonly id: number; readonly segment: LaidSegment }
  | { readonly type: 'done'; readonly id: number; readonly summary: AudioSummary }
  | {
      readonly type: 'failed';
      readonly id: number;
      readonly code: Code;
      readonly message: string;
      readonly param?: string;
    };

/** Decoding pauses while this many seconds of segments wait to be taken. */
export const AHEAD_SEC = 12;
/** How often a media process says that it is alive. */
export const BEAT_MS = 1_000;
