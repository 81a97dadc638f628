/** How far a download is, for people: one line that is rewritten on a terminal, a few lines elsewhere. */
import type { DownloadProgress } from '../core/types.ts';
import type { Download } from './download.ts';

/** Where the lines go; standard output, standard error, or a test. */
export type Terminal = { write(text: string): unknown; readonly isTTY?: boolean };

const BAR_CELLS = 24;
const REDRAW_MS = 100;
const MIB = 2 ** 20;
const LINE_STEP_PERCENT = 25;
const STATE_WORDS = {
  queued: 'waiting',
  downloading: 'downloading',
  verifying: 'checking',
  unpacking: 'unpacking',
  installing: 'installing',
} as const;

const toMib = (bytes: number): string => (bytes / MIB).toFixed(1);

const sizeWords = ({ downloaded, total }: DownloadProgress): string => {
  if (total > 0) return `${toMib(downloaded)} of ${toMib(total)} MiB`;
  return downloaded > 0 ? `${toMib(downloaded)} MiB` : 'size unknown';
};

/** `zipformer-small-en  ████████░░░░  34 %  36.4 of 107.0 MiB  downloading` */
export const renderProgress = (progress: DownloadProgress): string => {
  const filled = Math.round((progress.percent / 100) * BAR_CELLS);
  const bar = '█'.repeat(filled) + '░'.repeat(BAR_CELLS - filled);
  const percent = progress.total > 0 ? `${String(progress.percent).padStart(3)} %  ` : '';
  return `${progress.model_id}  ${bar}  ${percent}${sizeWords(progress)}  ${STATE_WORDS[progress.state]}`;
};

/** Shows a download until it is over. What the outcome was is the caller's to say. */
export const showProgress = (download: Download, out: Terminal): void => {
  const tty = out.isTTY === true;
  let drawnMs = 0;
  let told = '';
  const draw = (progress: DownloadProgress): void => {
    if (tty) {
      const now = performance.now();
      if (now - drawnMs < REDRAW_MS && progress.state === 'downloading') return;
      drawnMs = now;
      out.write(`\r\x1b[K${renderProgress(progress)}`);
      return;
    }
    const step = `${progress.state} ${Math.floor(progress.percent / LINE_STEP_PERCENT)}`;
    if (step === told) return;
    told = step;
    out.write(`${progress.model_id}: ${STATE_WORDS[progress.state]}, ${sizeWords(progress)}\n`);
  };
  const stop = download.subscribe(draw);
  const end = (): void => {
    stop();
    if (tty && drawnMs > 0) out.write('\r\x1b[K');
  };
  download.done.then(end, end);
};
