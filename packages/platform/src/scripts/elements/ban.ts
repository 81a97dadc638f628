/**
 * 142: counters of failures of a scenario's own, apart from those of passwords. `check` before something is tried,
 * `fail` when it went wrong, `clear` when the past shall be forgotten; `transfer_banned` when there were too many.
 */
import type { Counter } from '../../auth/ban.ts';
import { type Element, type ElementContext, go, type ScriptObject } from '../element.ts';
import { ScriptFault } from '../fault.ts';

const DEFAULT_LIMIT = 5;
const DEFAULT_WINDOW_SEC = 180;
const MAX_LIMIT = 1000;
const MAX_WINDOW_SEC = 86_400;
const MAX_KEY = 1024;

export const ban: Element = {
  oType: 142,
  name: 'ban',
  keys: {
    op: { kind: 'word', words: ['check', 'fail', 'clear'], required: true },
    key: { kind: 'template', required: true, description: 'What failures are counted by.' },
    limit: { kind: 'number', min: 1, max: MAX_LIMIT },
    window: { kind: 'number', min: 1, max: MAX_WINDOW_SEC, description: 'seconds' },
    transfer_banned: { kind: 'transfer' },
  },
  check: ({ op, transfer_banned }) =>
    op === 'check' && transfer_banned === undefined
      ? { key: 'transfer_banned', reason: 'is needed to check' }
      : undefined,
  run: async (context, object) => {
    const { counters } = context.services;
    if (!counters) throw new ScriptFault('element', 'nothing can be counted here');
    const counter = await counterOf(context, object);
    if (object.op === 'check') {
      const isFree = await counters.check(context.runId, counter, context.signal);
      return go(object, isFree ? 'transfer' : 'transfer_banned');
    }
    await counters[object.op === 'fail' ? 'fail' : 'clear'](context.runId, counter);
    return go(object);
  },
};

const counterOf = async (context: ElementContext, { key, limit, window }: ScriptObject): Promise<Counter> => ({
  name: ['script', context.domain.name, (await context.renderText(key)).toLowerCase().slice(0, MAX_KEY)],
  limit: typeof limit === 'number' ? limit : DEFAULT_LIMIT,
  windowMs: (typeof window === 'number' ? window : DEFAULT_WINDOW_SEC) * 1000,
});
