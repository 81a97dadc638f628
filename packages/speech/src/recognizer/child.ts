/**
 * The main side's end of one engine process: starts it, talks to it, watches that it answers and tells once why it is
 * gone. What to do about that is host.ts.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { FromEngine, ToEngine } from './messages.ts';

/** Why an engine process is gone, for an operator. `killed` names the limit it broke when we ended it ourselves. */
export type Death = { readonly reason: string; readonly killed: boolean };

/** A child process that takes messages of type `To`. */
export type Child<To> = {
  readonly pid: number | undefined;
  /** False when the process is gone or going; the message is lost then. */
  send(message: To): boolean;
  /** Ends it at once; `why` becomes the reason. */
  kill(why: string): void;
  /** Settles once, after the last message and the last line of standard error. */
  readonly gone: Promise<Death>;
};

export type EngineChild = Child<ToEngine>;

export type ChildOptions<From = FromEngine> = {
  /** Shown in the process list behind the role. */
  readonly name: string;
  readonly libraryPaths: readonly string[];
  /** Threads of libuv, on which native code decodes. */
  readonly threads: number;
  readonly onMessage: (message: From) => void;
};

const PROGRAM = fileURLToPath(new URL('./engine-process.ts', import.meta.url));
/**
 * Samples lie outside V8's heap and go when it collects what holds them: with a small young generation that is soon. The
 * rest of the work there is native.
 */
const NODE_ARGS = ['--max-semi-space-size=1'];
/** What is kept of standard error, characters. */
const TAIL_LENGTH = 4000;
const TAIL_LINES = 3;

/** Keeps the end of a stream's text. */
const keepTail = (child: ChildProcess): (() => string) => {
  let tail = '';
  child.stderr?.setEncoding('utf8');
  child.stderr?.on('data', (text: string) => {
    tail = (tail + text).slice(-TAIL_LENGTH);
  });
  child.stderr?.on('error', () => undefined);
  return () =>
    tail
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '')
      .slice(-TAIL_LINES)
      .join(' | ');
};

const environmentOf = (options: Pick<ChildOptions, 'threads' | 'libraryPaths'>): Record<string, string> => ({
  // Nothing else is handed on: native code has no business with the service's secrets.
  UV_THREADPOOL_SIZE: String(options.threads),
  ...(options.libraryPaths.length > 0 && { LD_LIBRARY_PATH: options.libraryPaths.join(':') }),
});

const describeExit = (code: number | null, signal: NodeJS.Signals | null): string =>
  signal === null ? `ended with code ${code}` : `was ended by ${signal}`;

/** Starts an engine process. It has loaded nothing yet. */
export const openChild = (options: ChildOptions): EngineChild => openProgram<ToEngine, FromEngine>(PROGRAM, options);

type Announcement = { readonly kind: 'announce'; readonly doing: string };

/** Starts a process of the file `program`; its messages have a `kind`, of which `announce` and `loaded` are understood here. */
export const openProgram = <To extends object, From extends { readonly kind: string }>(
  program: string,
  options: ChildOptions<Exclude<From, Announcement>>,
): Child<To> => {
  const child = fork(program, ['engine', options.name], {
    serialization: 'advanced',
    execPath: process.execPath,
    execArgv: [...NODE_ARGS],
    env: environmentOf(options),
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  const tail = keepTail(child);
  let doing = 'starting';
  let killedBecause: string | undefined;

  const gone = new Promise<Death>((resolve) => {
    // Recognition may print phrases of the caller, so only what loading printed is told.
    const lastWords = (): string => (doing === 'recognising' || tail() === '' ? '' : `: ${tail()}`);
    child.once('error', (error) => {
      // Without a process there will be no exit either.
      if (child.pid === undefined) resolve({ reason: `could not be started: ${error.message}`, killed: false });
    });
    child.once('close', (code, signal) => {
      const reason = killedBecause ?? describeExit(code, signal);
      resolve({ reason: `${reason} while ${doing}${lastWords()}`, killed: killedBecause !== undefined });
    });
  });

  child.on('message', (received) => {
    const message = received as Announcement | Exclude<From, Announcement>;
    if (message.kind === 'announce') doing = (message as Announcement).doing;
    else options.onMessage(message as Exclude<From, Announcement>);
    if (message.kind === 'loaded') doing = 'recognising';
  });

  return {
    get pid() {
      return child.pid;
    },
    send: (message) => {
      if (!child.connected || killedBecause !== undefined) return false;
      child.send(message, () => undefined);
      return true;
    },
    kill: (why) => {
      killedBecause ??= why;
      child.kill('SIGKILL');
    },
    gone,
  };
};
