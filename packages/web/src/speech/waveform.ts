/** The waveform, by wavesurfer.js; loaded when a result is first shown. It draws what was measured and never decodes. */
import WaveSurfer from 'wavesurfer.js';

export type WaveformParts = {
  readonly container: HTMLElement;
  readonly media: HTMLMediaElement;
  readonly peaks: Float32Array<ArrayBuffer>;
  readonly durationSec: number;
};

/** Draws it and follows the media; the function removes it. Colours are the page's. */
export const drawWaveform = ({ container, media, peaks, durationSec }: WaveformParts): (() => void) => {
  const colours = getComputedStyle(container);
  const nonce = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce;
  const wave = WaveSurfer.create({
    container,
    media,
    peaks: [peaks],
    duration: durationSec,
    height: 72,
    waveColor: colours.getPropertyValue('--wave'),
    progressColor: colours.getPropertyValue('--wave-played'),
    cursorColor: colours.getPropertyValue('--ink'),
    cursorWidth: 2,
    barWidth: 2,
    barGap: 1,
    barRadius: 2,
    normalize: true,
    dragToSeek: true,
    hideScrollbar: true,
    ...(nonce === undefined ? {} : { cspNonce: nonce }),
  });
  return () => wave.destroy();
};
