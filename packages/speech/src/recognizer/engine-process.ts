/**
 * The engine process: loads one model into native code and answers messages (messages.ts). It says what it is about to
 * do before it does it, because native code may end it without a word. Ctrl-C reaches the whole group, so signals are
 * ignored. It keeps nothing, so its parent ends it with SIGKILL; it ends itself when its parent is gone.
 */
import { type Engine, EngineRefusal } from './engines/engine.ts';
import type { OnlineEngine } from './engines/sherpa-online.ts';
import type { EngineVersions, FromEngine, ToEngine } from './messages.ts';
import { readPiece } from './piece.ts';
import type { EngineModel } from './recognizer.ts';

const say = (message: FromEngine): void => {
  // The callback takes the error of a channel that closes meanwhile; `disconnect` ends the process then.
  if (process.connected) process.send?.(message, undefined, undefined, () => undefined);
};

/** At once, even in the middle of a decode: an ordinary exit waits for libuv's threads. */
const die = (): void => {
  process.kill(process.pid, 'SIGKILL');
};

const reasonOf = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown));

/** Unix ms with fractions. */
const nowMs = (): number => performance.timeOrigin + performance.now();

const announce = (doing: string): void => say({ kind: 'announce', doing });

const openEngine = async (model: EngineModel, slots: number): Promise<Engine> => {
  if (model.engine === 'pocketsphinx') {
    const { openPocketsphinx } = await import('./engines/pocketsphinx.ts');
    return openPocketsphinx(model, slots, announce);
  }
  const { openSherpa } = await import('./engines/sherpa.ts');
  return openSherpa(model, slots, announce);
};

const openStreaming = async (model: EngineModel): Promise<OnlineEngine> => {
  if (model.engine !== 'sherpa') throw new EngineRefusal(`${model.engine} has no streaming models`);
  const { openSherpaOnline } = await import('./engines/sherpa-online.ts');
  return openSherpaOnline(model, announce, (streams) => say({ kind: 'heard', streams }));
};

const readVersions = async (libraryPaths: readonly string[]): Promise<EngineVersions> => {
  const { loadSherpa } = await import('./engines/sherpa-addon.ts');
  const { version, onnxruntimeVersion } = loadSherpa();
  const { readPocketsphinxVersion } = await import('./engines/pocketsphinx-library.ts');
  const pocketsphinx = readPocketsphinxVersion(libraryPaths);
  return {
    sherpa_onnx: version,
    onnxruntime: onnxruntimeVersion,
    ...(pocketsphinx !== undefined && { pocketsphinx }),
  };
};

const recognize = async (engine: Engine, message: Extract<ToEngine, { kind: 'recognize' }>): Promise<void> => {
  const { id, traceparent } = message;
  const startMs = nowMs();
  try {
    const recognition = await engine.recognize(readPiece(message.utterance), message.options);
    const worked = traceparent === undefined ? {} : { worked: { traceparent, startMs, endMs: nowMs() } };
    say({ kind: 'recognized', id, recognition, ...worked });
  } catch (thrown) {
    const refusal = thrown instanceof EngineRefusal ? thrown : undefined;
    say({
      kind: 'failed',
      id,
      code: refusal?.code ?? 'inference_failed',
      message: refusal?.message ?? `The engine failed: ${reasonOf(thrown)}`,
      ...(refusal?.param !== undefined && { param: refusal.param }),
    });
  }
};

const serve = (): void => {
  let engine: Engine | undefined;
  let streaming: OnlineEngine | undefined;

  const load = async (model: EngineModel, slots: number): Promise<void> => {
    try {
      if (model.streaming) streaming = await openStreaming(model);
      else engine = await openEngine(model, slots);
      say({ kind: 'loaded', facts: (streaming ?? engine)!.facts });
    } catch (thrown) {
      say({ kind: 'refused', reason: reasonOf(thrown) });
    }
  };

  const handle = async (message: ToEngine): Promise<void> => {
    switch (message.kind) {
      case 'load':
        return load(message.model, message.slots);
      case 'recognize':
        if (engine) return recognize(engine, message);
        return say({ kind: 'failed', id: message.id, code: 'inference_failed', message: 'No model is loaded.' });
      case 'ping':
        return say({ kind: 'pong', id: message.id, rssBytes: process.memoryUsage.rss() });
      case 'versions':
        return readVersions(message.libraryPaths).then(
          (versions) => say({ kind: 'versions', versions }),
          (thrown: unknown) => say({ kind: 'refused', reason: reasonOf(thrown) }),
        );
      default:
        return streaming?.handle(message);
    }
  };

  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
  process.on('disconnect', die);
  process.on('message', (message) => void handle(message as ToEngine));
};

serve();
