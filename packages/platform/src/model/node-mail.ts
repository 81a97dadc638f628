/**
 * Letters between the platform nodes of one database, through the database itself: a node needs no address that others
 * can reach, and whoever may write the database may write letters. A letter is a row of a kind of its addressee's; the
 * feed tells him of it. A node that is alive says so every few seconds.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '@parley/kit/clock.ts';
import { createUuid } from '@parley/kit/ids.ts';
import type { Log } from '@parley/kit/log.ts';
import { type Change, type FeedEntry, FeedGone, type Store } from '@parley/kit/store/store.ts';
import { problem } from '../codes.ts';
import { isObject, type Json } from '../rest/json.ts';

/** Name of the space; no domain can be named so. */
export const NODE_SPACE = '$nodes';

export type NodeMail = AsyncDisposable & {
  /** Of this process. */
  readonly self: string;
  /** Asks another node; 503 when it does not answer in time. */
  ask(node: string, question: Json): Promise<Json>;
  /** True while the node says that it is there. */
  isAlive(node: string): Promise<boolean>;
  /** Removes what is left of a node that is not. */
  bury(node: string): Promise<void>;
};

export type NodeMailParts = {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  /** Answers a question of another node. */
  answer(question: Json): Promise<Json>;
};

const BEAT_MS = 5000;
/** A node that was not heard of for this long is dead; clocks of servers may differ by some seconds. */
const LEASE_MS = 20_000;
const ANSWER_MS = 8000;
const RETRY_MS = 500;
const BURY_PAGE = 500;

const questionsTo = (node: string): string => `question:${node}`;
const answersTo = (node: string): string => `answer:${node}`;

const drop = (kind: string, id: string): Change => ({ op: 'drop', kind, id, quiet: true });

/** Tells of every letter, from a number on, until the signal aborts. */
const follow = async (
  { store, log }: Pick<NodeMailParts, 'store' | 'log'>,
  first: number,
  signal: AbortSignal,
  hear: (entry: FeedEntry) => void,
): Promise<void> => {
  let from = first;
  while (!signal.aborted) {
    try {
      for await (const entry of store.watch(NODE_SPACE, from, signal)) {
        hear(entry);
        from = entry.seq;
      }
    } catch (thrown) {
      log.warn({ err: thrown }, 'mail between nodes broke off');
      if (thrown instanceof FeedGone) from = await store.lastSeq(NODE_SPACE);
    }
    await delay(RETRY_MS, undefined, { signal }).catch(() => undefined);
  }
};

/** Removes a node that is no more, with the letters it did not read. */
const bury = async (store: Store, node: string): Promise<void> => {
  for (const kind of [questionsTo(node), answersTo(node)]) {
    const left = await store.query(NODE_SPACE, kind, { limit: BURY_PAGE });
    await store.commit(NODE_SPACE, [drop('node', node), ...left.map(({ id }) => drop(kind, id))]);
  }
};

/** Opens the mail of this process; resolves when others can see it. */
export const openNodeMail = async ({ store, clock, log, answer }: NodeMailParts): Promise<NodeMail> => {
  const self = createUuid();
  const ending = new AbortController();
  const waiting = new Map<string, (found: Json) => void>();
  const running = new Set<Promise<void>>();
  const beat = (): Promise<unknown> => {
    const data = { until_ms: clock.now() + LEASE_MS };
    return store.commit(NODE_SPACE, [{ op: 'put', kind: 'node', id: self, data, quiet: true }]);
  };
  const run = (task: Promise<unknown>): void => {
    const job: Promise<void> = task
      .then(
        () => undefined,
        (error: unknown) => {
          if (!ending.signal.aborted) log.warn({ err: error }, 'mail between nodes failed');
        },
      )
      .finally(() => running.delete(job));
    running.add(job);
  };
  const reply = async (id: string): Promise<void> => {
    const letter = await store.get<Json>(NODE_SPACE, questionsTo(self), id);
    if (!letter) return;
    const data = await answer(letter.data.question as Json);
    await store.commit(NODE_SPACE, [
      drop(questionsTo(self), id),
      { op: 'put', kind: answersTo(String(letter.data.from)), id, data },
    ]);
  };
  const receive = async (id: string): Promise<void> => {
    const letter = await store.get<Json>(NODE_SPACE, answersTo(self), id);
    if (letter) waiting.get(id)?.(letter.data);
    await store.commit(NODE_SPACE, [drop(answersTo(self), id)]);
  };
  const ask = async (node: string, question: Json): Promise<Json> => {
    const id = createUuid();
    const { promise, resolve } = Promise.withResolvers<Json | undefined>();
    waiting.set(id, resolve);
    const timer = setTimeout(() => resolve(undefined), ANSWER_MS);
    try {
      await store.commit(NODE_SPACE, [{ op: 'put', kind: questionsTo(node), id, data: { from: self, question } }]);
      const found = await promise;
      if (isObject(found)) return found;
      await store.commit(NODE_SPACE, [drop(questionsTo(node), id)]);
      throw problem('unavailable', { retryAfterSec: 1 });
    } finally {
      clearTimeout(timer);
      waiting.delete(id);
    }
  };

  const from = await store.lastSeq(NODE_SPACE);
  await beat();
  const beating = setInterval(() => run(beat()), BEAT_MS);
  const hear = ({ kind, id, op }: FeedEntry): void => {
    if (op === 'put' && kind === questionsTo(self)) run(reply(id));
    else if (op === 'put' && kind === answersTo(self)) run(receive(id));
  };
  const reading = follow({ store, log }, from, ending.signal, hear);
  return {
    self,
    ask,
    isAlive: async (node) => {
      const row = await store.get<{ until_ms: number }>(NODE_SPACE, 'node', node);
      return row !== undefined && row.data.until_ms > clock.now();
    },
    bury: (node) => bury(store, node),
    [Symbol.asyncDispose]: async () => {
      clearInterval(beating);
      ending.abort();
      await Promise.all([reading, ...running]);
      await store.commit(NODE_SPACE, [drop('node', self)]).catch(() => undefined);
    },
  };
};
