/**
 * Runs a service as a process: settings, start, wait for the end, dispose, exit code. Alone it ends on SIGINT or
 * SIGTERM; under a parent it ignores them (Ctrl-C reaches the whole group) and ends when told, or left alone. What a
 * parent and a service say to each other is in here too.
 */
import { aborted } from './abort.ts';
import { readCommandLine } from './command-line.ts';
import type { Front } from './http/front.ts';
import { createLog, type Log, type LogLevel } from './log.ts';
import { ServiceFault } from './service-fault.ts';
import { type Declaration, readSettings, type Settings, type Values } from './settings.ts';

/** Ends with these: done; failed; settings that cannot be used (EX_CONFIG of sysexits.h), so starting again is useless. */
const EXIT_DONE = 0;
const EXIT_FAILED = 1;
export const EXIT_CONFIG = 78;

/** What parts of a service and of its parent tell each other beyond the life of the service; `topic` says whose it is. */
export type Note = { readonly type: 'note'; readonly topic: string; readonly body: unknown };

/** What a parent says to a service, and what it hears. */
export type ToService =
  | { readonly type: 'stop' }
  | { readonly type: 'ping' }
  | { readonly type: 'log-level'; readonly level: LogLevel }
  | Note;
export type FromService =
  | { readonly type: 'ready'; readonly url: string; readonly logLevel?: LogLevel }
  /** `rssBytes`: memory of the service's process. */
  | { readonly type: 'pong'; readonly rssBytes: number }
  | Note;

/** The way to a parent and back. */
export type Line = {
  /** Does nothing when the parent is gone. */
  send(message: FromService): void;
  /** Returns the way to stop listening. */
  listen(hear: (message: Partial<ToService>) => void, gone: () => void): () => void;
};

/** What a service gets from whoever runs it. */
export type Surroundings = {
  /** Aborts when the end is wanted. */
  readonly signal: AbortSignal;
  /** Absent when the service runs alone. */
  readonly line: Line | undefined;
  /** Where to accept connections instead of opening a port: a socket that the parent holds, or its front. */
  readonly socket: { readonly fd: number } | { readonly front: Front } | undefined;
};

type RunningService = AsyncDisposable & { readonly url: string };

export type Service<D extends Declaration = Declaration> = {
  /** Also the section of the settings. */
  readonly name: string;
  readonly declaration: D;
  readonly logLevel: (values: Values<D>) => LogLevel;
  /** Resolves when the service serves. `signal` aborts when the end is wanted before that. */
  start(settings: Settings<D>, log: Log, signal: AbortSignal, around: Surroundings): Promise<RunningService>;
};

/** Who runs the service; what is absent is taken from this process. */
export type ServiceHost = {
  /** The words after the program's name. */
  readonly argv?: readonly string[];
  readonly line?: Line;
  readonly front?: Front;
};

/** Option of the command line: the number of a file that is a socket, bound already, to accept connections on. */
export const SOCKET_OPTION = '--socket=';

/** Runs the service to its end and resolves with the exit code: `process.exit(await runService({ … }))`. */
export const runService = async <D extends Declaration>(
  service: Service<D>,
  host: ServiceHost = {},
): Promise<number> => {
  let settings: Settings<D>;
  let rest: readonly string[];
  try {
    const { env, file, flags, rest: words } = readCommandLine(host.argv ?? process.argv.slice(2));
    settings = readSettings(service.declaration, { section: service.name, env, file, flags });
    rest = words;
  } catch (thrown) {
    createLog(service.name).fatal((thrown as Error).message);
    return EXIT_CONFIG;
  }
  const log = createLog(service.name, service.logLevel(settings.values));
  const line = host.line ?? lineOfProcess();
  const end = listenForEnd(log, line);
  try {
    const socket = host.front ? { front: host.front } : socketIn(rest);
    await serve(service, settings, log, { signal: end.signal, line, socket });
    return EXIT_DONE;
  } catch (thrown) {
    if (end.signal.aborted && thrown === end.signal.reason) return EXIT_DONE;
    if (thrown instanceof ServiceFault) log.fatal(thrown.message);
    else log.fatal({ err: thrown }, 'the service failed');
    return EXIT_FAILED;
  } finally {
    end.stopListening();
  }
};

const socketIn = (words: readonly string[]): { fd: number } | undefined => {
  const given = words.find((word) => word.startsWith(SOCKET_OPTION));
  return given === undefined ? undefined : { fd: Number(given.slice(SOCKET_OPTION.length)) };
};

const serve = async <D extends Declaration>(
  service: Service<D>,
  settings: Settings<D>,
  log: Log,
  around: Surroundings,
): Promise<void> => {
  await using running = await service.start(settings, log, around.signal, around);
  log.info({ url: running.url }, 'ready');
  around.line?.send({ type: 'ready', url: running.url, logLevel: log.level as LogLevel });
  await aborted(around.signal);
  log.info('ending');
};

/** The channel that `fork` opened, or undefined. */
const lineOfProcess = (): Line | undefined => {
  if (process.send === undefined) return undefined;
  return {
    // The parent may have gone meanwhile; that is heard as `disconnect`.
    send: (message) => {
      if (process.connected) process.send?.(message, undefined, undefined, () => undefined);
    },
    listen: (hear, gone) => {
      const onMessage = (message: unknown): void => hear((message ?? {}) as Partial<ToService>);
      process.on('message', onMessage);
      process.on('disconnect', gone);
      return () => {
        process.off('message', onMessage);
        process.off('disconnect', gone);
      };
    },
  };
};

/** Turns signals and messages into one AbortSignal. A second signal ends the process at once. */
const listenForEnd = (log: Log, line: Line | undefined) => {
  const controller = new AbortController();
  const stop = (): void => controller.abort(new Error('the end was asked for'));
  const onSignal = (name: NodeJS.Signals, number: number): void => {
    if (line) return;
    if (controller.signal.aborted) {
      log.warn({ signal: name }, 'ending at once');
      // The shell's convention for a process ended by a signal.
      process.exit(128 + number);
    }
    stop();
  };
  const hear = (message: Partial<ToService>): void => {
    if (message.type === 'stop') stop();
    if (message.type === 'ping') line?.send({ type: 'pong', rssBytes: process.memoryUsage.rss() });
    if (message.type === 'log-level' && message.level !== undefined) log.level = message.level;
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  const stopHearing = line?.listen(hear, stop);
  return {
    signal: controller.signal,
    stopListening: (): void => {
      process.off('SIGINT', onSignal);
      process.off('SIGTERM', onSignal);
      stopHearing?.();
    },
  };
};
