/**
 * What the composition hands to elements: each member belongs to the elements that use it. A member that is not there
 * makes its elements end with an error, so that a part can run without the others.
 */
import type { SignIn } from '../auth/sign-in.ts';
import type { Entity } from '../domains/types.ts';
import type { ScriptCodes } from './codes.ts';
import type { ScriptCounters } from './counters.ts';
import type { ScriptEntities } from './entities.ts';
import type { ScriptHttp } from './http.ts';
import type { KeySets } from './key-sets.ts';
import type { ScriptMail } from './mail.ts';

export type ScriptServices = {
  /** 120, 122: requests to other services. */
  readonly http?: ScriptHttp;
  /** 121: mail. */
  readonly mail?: ScriptMail;
  /** 122: the value of a setting of the master domain. */
  masterSetting?(key: string): Entity | undefined;
  /** 140: passwords, through the ban. */
  readonly signIn?: SignIn;
  /** 142: counters of failures; `release` when a run has ended. */
  readonly counters?: ScriptCounters;
  /** 160: one-time codes. */
  readonly codes?: ScriptCodes;
  /** 170: public keys of issuers. */
  readonly keySets?: KeySets;
  /** 130-133: entities by collection, under the script's rights. */
  readonly entities?: ScriptEntities;
  /** 190: scripts may hold JavaScript statements. Setting `scripts.code`. */
  readonly allowsCode?: boolean;
};
