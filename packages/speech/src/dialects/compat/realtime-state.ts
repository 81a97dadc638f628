/** The states of a realtime socket and the one function that moves between them. Pure; times are ms of one clock. */
import type { RealtimeLimits } from '../../core/realtime.ts';

export type SocketState =
  | {
      readonly name: 'open';
      readonly openedMs: number;
      readonly lastMessageMs: number;
      readonly heardAudio: boolean;
      /** Not read from, because the client is far ahead of the engine. */
      readonly throttled: boolean;
      /** The last ping, and whether it was answered. */
      readonly pingedMs: number;
      readonly ponged: boolean;
      /** Since when what was written has not moved. */
      readonly stuckMs: number | undefined;
      readonly unsentBytes: number;
    }
  /** The service stops: nothing more is taken in, texts under way are told. */
  | { readonly name: 'draining'; readonly sinceMs: number }
  | { readonly name: 'closed'; readonly code: number; readonly reason: string; readonly abrupt: boolean };

export type SocketEvent =
  | { readonly type: 'message'; readonly nowMs: number }
  | { readonly type: 'audio' }
  | { readonly type: 'pong' }
  | { readonly type: 'throttle'; readonly on: boolean; readonly nowMs: number }
  | { readonly type: 'drain'; readonly nowMs: number }
  | { readonly type: 'settled' }
  | { readonly type: 'fault' }
  | { readonly type: 'gone'; readonly code: number }
  /** `unsentBytes` wait in our memory. */
  | { readonly type: 'sent'; readonly unsentBytes: number }
  | { readonly type: 'tick'; readonly nowMs: number; readonly unsentBytes: number };

/** Close codes of RFC 6455 §7.4.1. */
const CLOSE = { normal: 1000, away: 1001, policy: 1008, internal: 1011 } as const;

/** What may wait for a client that does not read. */
const MAX_UNSENT_BYTES = 2 ** 20;
const WRITE_TIMEOUT_MS = 10_000;
/** Longest time that texts under way are waited for when the service stops. */
const DRAIN_MS = 5000;

export const openState = (nowMs: number): SocketState => ({
  name: 'open',
  openedMs: nowMs,
  lastMessageMs: nowMs,
  heardAudio: false,
  throttled: false,
  pingedMs: nowMs,
  ponged: true,
  stuckMs: undefined,
  unsentBytes: 0,
});

const closed = (code: number, reason: string, abrupt = false): SocketState => ({
  name: 'closed',
  code,
  reason,
  abrupt,
});

type Open = Extract<SocketState, { name: 'open' }>;
type Tick = Extract<SocketEvent, { type: 'tick' }>;

const isOver = (limitMs: number, sinceMs: number, nowMs: number): boolean => limitMs > 0 && nowMs - sinceMs >= limitMs;

const nextTick = (state: Open, { nowMs, unsentBytes }: Tick, limits: RealtimeLimits): SocketState => {
  if (isOver(limits.maxSessionMs, state.openedMs, nowMs)) return closed(CLOSE.normal, 'session expired');
  if (!state.heardAudio && isOver(limits.noAudioMs, state.openedMs, nowMs))
    return closed(CLOSE.normal, 'no audio came');
  if (!state.throttled && isOver(limits.idleMs, state.lastMessageMs, nowMs)) return closed(CLOSE.normal, 'idle');
  const moved = unsentBytes === 0 || unsentBytes < state.unsentBytes;
  const stuckMs = moved ? undefined : (state.stuckMs ?? nowMs);
  if (stuckMs !== undefined && isOver(WRITE_TIMEOUT_MS, stuckMs, nowMs))
    return closed(CLOSE.policy, 'not reading', true);
  const next: Open = { ...state, stuckMs, unsentBytes };
  if (!isOver(limits.pingMs, state.pingedMs, nowMs)) return next;
  // While it is not read from, its answer cannot be heard.
  if (!state.ponged && !state.throttled) return closed(CLOSE.policy, 'no answer to a ping', true);
  return { ...next, pingedMs: nowMs, ponged: false };
};

const nextOpen = (state: Open, event: SocketEvent, limits: RealtimeLimits): SocketState => {
  switch (event.type) {
    case 'message':
      return { ...state, lastMessageMs: event.nowMs };
    case 'audio':
      return { ...state, heardAudio: true };
    case 'pong':
      return { ...state, ponged: true };
    case 'throttle':
      // What the client sent meanwhile is still to be read: its silence begins now.
      return { ...state, throttled: event.on, lastMessageMs: event.nowMs, pingedMs: event.nowMs, ponged: true };
    case 'drain':
      return { name: 'draining', sinceMs: event.nowMs };
    case 'sent':
      return event.unsentBytes > MAX_UNSENT_BYTES ? closed(CLOSE.policy, 'not reading', true) : state;
    case 'tick':
      return nextTick(state, event, limits);
    default:
      return nextEnding(state, event);
  }
};

const nextEnding = (state: SocketState, event: SocketEvent): SocketState => {
  if (event.type === 'fault') return closed(CLOSE.internal, 'internal error');
  if (event.type === 'gone') return closed(event.code, 'gone', true);
  if (state.name !== 'draining') return state;
  const late = event.type === 'tick' && isOver(DRAIN_MS, state.sinceMs, event.nowMs);
  const full = event.type === 'sent' && event.unsentBytes > MAX_UNSENT_BYTES;
  return event.type === 'settled' || late || full ? closed(CLOSE.away, 'the service is stopping', full) : state;
};

/** The state after `event`; a closed socket stays closed. */
export const nextState = (state: SocketState, event: SocketEvent, limits: RealtimeLimits): SocketState => {
  if (state.name === 'closed') return state;
  return state.name === 'open' ? nextOpen(state, event, limits) : nextEnding(state, event);
};
