/** The plan all servers share: a copy of the content in force, so that a server without a platform node knows it too. */
import type { Log } from '@parley/kit/log.ts';
import { Conflict, type Store } from '@parley/kit/store/store.ts';
import type { Plan } from './plan.ts';
import { NODES_SPACE } from './space.ts';

const ROW = { kind: 'plan', id: 'in-force' } as const;

export type SharedPlan = {
  get(): Plan | undefined;
  /** Writes it when it is newer than the one there is; tried again with `offerAgain` while the database is away. */
  offer(plan: Plan): void;
  offerAgain(): void;
  read(): Promise<void>;
  /** Resolves when nothing is being written. */
  idle(): Promise<void>;
};

/** Reads the plan there is. */
export const openSharedPlan = async (store: Store, log: Log, changed: () => void): Promise<SharedPlan> => {
  let current: Plan | undefined;
  let version = 0;
  let offered: Plan | undefined;
  let writing: Promise<void> = Promise.resolve();

  const read = async (): Promise<void> => {
    const found = await store.get<Plan>(NODES_SPACE, ROW.kind, ROW.id);
    version = found?.version ?? 0;
    if (!found || found.data.lwt === current?.lwt) return;
    current = found.data;
    changed();
  };
  const write = async (): Promise<void> => {
    while (offered && (!current || offered.lwt > current.lwt)) {
      const data = offered;
      try {
        const put = { op: 'put', ...ROW, data, expect: version } as const;
        const { versions } = await store.commit(NODES_SPACE, [put]);
        version = versions.get(`${ROW.kind}/${ROW.id}`) ?? version;
        current = data;
        changed();
      } catch (thrown) {
        if (!(thrown instanceof Conflict)) {
          log.warn({ reason: (thrown as Error).message }, 'plan could not be written');
          return;
        }
        await read();
      }
    }
    offered = undefined;
  };
  const enqueue = (): void => {
    writing = writing.then(write).catch((thrown: unknown) => log.warn({ err: thrown }, 'plan could not be shared'));
  };
  await read();
  return {
    get: () => current,
    offer: (plan) => {
      offered = plan;
      enqueue();
    },
    offerAgain: () => {
      if (offered) enqueue();
    },
    read,
    idle: () => writing,
  };
};
