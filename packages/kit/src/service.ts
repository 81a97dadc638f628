/**
 * Runs a service as a process: settings, start, wait for the end, dispose, exit code. Alone it ends on SIGINT or
 * SIGTERM; under a supervisor it ignores them (Ctrl-C reaches the whole group) and ends when told, or left alone.
 */
import { aborted } from './abort.ts';
import { readCommandLine } from './command-line.ts';
import { createLog, type Log, type LogLevel } from './log.ts';
import { type Declaration, readSettings, type Settings, type Values } from './settings.ts';

/** Ends with these: done; failed; settings that cannot be used (EX_CONFIG of sysexits.h), so starting again is useless. */
const EXIT_DONE = 0;
const EXIT_FAILED = 1;
export const EXIT_CONFIG = 78;

/** What a supervisor says to a service, and what it hears. */
export type ToService = { readonly type: 'stop' } | { readonly type: 'ping' };
export type FromService = { readonly type: 'ready'; readonly url: string } | { readonly type: 'pong' };

type RunningService = AsyncDisposable & { readonly url: string };

export type ServiceSpec<D extends Declaration> = {
  /** Also the section of the settings. */
  readonly name: string;
  readonly declaration: D;
  readonly logLevel: (values: Values<D>) => LogLevel;
  /** Resolves when the service serves. `signal` aborts when the end is wanted before that. */
  start(settings: Settings<D>, log: Log, signal: AbortSignal): Promise<RunningService>;
  /** The words after the program's name; this process's own when not given. */
  readonly argv?: readonly string[];
  /** Whether a parent decides about the end; true when there is a channel to one, when not given. */
  readonly supervised?: boolean;
};

/** Runs the service to its end and resolves with the exit code: `process.exit(await runService({ … }))`. */
export const runService = async <D extends Declaration>(spec: ServiceSpec<D>): Promise<number> => {
  let settings: Settings<D>;
  try {
    const { env, file, flags } = readCommandLine(spec.argv ?? process.argv.slice(2));
    settings = readSettings(spec.declaration, { section: spec.name, env, file, flags });
  } catch (thrown) {
    createLog(spec.name).fatal((thrown as Error).message);
    return EXIT_CONFIG;
  }
  const log = createLog(spec.name, spec.logLevel(settings.values));
  const end = listenForEnd(log, spec.supervised ?? process.send !== undefined);
  try {
    await serve(spec, settings, log, end.signal);
    return EXIT_DONE;
  } catch (thrown) {
    if (end.signal.aborted && thrown === end.signal.reason) return EXIT_DONE;
    log.fatal({ err: thrown }, 'the service failed');
    return EXIT_FAILED;
  } finally {
    end.stopListening();
  }
};

const serve = async <D extends Declaration>(
  spec: ServiceSpec<D>,
  settings: Settings<D>,
  log: Log,
  signal: AbortSignal,
): Promise<void> => {
  await using running = await spec.start(settings, log, signal);
  log.info({ url: running.url }, 'ready');
  tell({ type: 'ready', url: running.url });
  await aborted(signal);
  log.info('ending');
};

/** The parent may have gone meanwhile; that is heard as `disconnect`. */
const tell = (message: FromService): void => {
  if (process.connected) process.send?.(message, undefined, undefined, () => undefined);
};

/** Turns signals and messages into one AbortSignal. A second signal ends the process at once. */
const listenForEnd = (log: Log, supervised: boolean) => {
  const controller = new AbortController();
  const stop = (): void => controller.abort(new Error('the end was asked for'));
  const onSignal = (name: NodeJS.Signals, number: number): void => {
    if (supervised) return;
    if (controller.signal.aborted) {
      log.warn({ signal: name }, 'ending at once');
      // The shell's convention for a process ended by a signal.
      process.exit(128 + number);
    }
    stop();
  };
  const onMessage = (message: unknown): void => {
    const type = (message as Partial<ToService> | null)?.type;
    if (type === 'stop') stop();
    if (type === 'ping') tell({ type: 'pong' });
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  process.on('message', onMessage);
  if (supervised) process.on('disconnect', stop);
  return {
    signal: controller.signal,
    stopListening: (): void => {
      process.off('SIGINT', onSignal);
      process.off('SIGTERM', onSignal);
      process.off('message', onMessage);
      process.off('disconnect', stop);
    },
  };
};
