/** What every dialect is given, and the endpoint type they all declare. */
import type { Endpoint } from '@parley/kit/http/endpoint.ts';
import type { Sockets } from '@parley/kit/http/socket.ts';
import type { Speech } from '../core/speech.ts';
import type { Caller } from '../core/types.ts';
import type { SubtitleLimits } from '../formats/cues.ts';

/** `open` needs no credential, `key` any key, `admin` an administrative one. */
export type Access = 'open' | 'key' | 'admin';
export type SpeechEndpoint = Endpoint<Access, Caller>;

export type UploadLimits = {
  /** Folder for uploads, mode 0700. */
  readonly spoolDir: string;
  readonly maxBytes: number;
  /** Longest pause within a body, ms. */
  readonly idleMs: number;
};

export type DialectParts = {
  readonly speech: Speech;
  readonly uploads: UploadLimits;
  readonly subtitles: SubtitleLimits;
  readonly sockets: Sockets;
  /** Realtime events come under their newer names too. */
  readonly gaEvents: boolean;
  /** What legacy clients call speakers, before two digits. */
  readonly speakerPrefix: string;
  /** Model names that stand for another; `default` or an empty text is the default model. */
  readonly modelAliases: Readonly<Record<string, string>>;
  /** The effective settings without secrets, asked anew each time. */
  readonly config: () => Readonly<Record<string, unknown>>;
};

/** The name this service gives itself on the wire. */
export const SERVICE_NAME = 'parley';

/** One field of a form, for people: the reference and its try-it form are written from these. */
export type FieldNote = {
  readonly name: string;
  readonly kind: 'file' | 'text' | 'switch' | 'number' | 'choice';
  readonly about: string;
  readonly choices?: readonly string[];
  readonly required?: true;
};
