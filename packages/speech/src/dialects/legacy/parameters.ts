/**
 * Parameters as FastAPI takes them: out of the query or the form, the query first. Faults are remembered and reported
 * all at once, in the words and shapes of FastAPI on pydantic 1, which this dialect's clients know.
 */
import { Problem } from '@parley/kit/problem.ts';
import type { Form } from '../form.ts';

type Place = 'query' | 'body';
type Found = { readonly text: string; readonly place: Place; readonly name: string };

/** One item of FastAPI's `detail`. */
type Fault = {
  readonly loc: readonly [Place, string];
  readonly msg: string;
  readonly type: string;
  readonly ctx?: Readonly<Record<string, unknown>>;
};

/** What pydantic 1 reads as a boolean. */
const TRUE_WORDS: ReadonlySet<string> = new Set(['1', 'true', 't', 'yes', 'y', 'on']);
const FALSE_WORDS: ReadonlySet<string> = new Set(['0', 'false', 'f', 'no', 'n', 'off']);
/** A given value is cut to this in a fault. */
const MAX_SHOWN_CHARS = 64;

export type Parameters = ReturnType<typeof createParameters>;

const rank = ({ loc: [place] }: Fault): number => (place === 'query' ? 0 : 1);

/** The signature violations as a Problem that is written as a list, those of the query first. */
const faultsProblem = (unsorted: readonly Fault[]): Problem => {
  const faults = unsorted.toSorted((a, b) => rank(a) - rank(b));
  const first = faults[0]!;
  return new Problem({
    code: 'invalid_request',
    status: 422,
    message: `${first.loc[1]}: ${first.msg}`,
    param: first.loc[1],
    details: { detail: faults },
  });
};

/**
 * A reader over the query and the form of one request. An empty value counts as not sent, of several the last counts.
 * Call `finish` after the last parameter; it throws when any of them was bad.
 */
export const createParameters = (query: unknown, form: Form) => {
  const faults: Fault[] = [];
  const inQuery = (query ?? {}) as Readonly<Record<string, string | readonly string[]>>;

  const lastOf = (values: readonly string[]): string | undefined => values.at(-1)?.trim() || undefined;
  const find = (...names: readonly string[]): Found | undefined => {
    for (const name of names) {
      const asked = lastOf([Object.hasOwn(inQuery, name) ? inQuery[name]! : []].flat());
      if (asked !== undefined) return { text: asked, place: 'query', name };
      const sent = lastOf(form.get(name) ?? []);
      if (sent !== undefined) return { text: sent, place: 'body', name };
    }
    return undefined;
  };
  const fault = ({ place, name }: Omit<Found, 'text'>, msg: string, type: string, ctx?: Fault['ctx']): undefined => {
    faults.push({ loc: [place, name], msg, type, ...(ctx && { ctx }) });
  };

  return {
    find,
    fault,
    text: (name: string): string | undefined => find(name)?.text,
    /** The first of the names that was sent. */
    flag: (...names: readonly string[]): boolean | undefined => {
      const found = find(...names);
      if (found === undefined) return undefined;
      const word = found.text.toLowerCase();
      if (TRUE_WORDS.has(word)) return true;
      if (FALSE_WORDS.has(word)) return false;
      return fault(found, 'value could not be parsed to a boolean', 'type_error.bool');
    },
    /** A whole number from `min` on. */
    int: (name: string, min: number): number | undefined => {
      const found = find(name);
      if (found === undefined) return undefined;
      if (!/^[+-]?\d{1,9}$/.test(found.text)) {
        return fault(found, 'value is not a valid integer', 'type_error.integer');
      }
      return Number(found.text) >= min ? Number(found.text) : tooSmall(found, min);
    },
    tooSmall: (name: string, min: number): undefined => tooSmall(find(name)!, min),
    choice: <const W extends readonly string[]>(name: string, words: W): W[number] | undefined => {
      const found = find(name);
      if (found === undefined || words.includes(found.text)) return found?.text;
      const permitted = words.map((word) => `'${word}'`).join(', ');
      return fault(found, `unexpected value; permitted: ${permitted}`, 'value_error.const', {
        given: found.text.slice(0, MAX_SHOWN_CHARS),
        permitted: words,
      });
    },
    /** The file did not come; `form` may have a text of its name. */
    missingFile: (name: string): undefined =>
      form.has(name)
        ? fault({ place: 'body', name }, "Expected UploadFile, received: <class 'str'>", 'value_error')
        : fault({ place: 'body', name }, 'field required', 'value_error.missing'),
    finish: (): void => {
      if (faults.length > 0) throw faultsProblem(faults);
    },
  };

  function tooSmall(found: Found, min: number): undefined {
    const msg = `ensure this value is greater than or equal to ${min}`;
    return fault(found, msg, 'value_error.number.not_ge', { limit_value: min });
  }
};
