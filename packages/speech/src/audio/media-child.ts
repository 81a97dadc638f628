/** One media process as its parent sees it: starts it, watches its pulse and size, keeps the end of its stderr. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { FromMedia, ToMedia } from './wire.ts';

/** What this folder needs of a log. */
export type MediaLog = {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
};

export type MediaChildOptions = {
  readonly log: MediaLog;
  /** Arguments for Node itself. */
  readonly nodeArgs: readonly string[];
  onMessage(message: Exclude<FromMedia, { type: 'ready' } | { type: 'beat' }>): void;
  onReady(): void;
  /** Told once, when the process is gone. `started` is false when it never got ready. */
  onExit(started: boolean, reason: string): void;
  /** It has grown beyond what one process should hold. */
  onLarge(): void;
};

export type MediaChild = {
  readonly pid: number | undefined;
  /** Does nothing when the process is gone. */
  send(message: ToMedia): void;
  kill(): void;
  /** Asks it to end, then makes it. */
  end(): Promise<void>;
};

const START_TIMEOUT_MS = 30_000;
/** A process that has not reported for so long is stuck in a decoder. */
const BEAT_TIMEOUT_MS = 45_000;
const END_TIMEOUT_MS = 3_000;
const STDERR_TAIL = 2_000;
/** Beyond this a process takes no more recordings and is replaced when it has finished those it has. */
const LARGE_RSS_BYTES = 450 * 1024 * 1024;
const MAX_RSS_BYTES = 1024 * 1024 * 1024;

const ENTRY = fileURLToPath(new URL('media-process.ts', import.meta.url));

/** A timer that runs out unless it is set again. */
const createLimit = (onOut: () => void) => {
  let timer: NodeJS.Timeout | undefined;
  const clear = (): void => clearTimeout(timer);
  return {
    clear,
    set(ms: number): void {
      clear();
      timer = setTimeout(onOut, ms);
    },
  };
};

const keepTail = (child: ChildProcess): (() => string) => {
  let tail = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    tail = (tail + text).slice(-STDERR_TAIL);
  });
  return () => tail.trim();
};

/** Starts a media process. */
export const startMediaChild = (options: MediaChildOptions): MediaChild => {
  const child = fork(ENTRY, ['media'], {
    execPath: process.execPath,
    execArgv: [...options.nodeArgs],
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  const tail = keepTail(child);
  let started = false;
  let gone = false;
  let why = '';
  const kill = (reason: string): void => {
    if (gone) return;
    why = reason;
    child.kill('SIGKILL');
  };
  const limit = createLimit(() => kill(started ? 'no sign of life' : 'did not start in time'));
  limit.set(START_TIMEOUT_MS);

  const onGone = (code: number | null, signal: string | null): void => {
    if (gone) return;
    gone = true;
    limit.clear();
    options.onExit(started, [why, signal ?? `exit ${code}`, tail()].filter(Boolean).join('; '));
  };
  const onBeat = (rssBytes: number): void => {
    limit.set(BEAT_TIMEOUT_MS);
    if (rssBytes > MAX_RSS_BYTES) kill(`grew to ${rssBytes} bytes`);
    else if (rssBytes > LARGE_RSS_BYTES) options.onLarge();
  };
  child.on('message', (message: FromMedia) => {
    if (gone) return;
    if (message.type === 'beat') onBeat(message.rssBytes);
    else if (message.type !== 'ready') options.onMessage(message);
    else {
      started = true;
      limit.set(BEAT_TIMEOUT_MS);
      options.onReady();
    }
  });
  child.on('close', onGone);
  child.on('error', (error) => {
    why = error.message;
    // Without a process there is no `close`.
    if (child.pid === undefined) onGone(null, 'not started');
  });
  return {
    pid: child.pid,
    send(message) {
      if (!gone && child.connected) child.send(message, () => undefined);
    },
    kill: () => kill('ended on purpose'),
    async end() {
      if (gone) return;
      const closed = once(child, 'close');
      const late = setTimeout(() => kill('did not end when asked'), END_TIMEOUT_MS);
      if (child.connected) child.send({ type: 'end' } satisfies ToMedia, () => undefined);
      await closed.finally(() => clearTimeout(late));
    },
  };
};
