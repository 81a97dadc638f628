/**
 * What an element of a script's graph is: one file each in elements/, listed in elements/all.ts. The interpreter
 * (run.ts) walks the graph; an element does one thing and says where the run goes on. An object of the graph is the
 * element's own keys beside the common ones (`oId`, `oType`, `name`, `transfer` …), checked on save by `keys`.
 */
import type { Caller, Domain } from '../domains/types.ts';
import { isObject, type Json } from '../rest/json.ts';
import type { ScriptServices } from './services.ts';

/** An object of a script's graph, as saved. Its keys fit the element's `keys`: they were checked before the run. */
export type ScriptObject = Json & { readonly oId: number; readonly oType: number };

/**
 * What a key of an element holds:
 * - `template`: any JSON; texts in it may hold `{{expression}}`. A text that is one `{{expression}}` and nothing else
 *   becomes its value with its type; else the values are put into the text. Read with `context.render`.
 * - `expression`: JavaScript over the run's variables. `expressions`: an object of names to expressions.
 * - `variable`: the name of a variable that is written. `variables`: an object of what to the name of a variable.
 * - `transfer`: the oId of an object, 0 = end.
 * - `text`, `number`, `flag`, `word`: taken as they stand. `source`: JavaScript statements.
 * - `list`: objects with keys of their own, in `items`.
 * - `inputs`: what a start takes: names, or `{name, required}`.
 */
export type KeyKind =
  | 'template'
  | 'expression'
  | 'expressions'
  | 'variable'
  | 'variables'
  | 'transfer'
  | 'text'
  | 'number'
  | 'flag'
  | 'word'
  | 'source'
  | 'list'
  | 'inputs';

export type Key = {
  readonly kind: KeyKind;
  readonly required?: boolean;
  /** Bounds of a number. */
  readonly min?: number;
  readonly max?: number;
  /** The words of a `word`, or what a `variables` object may name. */
  readonly words?: readonly string[];
  /** Keys of each item of a `list`. */
  readonly items?: Readonly<Record<string, Key>>;
  /** Most items of a `list`. */
  readonly maxItems?: number;
  readonly description?: string;
};

export type FormField = {
  readonly name: string;
  readonly title?: string;
  readonly type: 'hidden' | 'line' | 'password' | 'code' | 'select' | 'text';
  readonly value?: unknown;
  readonly from?: { readonly step: string | number };
  readonly [more: string]: unknown;
};

/** What a form asks; the run goes on when the step is posted. */
export type ScriptForm = {
  readonly step: string | number;
  readonly fields: readonly FormField[];
  readonly next_step?: string | number;
};

/** Where a run goes after an element. */
export type Step =
  /** To the object with this oId; 0 ends the run, or the pass of a loop. */
  | { readonly kind: 'go'; readonly to: number }
  | { readonly kind: 'return'; readonly values: Json; readonly status?: unknown }
  /** Ends this answer; after the step is posted the run goes on at `transfer` with the values as variables. */
  | { readonly kind: 'form'; readonly form: ScriptForm; readonly transfer: number }
  | { readonly kind: 'refuse'; readonly message: string; readonly retry: boolean }
  /** Runs another script; `out` are expressions over what it returns. */
  | {
      readonly kind: 'call';
      readonly code: string;
      readonly input: Json;
      readonly out: Readonly<Record<string, string>>;
      readonly transfer: number;
    }
  /** Goes to `body` once for each item, then to `transfer`. */
  | {
      readonly kind: 'loop';
      readonly list: readonly unknown[];
      readonly item: string;
      readonly body: number;
      readonly transfer: number;
    };

/** From where a run was started: some elements are only for some. */
export type Entry = 'external' | 'oauth' | 'admin' | 'integration';

