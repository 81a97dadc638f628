/**
 * 160: one-time codes. `new` puts a fresh one into the variable `save`, for a mail or SMS; `check` says whether `code`
 * is the one, in the variable `save` and by `transfer_bad`. Wrong ones are counted by `purpose`, so it should name the
 * account; too many end the run with 429.
 */
import { type Element, type ElementContext, go, type ScriptObject, type Step } from '../element.ts';
import { ScriptFault } from '../fault.ts';

const DIGITS = { min: 4, max: 10, usual: 6 } as const;
const TTL_SEC = { min: 10, max: 3600, usual: 300 } as const;
const TRIES = { min: 1, max: 10, usual: 5 } as const;
const MAX_PURPOSE = 512;
const MAX_CODE = 64;

export const code: Element = {
  oType: 160,
  name: 'code',
  keys: {
    op: { kind: 'word', words: ['new', 'check'], required: true },
    purpose: { kind: 'template', required: true },
    digits: { kind: 'number', min: DIGITS.min, max: DIGITS.max },
    ttl: { kind: 'number', min: TTL_SEC.min, max: TTL_SEC.max, description: 'seconds' },
    tries: { kind: 'number', min: TRIES.min, max: TRIES.max },
    code: { kind: 'template', description: 'What was entered; needed to check.' },
    save: { kind: 'variable', description: 'The new code, or whether the code was right.' },
    transfer_bad: { kind: 'transfer' },
  },
  check: (object) => {
    if (object.op === 'new' && object.save === undefined) return { key: 'save', reason: 'is needed for a new code' };
    if (object.op !== 'check') return undefined;
    if (object.code === undefined) return { key: 'code', reason: 'is needed to check' };
    const isHeard = object.save !== undefined || object.transfer_bad !== undefined;
    return isHeard ? undefined : { key: 'transfer_bad', reason: 'or save is needed to check' };
  },
  run: async (context, object) => {
    const { codes } = context.services;
    if (!codes) throw new ScriptFault('element', 'there are no codes here');
    const purpose = (await context.renderText(object.purpose)).slice(0, MAX_PURPOSE);
    const key = { runId: context.runId, domain: context.domain.name, purpose };
    if (object.op === 'check') {
      const entered = (await context.renderText(object.code)).slice(0, MAX_CODE);
      return checked(context, object, await codes.check(key, entered));
    }
    const digits = numberOf(object.digits, DIGITS.usual);
    const ttlMs = numberOf(object.ttl, TTL_SEC.usual) * 1000;
    const fresh = await codes.make(key, { digits, ttlMs, tries: numberOf(object.tries, TRIES.usual) });
    context.hide(fresh);
    context.variables.set(String(object.save), fresh);
    return go(object);
  },
};

const numberOf = (value: unknown, usual: number): number => (typeof value === 'number' ? value : usual);

const checked = (context: ElementContext, object: ScriptObject, isRight: boolean): Step => {
  if (typeof object.save === 'string') context.variables.set(object.save, isRight);
  return go(object, isRight || object.transfer_bad === undefined ? 'transfer' : 'transfer_bad');
};
