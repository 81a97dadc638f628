/** A client that writes bytes as they are, for what no well-behaved client would send. */
import { connect, type Socket } from 'node:net';

export type RawClient = {
  readonly socket: Socket;
  write(text: string | Uint8Array): void;
  /** Everything received so far. */
  text(): string;
  /** Resolves when what came satisfies the test; rejects when the connection ends before. */
  until(test: (text: string) => boolean): Promise<string>;
  /** Resolves with everything received once the server has closed its side; `reset` tells how. */
  closed(): Promise<{ text: string; reset: boolean }>;
};

export const openRaw = async (port: number): Promise<RawClient> => {
  const socket = connect({ port, host: '127.0.0.1' });
  let text = '';
  let error: NodeJS.ErrnoException | undefined;
  const listeners = new Set<() => void>();
  const changed = (): void => {
    for (const listener of listeners) listener();
  };
  socket.setEncoding('latin1');
  socket.on('data', (chunk: string) => {
    text += chunk;
    changed();
  });
  socket.on('error', (thrown: NodeJS.ErrnoException) => {
    error = thrown;
  });
  socket.on('end', changed);
  socket.on('close', changed);
  await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject));

  const when = <T>(look: () => T | undefined): Promise<T> =>
    new Promise((resolve) => {
      const listener = (): void => {
        const found = look();
        if (found === undefined) return;
        listeners.delete(listener);
        resolve(found);
      };
      listeners.add(listener);
      listener();
    });
  const isOver = (): boolean => socket.readableEnded || socket.destroyed;

  return {
    socket,
    write: (bytes) => {
      if (socket.writable) socket.write(bytes);
    },
    text: () => text,
    until: async (test) => {
      await when(() => (test(text) || isOver() ? true : undefined));
      if (!test(text)) throw new Error(`the connection ended (${error?.code ?? 'end'}) after: ${text}`);
      return text;
    },
    closed: async () => {
      await when(() => (isOver() ? true : undefined));
      socket.destroy();
      return { text, reset: error !== undefined };
    },
  };
};

export const statusOf = (text: string): number => Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0);
export const headerOf = (text: string, name: string): string | undefined =>
  new RegExp(`^${name}: (.*)\\r$`, 'im').exec(text.split('\r\n\r\n', 1)[0]!)?.[1];
