/** What the platform makes for itself is marked by `opts.system`; the mark is the platform's alone. */
import type { Caller, Entity } from '../domains/types.ts';
import { isObject, type Json } from '../rest/json.ts';

/** The role whose last holder stays, and which reaches everything. */
export const ADMIN_ROLE = 'admin';

export const isSystem = (entity: Entity | undefined): boolean => isObject(entity?.opts) && entity.opts.system === true;

/** Puts the mark back as it was: a caller neither sets nor removes it. */
export const keepSystemFlag = (draft: Json, previous: Entity | undefined, caller: Caller): void => {
  if (caller.session.kind === 'system') return;
  const { system: _sent, ...rest } = isObject(draft.opts) ? draft.opts : {};
  draft.opts = isSystem(previous) ? { ...rest, system: true } : rest;
};