/** Levels of a run's log; `opts.loglevel` of the script is how many of them are kept (0 none … 5 all). */
export const LOG_LEVELS = ['error', 'warning', 'info', 'debug', 'trace'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** What an element may know and do. */
export type ElementContext = {
  readonly runId: string;
  readonly script: { readonly id: string; readonly code: string };
  readonly entry: Entry;
  /** Domain of the script; where it acts unless `acting` says otherwise. */
  readonly domain: Domain;
  /** Client address of the request that drives the run; empty when there is none. */
  readonly address: string;
  /** The script as a caller: its rights, and whom the journal names. */
  readonly caller: Caller;
  /**
   * For elements with a `domain?` key: the domain it names and the script as a caller there; without a name the script's
   * own. Throws a ScriptFault when the script is not of the master domain, or the domain is unknown.
   */
  acting(domainName: unknown): Promise<{ readonly domain: Domain; readonly caller: Caller }>;
  readonly variables: {
    /** undefined when there is no such variable. */
    get(name: string): unknown;
    /** Throws a ScriptFault when the value does not fit the declared type, or all variables together are too large. */
    set(name: string, value: unknown): void;
  };
  /** Sets variables to the values of expressions, each of which sees those before it. The cheapest way for large values. */
  assign(each: readonly { readonly name: string; readonly source: string }[]): Promise<void>;
  /** Value of an expression over the variables. Throws a ScriptFault. */
  evaluate(expression: string): Promise<unknown>;
  /**
   * Values of several at once, in order; `as` makes a value visible to those after it. `untilTrue` ends with the first
   * that is true, so that those after it are not evaluated.
   */
  evaluateAll(
    each: readonly { readonly source: string; readonly as?: string }[],
    options?: { readonly untilTrue?: boolean },
  ): Promise<unknown[]>;
  /** Runs statements; `return` gives the value. `scope` alone is visible. */
  execute(source: string, scope: Json): Promise<unknown>;
  /** Values of expressions over other things than the variables. */
  evaluateIn(scope: Json, sources: readonly string[]): Promise<unknown[]>;
  /** A template with its expressions replaced by their values. */
  render(template: unknown): Promise<unknown>;
  /** The same as text: null and undefined are empty, objects are JSON. */
  renderText(template: unknown): Promise<string>;
  /** Aborts when the client goes, the service ends, or the run's time is over. */
  readonly signal: AbortSignal;
  /** Milliseconds this run may still take. */
  remainingMs(): number;
  /** Into the run's own log, which its author can read. Never passwords, tokens or codes. */
  log(level: LogLevel, text: string): void;
  /** Marks a text (a code, a token) that log and trace must not show, wherever it turns up. */
  hide(secret: string): void;
  /** Leaves something for whoever started the run (the session made, say). Not kept over a form. */
  leave<K extends keyof Left>(key: K, value: Left[K]): void;
  readonly services: ScriptServices;
};

/** What elements leave for whoever started the run; each element that leaves something names it here. */
export type Left = {
  /** 141: the account that gets a session once the run has returned. */
  session?: {
    readonly kind: 'cookie' | 'token';
    readonly domain: string;
    readonly login: string;
  };
};

export type Element = {
  readonly oType: number;
  readonly name: string;
  /** Keys besides the common ones. `transfer` is common: declare it only to make it required or say it is unused. */
  readonly keys: Readonly<Record<string, Key>>;
  /** True when nothing follows it: `transfer` does not lead on (return, refuse, comment). */
  readonly isEnd?: boolean;
  /** True for what is no part of the flow. */
  readonly isNote?: boolean;
  /** Further checks on save, beyond the keys; the reason of a refusal, which names the key. */
  check?(object: ScriptObject): { readonly key: string; readonly reason: string } | undefined;
  /**
   * Throws a ScriptFault for what the script's author has to know; a Problem of the platform (409, 422, 429 …) may
   * simply rise: the run ends with it.
   */
  run(context: ElementContext, object: ScriptObject): Promise<Step> | Step;
};

/** The oId an object's key leads to; absent is 0, the end. */
export const transferOf = (object: Json, key = 'transfer'): number => {
  const to = object[key];
  return typeof to === 'number' ? to : 0;
};

/** Goes where the object's `transfer` (or another key) leads. */
export const go = (object: ScriptObject, key = 'transfer'): Step => ({ kind: 'go', to: transferOf(object, key) });

/** Items of a `list` key. */
export const itemsOf = (value: unknown): Json[] => (Array.isArray(value) ? value.filter(isObject) : []);

/** Values of an `expressions` key by their names. */
export const valuesOf = async (context: ElementContext, expressions: unknown): Promise<Json> => {
  const each = Object.entries(isObject(expressions) ? expressions : {});
  const values = await context.evaluateAll(each.map(([, source]) => ({ source: String(source) })));
  return Object.fromEntries(each.map(([name], at) => [name, values[at]]));
};
