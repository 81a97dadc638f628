/** Scripts make and change accounts that are marked for them, and no others; what they make is marked. */
import { problem } from '../codes.ts';
import type { Caller, Entity } from '../domains/types.ts';
import { isObject, type Json } from '../rest/json.ts';
import { isForScripts } from '../scripts/principal.ts';

/** 403 when a script writes an account that is not for scripts. Marks a new one. */
export const guardAccount = (draft: Json | undefined, previous: Entity | undefined, caller: Caller): void => {
  if (caller.session.kind !== 'script') return;
  if (previous && !isForScripts(previous)) throw problem('forbidden', { details: { field: 'opts.allow_script_crud' } });
  if (draft && !previous) draft.opts = { ...(isObject(draft.opts) ? draft.opts : {}), allow_script_crud: true };
};
