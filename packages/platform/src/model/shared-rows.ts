/**
 * Rows of `runtime` classes where several nodes share a database: they live in the memory of one node, the first that
 * was asked for the class, and the others ask it. When that node is gone the rows are gone, as after any restart, and
 * the next node asked takes the class over.
 */
import type { Clock } from '@parley/kit/clock.ts';
import type { Log } from '@parley/kit/log.ts';
import { Conflict, type Store } from '@parley/kit/store/store.ts';
import { problem } from '../codes.ts';
import type { Json } from '../rest/json.ts';
import { NODE_SPACE, type NodeMail, openNodeMail } from './node-mail.ts';
import type { ItemRow, Rows } from './rows.ts';

type Parts = { readonly store: Store; readonly log: Log; readonly clock: Clock };

export type SharedRows = AsyncDisposable & {
  /** The rows of a class wherever they are; `local`: where they are kept when it is here. */
  open(name: string, local: Rows): Promise<Rows>;
};

/** What one answer carries at most, in characters of JSON. */
const MAX_PAGE_LENGTH = 4_000_000;
const MAX_CLAIMS = 10;

export const openSharedRows = (parts: Parts): SharedRows => {
  const { store } = parts;
  const locals = new Map<string, Rows>();
  let opening: Promise<NodeMail> | undefined;

  const ownerRow = (name: string) => store.get<{ node: string }>(NODE_SPACE, 'owner', name);
  const answer = async (question: Json): Promise<Json> => {
    const name = String(question.name);
    const local = locals.get(name);
    const { self } = await mail();
    if (!local || (await ownerRow(name))?.data.node !== self) return { is: 'gone' };
    return answerFrom(local, question);
  };
  const mail = (): Promise<NodeMail> => {
    opening ??= openNodeMail({ ...parts, answer });
    opening.catch(() => {
      opening = undefined;
    });
    return opening;
  };
  /** Takes the class over; false when another node was quicker. */
  const claim = async (name: string, node: string, expect: number): Promise<boolean> => {
    try {
      await store.commit(NODE_SPACE, [{ op: 'put', kind: 'owner', id: name, data: { node }, expect, quiet: true }]);
      return true;
    } catch (thrown) {
      if (thrown instanceof Conflict) return false;
      throw thrown;
    }
  };
  /** The node that has the rows; this one where nobody has. */
  const ownerOf = async ({ self, isAlive, bury }: NodeMail, name: string, local: Rows): Promise<string> => {
    for (let tries = 0; tries < MAX_CLAIMS; tries++) {
      const row = await ownerRow(name);
      if (row && (row.data.node === self || (await isAlive(row.data.node)))) return row.data.node;
      if (!(await claim(name, self, row?.version ?? 0))) continue;
      // What another node took over once and lost is not there any more.
      await local.drop((await local.query({})).map(({ id }) => id));
      if (row) await bury(row.data.node);
      return self;
    }
    throw problem('unavailable', { retryAfterSec: 1 });
  };
  return {
    open: async (name, local) => {
      locals.set(name, local);
      const post = await mail();
      const owner = await ownerOf(post, name, local);
      return owner === post.self ? local : remoteRows((question) => post.ask(owner, { name, ...question }));
    },
    [Symbol.asyncDispose]: async () => {
      const post = await opening?.catch(() => undefined);
      await post?.[Symbol.asyncDispose]();
    },
  };
};

/** Does what another node asks for. */
const answerFrom = async (local: Rows, question: Json): Promise<Json> => {
  const { act, id, data, expect, ids, after } = question;
  try {
    switch (act) {
      case 'get':
        return { is: 'row', row: (await local.get(String(id))) ?? null };
      case 'put':
        await local.put(String(id), data as Json, Number(expect));
        return { is: 'done' };
      case 'drop':
        await local.drop(ids as string[]);
        return { is: 'done' };
      case 'page':
        return { is: 'page', ...cutPage(await local.query({}), after as string | undefined) };
      default:
        return { is: 'done', count: await local.count([]) };
    }
  } catch (thrown) {
    if (thrown instanceof Conflict) return { is: 'conflict', kind: thrown.kind, id: thrown.id };
    throw thrown;
  }
};

/** Rows after an id, as many as fit into one answer. */
const cutPage = (rows: readonly ItemRow[], after: string | undefined): { rows: ItemRow[]; isLast: boolean } => {
  const sorted = rows
    .filter(({ id }) => after === undefined || id > after)
    .sort((left, right) => (left.id < right.id ? -1 : 1));
  const page: ItemRow[] = [];
  let length = 0;
  for (const row of sorted) {
    length += JSON.stringify(row).length;
    if (page.length > 0 && length > MAX_PAGE_LENGTH) return { rows: page, isLast: false };
    page.push(row);
  }
  return { rows: page, isLast: true };
};

/** Rows that another node has. */
const remoteRows = (ask: (question: Json) => Promise<Json>): Rows => {
  const done = async (question: Json): Promise<Json> => {
    const found = await ask(question);
    if (found.is === 'conflict') throw new Conflict('version', String(found.kind), String(found.id));
    // It changed hands at this moment.
    if (found.is === 'gone') throw problem('unavailable', { retryAfterSec: 1 });
    return found;
  };
  return {
    isDatabase: false,
    get: async (id) => ((await done({ act: 'get', id })).row as ItemRow | null) ?? undefined,
    query: async () => {
      const rows: ItemRow[] = [];
      for (;;) {
        const after = rows.at(-1)?.id;
        const page = await done({ act: 'page', ...(after === undefined ? {} : { after }) });
        rows.push(...(page.rows as ItemRow[]));
        if (page.isLast === true) return rows;
      }
    },
    count: async () => Number((await done({ act: 'count' })).count),
    put: async (id, data, expect) => {
      await done({ act: 'put', id, data, expect });
    },
    drop: async (ids) => {
      await done({ act: 'drop', ids: [...ids] });
    },
  };
};
