/** The browser's own file, heard along with the transcript: waveform, speech and silence, play, seek, speed. */
import type { Transcript } from '@parley/speech/core/types.ts';
import { Pause, Play, RotateCcw, RotateCw } from 'lucide-react';
import { type RefObject, useEffect, useMemo, useRef, useState } from 'react';
import { CheckField } from '../shared/form.tsx';
import { formatClock } from '../shared/format.ts';
import { readPeaks } from './peaks.ts';
import { useResultTexts } from './result-texts.ts';
import { colourOf } from './speakers.tsx';
import type { Layout } from './transcript.ts';

export type Playback = {
  readonly audio: RefObject<HTMLAudioElement | null>;
  readonly url: string | undefined;
  readonly isPlaying: boolean;
  readonly isBroken: boolean;
  readonly toggle: () => void;
  /** Goes to a time; plays from there unless told otherwise. */
  readonly seek: (timeSec: number, plays?: boolean) => void;
  readonly setPlaying: (isPlaying: boolean) => void;
  readonly setBroken: () => void;
};

/** The state of the audio element that `Player` renders. */
export const usePlayback = (file: File | undefined): Playback => {
  const audio = useRef<HTMLAudioElement>(null);
  const [isPlaying, setPlaying] = useState(false);
  const [isBroken, setIsBroken] = useState(false);
  const url = useMemo(() => (file ? URL.createObjectURL(file) : undefined), [file]);
  useEffect(() => {
    setIsBroken(false);
    return () => {
      if (url !== undefined) URL.revokeObjectURL(url);
    };
  }, [url]);
  return useMemo(() => {
    const play = (): void => void audio.current?.play().catch(() => setPlaying(false));
    return {
      audio,
      url,
      isPlaying,
      isBroken,
      setPlaying,
      setBroken: () => setIsBroken(true),
      toggle: () => (audio.current?.paused ? play() : audio.current?.pause()),
      seek: (timeSec, plays = true) => {
        if (!audio.current) return;
        audio.current.currentTime = timeSec;
        if (plays) play();
      },
    };
  }, [url, isPlaying, isBroken]);
};

type PlayerProps = {
  readonly playback: Playback;
  readonly file: File | undefined;
  readonly onFile: (file: File) => void;
  readonly transcript: Transcript;
  readonly layout: Layout;
  readonly follows: boolean;
  readonly onFollows: (follows: boolean) => void;
};

export const Player = (props: PlayerProps) => {
  const { playback, file, layout, transcript } = props;
  const t = useResultTexts();
  return (
    <section className="card player" aria-label={t.waveform}>
      {file && playback.url !== undefined ? (
        <>
          {/* biome-ignore lint/a11y/useMediaCaption: the transcript below is the caption. */}
          <audio
            ref={playback.audio}
            src={playback.url}
            preload="auto"
            onPlay={() => playback.setPlaying(true)}
            onPause={() => playback.setPlaying(false)}
            onError={playback.setBroken}
          />
          <Waveform file={file} playback={playback} durationSec={transcript.duration} />
        </>
      ) : null}
      <SpeechMap layout={layout} durationSec={transcript.duration} />
      {file ? <Controls {...props} /> : <Attach onFile={props.onFile} />}
      {playback.isBroken ? <p className="bad-text small">{t.unplayable}</p> : null}
    </section>
  );
};

const Attach = ({ onFile }: { onFile: (file: File) => void }) => {
  const t = useResultTexts();
  return (
    <div className="row between">
      <span className="faint">{t.attach}</span>
      <label className="button quiet small">
        <input
          type="file"
          className="unseen"
          accept="audio/*,video/*"
          onChange={(event) => {
            const [chosen] = event.target.files ?? [];
            if (chosen) onFile(chosen);
          }}
        />
        {t.attachButton}
      </label>
    </div>
  );
};

type WaveformProps = { readonly file: File; readonly playback: Playback; readonly durationSec: number };

