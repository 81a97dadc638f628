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
  const nonce = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce;
  const wave = WaveSurfer.create({
    container,
    media,
    peaks: [peaks],
    duration: durationSec,
    height: 72,
    ...coloursOf(container),
    cursorWidth: 2,
    barWidth: 2,
    barGap: 1,
    barRadius: 2,
    normalize: true,
    dragToSeek: true,
    hideScrollbar: true,
    ...(nonce === undefined ? {} : { cspNonce: nonce }),
  });
  const end = onAppearance(() => wave.setOptions(coloursOf(container)));
  return () => {
    end();
    wave.destroy();
  };
};

const coloursOf = (container: HTMLElement) => {
  const style = getComputedStyle(container);
  const played = style.getPropertyValue('--wave-played');
  return { waveColor: style.getPropertyValue('--wave'), progressColor: played, cursorColor: played };
};

/** Calls when light turns dark or back, by the system or by the button of the page. */
const onAppearance = (listener: () => void): (() => void) => {
  const system = matchMedia('(prefers-color-scheme: dark)');
  const chosen = new MutationObserver(listener);
  chosen.observe(document.documentElement, { attributeFilter: ['data-theme'] });
  system.addEventListener('change', listener);
  return () => {
    chosen.disconnect();
    system.removeEventListener('change', listener);
  };
};
