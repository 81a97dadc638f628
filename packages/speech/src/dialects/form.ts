/**
 * Reads the fields of a form one by one, remembers every fault, and reports them all at once. An empty value counts as
 * not sent; of a single-valued field sent more than once the last value counts.
 */
import { problem } from '../core/codes.ts';

export type Form = ReadonlyMap<string, readonly string[]>;
type FieldFault = { readonly param: string; readonly message: string };
export type FormReader = ReturnType<typeof createFormReader>;

const TRUE_WORDS: readonly string[] = ['1', 'true', 'yes', 'on'];
const FALSE_WORDS: readonly string[] = ['0', 'false', 'no', 'off'];

/** `true` for 1 true yes on, `false` for 0 false no off, in any case; nothing for anything else. */
export const parseSwitch = (text: string): boolean | undefined => {
  const word = text.trim().toLowerCase();
  if (TRUE_WORDS.includes(word)) return true;
  return FALSE_WORDS.includes(word) ? false : undefined;
};

/** The one Problem for all bad fields: the first one's sentence and name, the rest under `details.errors`. */
const faultsProblem = (faults: readonly FieldFault[]): Error => {
  const [first] = faults as readonly [FieldFault, ...FieldFault[]];
  const errors = faults.map((fault) => ({ code: 'invalid_request', ...fault }));
  return problem('invalid_request', first.message, {
    param: first.param,
    ...(faults.length > 1 ? { details: { errors } } : {}),
  });
};

/** A reader over one form. Call `finish` after the last field; it throws when any of them was bad. */
export const createFormReader = (form: Form) => {
  const faults: FieldFault[] = [];
  const asked = new Set<string>();

  const fault = (param: string, message: string): undefined => {
    faults.push({ param, message });
  };
  const last = (name: string): string | undefined => {
    asked.add(name);
    const value = form.get(name)?.at(-1)?.trim();
    return value === '' ? undefined : value;
  };
  const numberIn = (name: string, kind: string, pattern: RegExp, min: number, max: number): number | undefined => {
    const text = last(name);
    if (text === undefined) return undefined;
    const value = pattern.test(text) ? Number(text) : Number.NaN;
    return value >= min && value <= max ? value : fault(name, `${name} must be ${kind} from ${min} to ${max}.`);
  };

  return {
    fault,
    /** The last value, trimmed; nothing when absent or empty. */
    text: last,
    /** Every value sent under any of the names, trimmed, empty ones left out. */
    all: (...names: readonly string[]): string[] =>
      names.flatMap((name) => {
        asked.add(name);
        return (form.get(name) ?? []).map((value) => value.trim()).filter((value) => value !== '');
      }),
    flag: (name: string): boolean | undefined => {
      const text = last(name);
      if (text === undefined) return undefined;
      return parseSwitch(text) ?? fault(name, `${name} must be true or false.`);
    },
    int: (name: string, min: number, max: number) => numberIn(name, 'a whole number', /^[+-]?\d{1,15}$/, min, max),
    number: (name: string, min: number, max: number) =>
      numberIn(name, 'a number', /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,3})?$/i, min, max),
    choice: <const W extends readonly string[]>(name: string, words: W): W[number] | undefined => {
      const text = last(name);
      if (text === undefined || words.includes(text)) return text;
      return fault(name, `${name} must be one of ${words.join(', ')}.`);
    },
    /** Names in the form that nobody asked for so far. */
    unknown: (): string[] => [...form.keys()].filter((name) => !asked.has(name)),
    finish: (): void => {
      if (faults.length > 0) throw faultsProblem(faults);
    },
  };
};
