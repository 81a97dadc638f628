/** Composition of the line a recording takes: what it borrows, and what the settings say of each recording. */
import type { Log } from '@parley/kit/log.ts';
import type { Tracing } from '@parley/kit/tracing.ts';
import type { MediaOptions } from './audio/audio.ts';
import type { SpeechMeasures } from './metrics.ts';
import { createScheduler } from './pipeline/scheduler.ts';
import type { Line, MediaFacts, MediaRequest } from './pipeline/transcribe.ts';
import type { SpeechSettings } from './settings.ts';
import type { ModelParts } from './start-models.ts';
import type { Support } from './start-support.ts';

export type LineHouse = { readonly measures: SpeechMeasures; readonly tracing: Tracing; readonly log: Log };

/** The line with everything it needs of the house. */
export const openLine = (
  settings: SpeechSettings,
  parts: ModelParts,
  media: Line['media'],
  support: Support,
  house: LineHouse,
): Line => {
  const { values } = settings;
  const { measures, tracing, log } = house;
  return {
    media,
    scheduler: createScheduler((recognizer) => recognizer.facts.slots),
    lease: parts.lease,
    mediaOptions: (request, recognizer) => mediaOptionsOf(settings, parts, request, recognizer),
    hotwords: { enabled: values['postproc.hotwords.enabled'], defaultScore: values['postproc.hotwords.default_score'] },
    text: support.text,
    speakers: support.speakers,
    channelMode: values['audio.channel_mode'],
    onTranscribed: (model, audioSec, tookSec) => measures.transcribed(model.id, audioSec, tookSec),
    log,
    tracing,
  };
};

const mediaOptionsOf = (
  { values }: SpeechSettings,
  parts: ModelParts,
  request: MediaRequest,
  { facts }: { readonly facts: MediaFacts },
): MediaOptions => ({
  channelMode: request.channelMode ?? values['audio.channel_mode'],
  maxSplitChannels: values['audio.max_split_channels'],
  sampleRate: facts.sampleRate,
  cut: facts.cut,
  voiceActivity: {
    enabled: request.voiceActivity ?? values['vad.enabled'],
    threshold: request.voiceActivityTuning?.threshold ?? values['vad.threshold'],
    minSilenceMs: request.voiceActivityTuning?.minSilenceMs ?? values['vad.min_silence_ms'],
    minSpeechMs: values['vad.min_speech_ms'],
    sileroPath: parts.sileroPath(),
  },
  maxDurationSec: values['audio.max_duration'] / 1000,
  rawPcmRate: request.rawPcmRate,
  ffmpegPath: values['audio.ffmpeg_path'],
  ffmpegTimeoutMs: values['audio.ffmpeg_timeout'],
});
