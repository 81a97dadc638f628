/**
 * One realtime socket: messages are obeyed one after the other, and no further ones are read while the session has
 * enough to do; timers, pings and the end are decided in realtime-state.ts.
 */
import type { WebSocket } from '@parley/kit/http/socket.ts';
import type { RealtimeEvent, RealtimeLimits, RealtimePlace, RealtimeSession } from '../../core/realtime.ts';
import { type Dialogue, FIRST_CONFIG } from './realtime-dialogue.ts';
import { renderEvent, toMessage, type WireEvent } from './realtime-events.ts';
import { nextState, openState, type SocketEvent, type SocketState } from './realtime-state.ts';

export type SocketParts = {
  readonly socket: WebSocket;
  readonly place: RealtimePlace;
  readonly limits: RealtimeLimits;
  readonly gaEvents: boolean;
  /** Aborts when the service stops. */
  readonly draining: AbortSignal;
  readonly log: { error(facts: object, message: string): void; info(facts: object, message: string): void };
  readonly createDialogue: (session: RealtimeSession, told: Told) => Dialogue;
};

/** What a dialogue tells its socket. */
export type Told = { readonly send: (event: WireEvent) => void; readonly onAudio: () => void; readonly nowMs: number };

/** Messages and bytes that may wait to be obeyed before the socket is not read any more. */
const MAX_WAITING = 16;
const MAX_WAITING_BYTES = 2 ** 20;
/** How often time limits are looked at, as a share of the shortest one. */
const TICKS_PER_LIMIT = 4;
const MAX_TICK_MS = 1000;
const MIN_TICK_MS = 10;

type Inbox = {
  /** Takes a message; they are obeyed in order. */
  add(data: Buffer, isBinary: boolean): void;
  /** Drops what waits. */
  close(): void;
};

const createInbox = (
  obey: (data: Buffer, isBinary: boolean) => Promise<void>,
  onFull: (isFull: boolean) => void,
  onFault: (thrown: unknown) => void,
): Inbox => {
  let waiting: { readonly data: Buffer; readonly isBinary: boolean }[] = [];
  let waitingBytes = 0;
  let isBusy = false;
  let isFull = false;
  const tellFull = (full: boolean): void => {
    if (full === isFull) return;
    isFull = full;
    onFull(full);
  };
  const work = async (): Promise<void> => {
    isBusy = true;
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      waitingBytes -= next.data.length;
      await obey(next.data, next.isBinary);
    }
    isBusy = false;
    tellFull(false);
  };
  return {
    add: (data, isBinary) => {
      waiting.push({ data, isBinary });
      waitingBytes += data.length;
      if (waiting.length > MAX_WAITING || waitingBytes > MAX_WAITING_BYTES) tellFull(true);
      if (!isBusy) void work().catch(onFault);
    },
    close: () => {
      waiting = [];
      waitingBytes = 0;
    },
  };
};

const tickMsOf = ({ maxSessionMs, idleMs, noAudioMs, pingMs }: RealtimeLimits): number => {
  const shortest = Math.min(...[maxSessionMs, idleMs, noAudioMs, pingMs].filter((ms) => ms > 0), Number.MAX_VALUE);
  return Math.max(MIN_TICK_MS, Math.min(MAX_TICK_MS, shortest / TICKS_PER_LIMIT));
};

/** Serves the socket; resolves when it is closed and everything of it given back. */
export const runSocket = async (parts: SocketParts): Promise<void> => {
  const { socket, limits, log } = parts;
  const over = Promise.withResolvers<void>();
  let state: SocketState = openState(Date.now());

  const apply = (event: SocketEvent): void => {
    const before = state;
    state = nextState(state, event, limits);
    if (state === before) return;
    if (state.name === 'closed') finish(state);
    else if (state.name === 'open' && before.name === 'open' && state.pingedMs > before.pingedMs && !state.ponged)
      socket.ping();
  };
  const finish = ({ code, reason, abrupt }: Extract<SocketState, { name: 'closed' }>): void => {
    clearInterval(timer);
    log.info({ code, reason }, 'realtime socket ends');
    if (abrupt) socket.terminate();
    else socket.close(code, reason);
    // A closing handshake needs the socket to be read.
    socket.resume();
    over.resolve();
  };
  const send = (event: WireEvent): void => {
    if (state.name === 'closed') return;
    socket.send(toMessage(event), () => undefined);
    apply({ type: 'sent', unsentBytes: socket.bufferedAmount });
  };
  const onFault = (thrown: unknown): void => {
    log.error({ err: thrown }, 'realtime session failed');
    apply({ type: 'fault' });
  };
  const timer = setInterval(() => {
    apply({ type: 'tick', nowMs: Date.now(), unsentBytes: socket.bufferedAmount });
  }, tickMsOf(limits));
  socket.on('error', () => undefined);
  socket.once('close', (code: number) => {
    apply({ type: 'gone', code });
    over.resolve();
  });
  socket.on('pong', () => apply({ type: 'pong' }));

  const onEvent = (event: RealtimeEvent): void => {
    for (const message of renderEvent(event, parts.gaEvents)) send(message);
  };
  try {
    await using session = await parts.place.open(FIRST_CONFIG, onEvent);
    const onAudio = (): void => apply({ type: 'audio' });
    const dialogue = parts.createDialogue(session, { send, onAudio, nowMs: Date.now() });
    const obey = async (data: Buffer, isBinary: boolean): Promise<void> => {
      if (state.name !== 'open') return;
      await (isBinary ? dialogue.onBytes(data) : dialogue.onText(data.toString('utf8')));
    };
    const onFull = (isFull: boolean): void => {
      apply({ type: 'throttle', on: isFull, nowMs: Date.now() });
      if (isFull && state.name === 'open') socket.pause();
      else socket.resume();
    };
    const inbox = createInbox(obey, onFull, onFault);
    socket.on('message', (data: Buffer, isBinary: boolean) => {
      apply({ type: 'message', nowMs: Date.now() });
      inbox.add(data, isBinary);
    });
    const drain = (): void => {
      apply({ type: 'drain', nowMs: Date.now() });
      void session.settled().then(() => apply({ type: 'settled' }));
    };
    parts.draining.addEventListener('abort', drain, { once: true });
    dialogue.greet();
    if (parts.draining.aborted) drain();
    socket.resume();
    await over.promise;
    parts.draining.removeEventListener('abort', drain);
    inbox.close();
  } catch (thrown) {
    onFault(thrown);
  } finally {
    clearInterval(timer);
  }
};
