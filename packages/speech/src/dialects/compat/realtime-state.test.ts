import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { nextState, openState, type SocketEvent, type SocketState } from './realtime-state.ts';

const LIMITS = { maxSessions: 1, maxSessionMs: 10_000, idleMs: 3000, noAudioMs: 1000, pingMs: 500 };

const play = (events: readonly SocketEvent[], limits = LIMITS): SocketState =>
  events.reduce<SocketState>((state, event) => nextState(state, event, limits), openState(0));
const tick = (nowMs: number, unsentBytes = 0): SocketEvent => ({ type: 'tick', nowMs, unsentBytes });
const reasonOf = (state: SocketState): string =>
  state.name === 'closed' ? `${state.code} ${state.reason}` : state.name;
const ticks = (from: number, to: number, unsentBytes = 0): SocketEvent[] =>
  Array.from({ length: (to - from) / 100 + 1 }, (_, index) => [
    tick(from + index * 100, unsentBytes),
    { type: 'pong' } as const,
  ]).flat();

describe('the state of a socket', () => {
  it('ends without audio, without a message, and in any case in the end', () => {
    assert.equal(reasonOf(play(ticks(100, 900))), 'open');
    assert.equal(reasonOf(play(ticks(100, 1000))), '1000 no audio came');
    assert.equal(reasonOf(play([{ type: 'audio' }, ...ticks(100, 3000)])), '1000 idle');
    const busy = Array.from({ length: 100 }, (_, index): SocketEvent[] => [
      { type: 'message', nowMs: index * 100 },
      ...ticks(index * 100, index * 100),
    ]).flat();
    assert.equal(reasonOf(play([{ type: 'audio' }, ...busy, tick(10_000)])), '1000 session expired');
  });

  it('has no limits where they are 0', () => {
    const limits = { maxSessions: 1, maxSessionMs: 0, idleMs: 0, noAudioMs: 0, pingMs: 0 };
    assert.equal(play([tick(1e9), tick(2e9)], limits).name, 'open');
  });

  it('asks for a pong, and ends abruptly without one', () => {
    const asked = play([tick(500)]);
    assert.ok(asked.name === 'open' && asked.pingedMs === 500 && !asked.ponged);
    assert.equal(play([tick(500), tick(900)]).name, 'open');
    const gone = play([tick(500), tick(1000)], { ...LIMITS, noAudioMs: 0 });
    assert.ok(gone.name === 'closed' && gone.abrupt && gone.reason === 'no answer to a ping');
  });

  it('blames nobody for silence while it does not read', () => {
    const events: SocketEvent[] = [
      { type: 'audio' },
      { type: 'throttle', on: true, nowMs: 100 },
      tick(600),
      tick(5000),
    ];
    assert.equal(play(events).name, 'open');
    const woken = play([...events, { type: 'throttle', on: false, nowMs: 5100 }, tick(5200)]);
    assert.equal(woken.name, 'open');
  });

  it('ends when what was written does not move for ten seconds, or is too much', () => {
    const limits = { ...LIMITS, maxSessionMs: 0, noAudioMs: 0, idleMs: 0 };
    assert.equal(reasonOf(play(ticks(100, 10_000, 5), limits)), 'open');
    assert.equal(reasonOf(play(ticks(100, 10_200, 5), limits)), '1008 not reading');
    const moving = [...ticks(100, 9000, 5), ...ticks(9100, 15_000, 4)];
    assert.equal(reasonOf(play(moving, limits)), 'open');
    assert.equal(reasonOf(play([{ type: 'sent', unsentBytes: 2 ** 21 }])), '1008 not reading');
  });

  it('drains: texts first, then 1001, but not for ever', () => {
    const draining: SocketEvent = { type: 'drain', nowMs: 100 };
    assert.equal(reasonOf(play([draining, tick(2000)])), 'draining');
    assert.equal(reasonOf(play([draining, { type: 'settled' }])), '1001 the service is stopping');
    assert.equal(reasonOf(play([draining, tick(5100)])), '1001 the service is stopping');
  });

  it('stays closed', () => {
    assert.equal(reasonOf(play([{ type: 'fault' }, { type: 'gone', code: 1000 }, tick(1e6)])), '1011 internal error');
  });
});
