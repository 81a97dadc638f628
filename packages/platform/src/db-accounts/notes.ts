/**
 * Notes on accounts in the Store: each is written before its account is made, with what is needed to remove it again,
 * and waits there as a work item until the account is due.
 */
import { type Change, Conflict, type Store } from '@parley/kit/store/store.ts';
import { SYSTEM_SPACE } from '../domains/types.ts';
import type { Target } from './target.ts';

/** `dueMs`: Unix milliseconds of our clock. */
export type Note = { readonly domain: string; readonly target: Target; readonly dueMs: number };

const KIND = 'dbaccount';
export const QUEUE = 'dbaccounts';

export const writeNote = async (store: Store, login: string, note: Note): Promise<void> => {
  await store.commit(SYSTEM_SPACE, [
    { op: 'put', kind: KIND, id: login, data: note, quiet: true },
    { op: 'enqueue', queue: QUEUE, id: login, priority: 0, share: note.domain, readyAtMs: Math.ceil(note.dueMs) },
  ]);
};

export const readNote = async (store: Store, login: string): Promise<Note | undefined> =>
  (await store.get<Note>(SYSTEM_SPACE, KIND, login))?.data;

export const dropNotes = async (store: Store, logins: readonly string[]): Promise<void> => {
  const changes = logins.flatMap((id): Change[] => [
    { op: 'drop', kind: KIND, id, quiet: true },
    { op: 'dequeue', queue: QUEUE, id },
  ]);
  if (changes.length > 0) await store.commit(SYSTEM_SPACE, changes);
};

/** Ends a claim: the note goes, or waits again until `readyAtMs`. Nothing happens when another has taken it over. */
export const endClaim = async (store: Store, owner: string, id: string, readyAtMs?: number): Promise<void> => {
  const changes: Change[] =
    readyAtMs === undefined
      ? [
          { op: 'dequeue', queue: QUEUE, id, owner },
          { op: 'drop', kind: KIND, id, quiet: true },
        ]
      : [{ op: 'enqueue', queue: QUEUE, id, priority: 0, share: '', readyAtMs: Math.ceil(readyAtMs), owner }];
  try {
    await store.commit(SYSTEM_SPACE, changes);
  } catch (thrown) {
    if (!(thrown instanceof Conflict)) throw thrown;
  }
};
