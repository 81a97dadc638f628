/** Saves scripts on a test platform and runs them over the administrative endpoint. */
import assert from 'node:assert/strict';
import type { Answer, Client } from './start-test-platform.ts';

export type Object = { oId: number; oType: number; [key: string]: unknown };

type Draft = {
  readonly code?: string;
  readonly variables?: readonly object[];
  readonly opts?: object;
};

let last = 0;

/** `scriptdata` out of a chain: each object leads to the next unless it says where. */
export const chain = (...objects: readonly Record<string, unknown>[]): Object[] =>
  [{ oType: 101 }, ...objects].map((object, at) => ({
    oId: at + 1,
    ...(at === objects.length ? {} : { transfer: at + 2 }),
    ...object,
  })) as Object[];

export type Scripts = {
  /** Saves; answers the script. Throws when it is refused. */
  save(objects: readonly object[], draft?: Draft): Promise<{ id: string; code: string }>;
  /** Saves and answers what came. */
  trySave(objects: readonly object[], draft?: Draft): Promise<Answer>;
  run(id: string, body?: object, client?: Client): Promise<Answer>;
  /** Saves, runs, and answers how it ended. */
  // biome-ignore lint/suspicious/noExplicitAny: what came back is what the test looks into
  go(objects: readonly object[], draft?: Draft & { input?: object }): Promise<any>;
};

export const createScripts = (admin: Client): Scripts => {
  const trySave: Scripts['trySave'] = (objects, { code, variables = [], opts = {} } = {}) => {
    last += 1;
    const body = { code: code ?? `script${last}`, scriptdata: { objects, variables }, opts };
    return admin.call('POST', 'service/svcscripts', { body });
  };
  const save: Scripts['save'] = async (objects, draft) => {
    const saved = await trySave(objects, draft);
    assert.equal(saved.status, 200, saved.text);
    return saved.body;
  };
  const run: Scripts['run'] = (id, body = {}, client = admin) =>
    client.call('POST', `service/svcscripts/${id}/run`, { body });
  return {
    save,
    trySave,
    run,
    go: async (objects, { input, ...draft } = {}) => {
      const { id } = await save(objects, draft);
      const ran = await run(id, { input, trace: true });
      assert.equal(ran.status, 200, ran.text);
      return ran.body;
    },
  };
};
