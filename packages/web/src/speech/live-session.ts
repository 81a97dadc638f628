/**
 * A realtime session over GET /v1/realtime: sound goes up as binary frames, lines of text come down while it is spoken.
 * Browsers cannot send a key with a socket; it goes as a subprotocol, as the OpenAI clients do it.
 */

export type LiveLine = { readonly id: string; readonly text: string; readonly isFinal: boolean };

export type LiveParts = {
  readonly key: string;
  /** Empty is the service's choice. */
  readonly model: string;
  readonly onLines: (lines: readonly LiveLine[]) => void;
  readonly onFault: (message: string) => void;
  readonly onClosed: () => void;
};

export type LiveSession = {
  send(samples: Int16Array): void;
  /** Lets the last words come, then closes. */
  finish(): void;
  close(): void;
};

type ServerEvent = {
  readonly type: string;
  readonly item_id?: string;
  readonly delta?: string;
  readonly transcript?: string;
  readonly service?: { readonly text?: string };
  readonly error?: { readonly message: string };
};

/** How long the last words may take after the microphone is off. */
const FINISH_MS = 10_000;
const KIND = 'conversation.item.input_audio_transcription.';
/** What answers a commit. */
const ENDS: ReadonlySet<string> = new Set([`${KIND}completed`, `${KIND}failed`, 'error']);

/** Resolves when the session is open; rejects when the service refuses it. */
export const openLiveSession = (parts: LiveParts): Promise<LiveSession> =>
  new Promise((resolve, reject) => {
    const url = new URL('/v1/realtime?intent=transcription', location.href);
    url.protocol = url.protocol.replace('http', 'ws');
    if (parts.model !== '') url.searchParams.set('model', parts.model);
    const protocols = parts.key === '' ? ['realtime'] : ['realtime', `openai-insecure-api-key.${parts.key}`];
    const socket = new WebSocket(url, protocols);
    socket.binaryType = 'arraybuffer';
    const lines = createLines(parts);
    let isFinishing = false;
    const endWhenDone = (): void => {
      if (isFinishing && !lines.isOpen()) socket.close();
    };
    socket.onmessage = ({ data }: MessageEvent<string>) => {
      lines.take(JSON.parse(data) as ServerEvent, isFinishing);
      endWhenDone();
    };
    socket.onerror = () => reject(new Error('The service did not open a session.'));
    socket.onclose = parts.onClosed;
    socket.onopen = () =>
      resolve({
        send: (samples) => {
          if (socket.readyState === WebSocket.OPEN) socket.send(samples.buffer as ArrayBuffer);
        },
        finish: () => {
          isFinishing = true;
          if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify({ type: 'input_audio_buffer.commit' }));
          setTimeout(() => socket.close(), FINISH_MS);
        },
        close: () => socket.close(),
      });
  });

/** One line an utterance, settled or not. */
const createLines = ({ onLines, onFault }: Pick<LiveParts, 'onLines' | 'onFault'>) => {
  const lines = new Map<string, LiveLine>();
  let committed = false;
  const put = (id: string, text: string, isFinal: boolean): void => {
    if (isFinal && text === '') lines.delete(id);
    else lines.set(id, { id, text, isFinal });
    onLines([...lines.values()]);
  };
  return {
    /** False once the last utterance after the commit is settled. */
    isOpen: (): boolean => !committed || [...lines.values()].some((line) => !line.isFinal),
    take: (event: ServerEvent, isFinishing: boolean): void => {
      const id = event.item_id ?? '';
      const before = lines.get(id)?.text ?? '';
      if (event.type === `${KIND}delta`) put(id, event.service?.text ?? before + (event.delta ?? ''), false);
      if (event.type === `${KIND}completed`) put(id, event.transcript ?? '', true);
      if (event.type === `${KIND}failed`) put(id, before, true);
      // After the microphone is off, that nothing was said since the last pause is no fault.
      if (event.error && !isFinishing) onFault(event.error.message);
      committed ||= isFinishing && ENDS.has(event.type);
    },
  };
};
