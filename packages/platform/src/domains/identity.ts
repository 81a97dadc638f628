/** The id of this installation: made when it is first asked for, the same on all its nodes, part of every backup. */
import { randomUUID } from 'node:crypto';
import { Conflict, type Store } from '@parley/kit/store/store.ts';
import { SYSTEM_SPACE } from './types.ts';

const ROW = { kind: 'installation', id: 'identity' } as const;

/** A uuid. */
export const installationIdOf = async (store: Store): Promise<string> => {
  const found = await store.get<{ id: string }>(SYSTEM_SPACE, ROW.kind, ROW.id);
  if (found) return found.data.id;
  const data = { id: randomUUID() };
  try {
    await store.commit(SYSTEM_SPACE, [{ op: 'put', ...ROW, data, expect: 0, quiet: true }]);
    return data.id;
  } catch (thrown) {
    // Another node was quicker.
    if (thrown instanceof Conflict) return installationIdOf(store);
    throw thrown;
  }
};
