/** The log: JSON lines by pino, or plain ones where a person watches. Ids, sizes, durations and codes go in; audio, text, passwords and tokens never do. */
import { type DestinationStream, type Logger, pino } from 'pino';
import pretty from 'pino-pretty';

export type Log = Logger;

export const LOG_LEVELS = ['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Paths that are cut out should someone log a whole request or settings object by mistake. */
const REDACTED = [
  'req.headers.authorization',
  'req.headers.cookie',
  '*.authorization',
  '*.password',
  '*.pwd',
  '*.token',
  '*.secret',
];

/** Lines of one turn of the event loop are written together, or earlier when there are this many characters of them. */
const MAX_HELD_CHARS = 8 * 1024;
const WARN = pino.levels.values.warn!;

/**
 * JSON lines to standard error. A busy service writes a line a request, and a system call for each costs more than the
 * line: so those of one turn go out together at its end. Warnings and worse go at once, with all before them. What can
 * be lost is the ordinary lines of the very turn in which the process is killed.
 */
const createLines = (): DestinationStream => {
  const out = pino.destination({ dest: 2, sync: true });
  let held = '';
  const flush = (): void => {
    // A warning may have taken them along.
    if (held === '') return;
    const lines = held;
    held = '';
    out.write(lines);
  };
  process.on('exit', flush);
  return {
    // Makes pino tell the level of each line in `lastLevel`.
    [Symbol.for('pino.metadata')]: true,
    lastLevel: 0,
    write(line: string): void {
      if (held === '') setImmediate(flush);
      held += line;
      if (this.lastLevel >= WARN || held.length > MAX_HELD_CHARS) flush();
    },
  } as DestinationStream & { lastLevel: number };
};

/**
 * A log on standard error, since standard output belongs to the commands' own answers: JSON lines, or plain ones when
 * standard error is a terminal.
 */
export const createLog = (name: string, level: LogLevel = 'info'): Log =>
  pino(
    { name, level, redact: { paths: REDACTED, censor: '[redacted]' } },
    process.stderr.isTTY
      ? pretty({ destination: 2, sync: true, translateTime: 'SYS:HH:MM:ss', ignore: 'pid,hostname' })
      : createLines(),
  );

/** A log that says nothing, for tests. */
export const createSilentLog = (): Log => pino({ level: 'silent' });
