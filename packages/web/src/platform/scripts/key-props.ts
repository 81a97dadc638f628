/** What the input of one key of an element gets. */
import type { Key } from './declared.ts';

/** What an input may choose from, and what is wrong. */
export type Around = {
  /** oId → what it is called. */
  readonly targets: readonly { readonly oId: number; readonly title: string }[];
  readonly variables: readonly string[];
  readonly fault: { readonly key: string; readonly text: string } | undefined;
};

export type KeyProps = {
  readonly name: string;
  /** `cases[0].cond`: as faults name it. */
  readonly path: string;
  readonly declared: Key;
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
  readonly around: Around;
};
