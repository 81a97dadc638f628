/** The states of one loaded model and the one function that moves between them. Pure. */
import type { ModelState } from '../core/types.ts';

export type SlotState =
  | { readonly name: 'loading'; readonly pinned: boolean }
  | { readonly name: 'resident'; readonly pinned: boolean; readonly leases: number; readonly lastUsedMs: number }
  /** Gives no new place in the pool; what is borrowed goes on. */
  | { readonly name: 'draining'; readonly leases: number; readonly lastUsedMs: number }
  | { readonly name: 'gone' };

export type SlotEvent =
  | { readonly type: 'loaded'; readonly nowMs: number }
  | { readonly type: 'failed' }
  | { readonly type: 'leased'; readonly nowMs: number }
  | { readonly type: 'released'; readonly nowMs: number }
  | { readonly type: 'pin'; readonly pinned: boolean }
  | { readonly type: 'drain' }
  /** On its way out, but wanted again. */
  | { readonly type: 'revived' }
  /** The memory was given back. Refused while anything is borrowed. */
  | { readonly type: 'disposed' };

/** The state after `event`. Throws on an event that cannot happen in `state`: that is a mistake of ours. */
export const nextSlot = (state: SlotState, event: SlotEvent): SlotState => {
  switch (state.name) {
    case 'loading':
      return nextLoading(state, event);
    case 'resident':
      return nextResident(state, event);
    case 'draining':
      return nextDraining(state, event);
    case 'gone':
      return impossible(state, event);
  }
};

const impossible = (state: SlotState, event: SlotEvent): never => {
  throw new Error(`A model that is ${state.name} cannot be ${event.type}.`);
};

const nextLoading = (state: Extract<SlotState, { name: 'loading' }>, event: SlotEvent): SlotState => {
  if (event.type === 'loaded') return { name: 'resident', pinned: state.pinned, leases: 0, lastUsedMs: event.nowMs };
  if (event.type === 'failed') return { name: 'gone' };
  if (event.type === 'pin') return { ...state, pinned: event.pinned };
  return impossible(state, event);
};

const nextResident = (state: Extract<SlotState, { name: 'resident' }>, event: SlotEvent): SlotState => {
  if (event.type === 'leased') return { ...state, leases: state.leases + 1, lastUsedMs: event.nowMs };
  if (event.type === 'released' && state.leases > 0) {
    return { ...state, leases: state.leases - 1, lastUsedMs: event.nowMs };
  }
  if (event.type === 'pin') return { ...state, pinned: event.pinned };
  if (event.type === 'drain') return { name: 'draining', leases: state.leases, lastUsedMs: state.lastUsedMs };
  return impossible(state, event);
};

const nextDraining = (state: Extract<SlotState, { name: 'draining' }>, event: SlotEvent): SlotState => {
  if (event.type === 'leased') return { ...state, leases: state.leases + 1, lastUsedMs: event.nowMs };
  if (event.type === 'released' && state.leases > 0) {
    return { ...state, leases: state.leases - 1, lastUsedMs: event.nowMs };
  }
  if (event.type === 'revived') return { ...state, name: 'resident', pinned: false };
  if (event.type === 'disposed' && state.leases === 0) return { name: 'gone' };
  return impossible(state, event);
};

export const leasesOf = (state: SlotState): number => ('leases' in state ? state.leases : 0);

/** Whether the pool may take its memory back to make room. */
export const isEvictable = (state: SlotState): state is Extract<SlotState, { name: 'resident' }> =>
  state.name === 'resident' && !state.pinned && state.leases === 0;

/** The wire's word for it. */
export const toModelState = (state: SlotState | undefined): ModelState => {
  if (state === undefined || state.name === 'gone') return 'installed';
  if (state.name === 'resident') return state.pinned ? 'pinned' : 'resident';
  return state.name;
};
