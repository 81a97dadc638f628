/**
 * A row was asked for that lies in the Store. `Domain.read` and the writer catch this, read what is missing and run
 * again; anywhere else it reaches the caller as "come again", because nothing was decided on less than the truth.
 */
import { Problem } from '@parley/kit/problem.ts';
import type { Entity, Kind } from './types.ts';

/** What is missing: rows by id, holders of key values, entities that pass a test, all of a kind, or only their number. */
export type Wanted =
  | { readonly kind: Kind; readonly ids: readonly string[] }
  | { readonly kind: Kind; readonly key: string; readonly values: readonly string[] }
  | {
      readonly kind: Kind;
      readonly select: string;
      readonly most: number;
      test(entity: Entity): boolean;
    }
  | { readonly kind: Kind; readonly all: true }
  | { readonly kind: Kind; readonly size: true };

export class NotLoaded extends Problem {
  override name = 'NotLoaded';
  readonly wanted: Wanted;

  constructor(wanted: Wanted) {
    super({ code: 'unavailable', status: 503, message: 'Service is not available now', retryAfterSec: 1 });
    this.wanted = wanted;
  }
}
