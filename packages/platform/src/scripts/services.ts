/**
 * What the composition hands to elements: each member belongs to the elements that use it. A member that is not there
 * makes its elements end with an error, so that a part can run without the others.
 */
import type { ScriptEntities } from './entities.ts';

export type ScriptServices = {
  /** 130-133: entities by collection, under the script's rights. */
  readonly entities?: ScriptEntities;
  /** 190: scripts may hold JavaScript statements. Setting `scripts.code`. */
  readonly allowsCode?: boolean;
};
