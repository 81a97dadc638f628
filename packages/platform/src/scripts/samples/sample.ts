/** What a sample script says of itself. */
import type { Json } from '../../rest/json.ts';

export type Sample = {
  readonly name: string;
  /** What it does, in one line. */
  readonly title: string;
  /** Body of a POST on `service/svcscripts`. */
  readonly body: Json & { readonly code: string };
  /** The setting of the domain that puts it to work. */
  readonly setting: string;
  /** Where people begin. */
  readonly begins: string;
  /** What it needs besides. */
  readonly hints: readonly string[];
};
