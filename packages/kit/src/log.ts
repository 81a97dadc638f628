/** The log: JSON lines by pino, or plain ones where a person watches. Ids, sizes, durations and codes go in; audio, text, passwords and tokens never do. */
import { type Logger, pino } from 'pino';
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

/**
 * A log on standard error, since standard output belongs to the commands' own answers: JSON lines, or plain ones when
 * standard error is a terminal. Written at once, so that the last line before a death is there.
 */
export const createLog = (name: string, level: LogLevel = 'info'): Log =>
  pino(
    { name, level, redact: { paths: REDACTED, censor: '[redacted]' } },
    process.stderr.isTTY
      ? pretty({ destination: 2, sync: true, translateTime: 'SYS:HH:MM:ss', ignore: 'pid,hostname' })
      : pino.destination({ dest: 2, sync: true }),
  );

/** A log that says nothing, for tests. */
export const createSilentLog = (): Log => pino({ level: 'silent' });