const Waveform = ({ file, playback: { audio, url }, durationSec }: WaveformProps) => {
  const t = useResultTexts();
  const container = useRef<HTMLDivElement>(null);
  const [isTooLong, setTooLong] = useState(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another address is another recording.
  useEffect(() => {
    const controller = new AbortController();
    let remove = (): void => undefined;
    const draw = async (): Promise<void> => {
      const [peaks, { drawWaveform }] = await Promise.all([
        readPeaks(file, durationSec, controller.signal),
        import('./waveform.ts'),
      ]);
      if (controller.signal.aborted || !container.current || !audio.current) return;
      setTooLong(peaks === undefined);
      if (peaks) remove = drawWaveform({ container: container.current, media: audio.current, peaks, durationSec });
    };
    // A recording that cannot be measured is heard all the same.
    draw().catch(() => undefined);
    return () => {
      controller.abort();
      remove();
    };
  }, [file, url, durationSec]);
  return isTooLong ? (
    <p className="faint small">{t.drawn}</p>
  ) : (
    <div ref={container} className="waveform" aria-hidden />
  );
};

/** Who speaks when, in colours; what is left white is silence. */
const SpeechMap = ({ layout, durationSec }: { layout: Layout; durationSec: number }) => {
  const paths = useMemo(() => {
    const bySpeaker = new Map<string | undefined, string>();
    for (const { speaker, startSec, endSec } of layout.segments) {
      const bar = `M${startSec} 0H${endSec}V1H${startSec}Z`;
      bySpeaker.set(speaker, (bySpeaker.get(speaker) ?? '') + bar);
    }
    return [...bySpeaker];
  }, [layout]);
  return (
    <svg
      className="speech-map"
      viewBox={`0 0 ${Math.max(durationSec, 0.001)} 1`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      {paths.map(([speaker, path]) => (
        <path key={speaker ?? ''} d={path} className={colourOf(layout, speaker)} />
      ))}
    </svg>
  );
};

const SPEEDS = [0.5, 0.75, 1, 1.25, 1.5, 2];
const JUMP_SEC = 5;

const Controls = ({ playback, transcript, follows, onFollows }: PlayerProps) => {
  const t = useResultTexts();
  const { audio, isPlaying, toggle, seek } = playback;
  const jump = (bySec: number): void => seek((audio.current?.currentTime ?? 0) + bySec, isPlaying);
  return (
    <div className="row controls">
      <button type="button" className="button play" onClick={toggle} aria-label={isPlaying ? t.pause : t.play}>
        {isPlaying ? <Pause aria-hidden /> : <Play aria-hidden />}
      </button>
      <button type="button" className="icon-button" aria-label={t.back5} onClick={() => jump(-JUMP_SEC)}>
        <RotateCcw aria-hidden />
      </button>
      <button type="button" className="icon-button" aria-label={t.forth5} onClick={() => jump(JUMP_SEC)}>
        <RotateCw aria-hidden />
      </button>
      <Position playback={playback} durationSec={transcript.duration} />
      <label className="speed small">
        <span>{t.speed}</span>
        <select
          defaultValue="1"
          onChange={(event) => {
            if (audio.current) audio.current.playbackRate = Number(event.target.value);
          }}
        >
          {SPEEDS.map((speed) => (
            <option key={speed} value={speed}>
              {speed} ×
            </option>
          ))}
        </select>
      </label>
      <CheckField label={t.follow} checked={follows} onChange={onFollows} />
    </div>
  );
};

/** A slider for the keyboard and screen readers, and the time beside it. */
const Position = ({
  playback: { audio, url, seek, isPlaying },
  durationSec,
}: {
  playback: Playback;
  durationSec: number;
}) => {
  const t = useResultTexts();
  const [timeSec, setTime] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another address is another recording.
  useEffect(() => {
    const element = audio.current;
    const show = (): void => setTime(element?.currentTime ?? 0);
    element?.addEventListener('timeupdate', show);
    return () => element?.removeEventListener('timeupdate', show);
  }, [audio, url]);
  return (
    <label className="position small">
      <span className="unseen">{t.position}</span>
      <input
        type="range"
        min={0}
        max={durationSec}
        step={0.1}
        value={timeSec}
        aria-valuetext={formatClock(timeSec)}
        onChange={(event) => {
          setTime(Number(event.target.value));
          seek(Number(event.target.value), isPlaying);
        }}
      />
      <span className="mono">
        {formatClock(timeSec, true)} / {formatClock(durationSec)}
      </span>
    </label>
  );
};
