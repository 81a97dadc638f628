/** Whether a recording can be heard at all: its beginning is decoded and thrown away, nothing is recognised. */
import type { TranscriptionRequest, Warning } from '../core/types.ts';
import type { Line, MediaFacts } from './transcribe.ts';
import { rawWarnings } from './warnings.ts';

/** Enough to get through a header and the first frames of any format. */
const FIRST_SEC = 1;
/** No engine will hear it; the shape is what any of them takes. */
const FACTS: MediaFacts = { sampleRate: 16_000, cut: { maxSec: 20, pauseSec: 0.3, padSec: 0 } };

/**
 * Decodes the first second of the file. Resolves with what the bytes gave rise to say. Problems: invalid_audio,
 * unsupported_media_type; or the signal's reason.
 */
export const inspectRecording = async (
  line: Pick<Line, 'media' | 'mediaOptions'>,
  { rawPcmRate }: Pick<TranscriptionRequest, 'rawPcmRate'>,
  path: string,
  signal: AbortSignal,
): Promise<Warning[]> => {
  const request = { channelMode: 'downmix', voiceActivity: false, ...(rawPcmRate && { rawPcmRate }) } as const;
  // How long the recording is does not matter: it is not read to its end.
  const limits = { firstSec: FIRST_SEC, maxDurationSec: Number.POSITIVE_INFINITY };
  const options = { ...line.mediaOptions(request, { facts: FACTS }), ...limits };
  const stream = line.media.open(path, options, signal);
  // Without this a rejection that arrives while segments are still awaited would count as unhandled.
  stream.summary.catch(() => undefined);
  for await (const segment of stream.segments) void segment;
  return rawWarnings((await stream.summary).format);
};
