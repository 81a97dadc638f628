/** 114: waits, at most five seconds. */
import { setTimeout as sleepFor } from 'node:timers/promises';
import { type Element, go } from '../element.ts';
import { ScriptFault } from '../fault.ts';

const MAX_SLEEP_MS = 5000;
const REASON = `must be milliseconds from 0 to ${MAX_SLEEP_MS}`;

const isAllowed = (ms: unknown): ms is number => typeof ms === 'number' && ms >= 0 && ms <= MAX_SLEEP_MS;

export const sleep: Element = {
  oType: 114,
  name: 'sleep',
  keys: { ms: { kind: 'template', required: true } },
  check: ({ ms }) => (typeof ms === 'string' || isAllowed(ms) ? undefined : { key: 'ms', reason: REASON }),
  run: async (context, object) => {
    const ms = await context.render(object.ms);
    if (!isAllowed(ms)) throw new ScriptFault('element', `ms ${REASON}`);
    await sleepFor(ms, undefined, { signal: context.signal });
    return go(object);
  },
};
