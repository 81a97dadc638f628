/** The elements a script can be made of, as `service/svcscript_elements` tells them, and a script as it is stored. */
import type { Json } from '../data/schema.ts';

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
  readonly min?: number;
  readonly max?: number;
  readonly words?: readonly string[];
  readonly items?: Keys;
  readonly maxItems?: number;
  readonly description?: string;
};

export type Keys = Readonly<Record<string, Key>>;

export type ElementType = {
  readonly oType: number;
  readonly name: string;
  readonly keys: Keys;
  readonly is_end: boolean;
  readonly is_note: boolean;
};

export const START_TYPE = 101;

/** An object of the graph. Keys that no element knows are kept as they are. */
export type ScriptObject = Json & { readonly oId: number; readonly oType: number };

/** `scriptdata.variables[]`: type 1 text, 2 number, 3 flag, 4 object, 5 list, 6 instant; location 1 … 4. */
export type Variable = { readonly name: string; readonly type: number; readonly location: number };

export const LOCATION = { local: 1, input: 2, output: 3, session: 4 } as const;

export type ScriptEntity = Json & {
  readonly id: string;
  readonly code: string;
  readonly name: string;
  readonly scriptdata: Json & { readonly objects: readonly ScriptObject[]; readonly variables: readonly Variable[] };
  readonly opts: Json;
  readonly ext?: Json;
};
