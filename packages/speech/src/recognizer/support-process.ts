/**
 * A process for one supporting model: it punctuates, or tells the speakers of one recording apart. As the engine process
 * it says what it is about to do, ignores the group's signals and ends itself when its parent is gone.
 */
import type { FromSupport, ToSupport } from './support-messages.ts';

const say = (message: FromSupport): void => {
  if (process.connected) process.send?.(message, undefined, undefined, () => undefined);
};

const reasonOf = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown));
const announce = (doing: string): void => say({ kind: 'announce', doing });

const serve = (): void => {
  let punctuate: ((text: string) => string) | undefined;
  let speakers: Awaited<ReturnType<typeof openSpeakers>> | undefined;

  const openSpeakers = async (options: Extract<ToSupport, { kind: 'load-speakers' }>['options']) => {
    const { openSherpaSpeakers } = await import('./engines/sherpa-speakers.ts');
    return openSherpaSpeakers(options, announce);
  };

  const handle = async (message: ToSupport): Promise<void> => {
    switch (message.kind) {
      case 'load-punctuation': {
        const { openSherpaPunctuation } = await import('./engines/sherpa-punctuation.ts');
        punctuate = await openSherpaPunctuation(message.model, announce);
        return say({ kind: 'loaded' });
      }
      case 'punctuate':
        if (punctuate) return say({ kind: 'punctuated', id: message.id, text: punctuate(message.text) });
        return say({ kind: 'failed', id: message.id, message: 'No model is loaded.' });
      case 'load-speakers':
        speakers = await openSpeakers(message.options);
        return say({ kind: 'loaded' });
      case 'audio':
        speakers?.take(message.at, message.samples);
        return say({ kind: 'taken' });
      case 'tell-apart':
        return say({ kind: 'turns', turns: (await speakers?.tellApart()) ?? [] });
    }
  };

  const answerFault = (message: ToSupport, thrown: unknown): void => {
    if (message.kind === 'punctuate') say({ kind: 'failed', id: message.id, message: reasonOf(thrown) });
    else say({ kind: 'refused', reason: reasonOf(thrown) });
  };

  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
  // At once, even in the middle of a pass: an ordinary exit waits for libuv's threads.
  process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
  process.on('message', (message) => {
    const known = message as ToSupport;
    handle(known).catch((thrown: unknown) => answerFault(known, thrown));
  });
};

serve();
