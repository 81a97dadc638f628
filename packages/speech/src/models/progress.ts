/** How far a download is, for a person: a bar that moves on a terminal, a line now and then elsewhere. */
import type { Download, DownloadProgress } from './download.ts';

export type Terminal = { write(text: string): unknown; readonly isTTY?: boolean | undefined };

const BAR_CHARS = 24;
const MIB = 2 ** 20;
/** Percent between two lines where there is no terminal. */
const LINE_STEP = 25;

const renderBar = ({ model_id, state, downloaded, total, percent }: DownloadProgress): string => {
  const filled = Math.round((percent / 100) * BAR_CHARS);
  const size =
    total > 0
      ? `${(downloaded / MIB).toFixed(1)} of ${(total / MIB).toFixed(1)} MiB`
      : `${(downloaded / MIB).toFixed(1)} MiB`;
  return `${model_id} [${'#'.repeat(filled)}${'.'.repeat(BAR_CHARS - filled)}] ${String(Math.floor(percent)).padStart(3)} %  ${size}  ${state}`;
};

/** Shows a download until it is over. */
export const showProgress = (download: Download, terminal: Terminal): void => {
  let lastLine = '';
  const onTerminal = (progress: DownloadProgress): void => {
    terminal.write(`\r\u001b[K${renderBar(progress)}`);
  };
  const onLines = (progress: DownloadProgress): void => {
    const step = `${progress.state} ${Math.floor(progress.percent / LINE_STEP)}`;
    if (step === lastLine) return;
    lastLine = step;
    terminal.write(`${renderBar(progress)}\n`);
  };
  const stop = download.subscribe(terminal.isTTY ? onTerminal : onLines);
  const end = (): void => {
    stop();
    if (terminal.isTTY) terminal.write('\r\u001b[K');
  };
  download.done.then(end, end);
};
