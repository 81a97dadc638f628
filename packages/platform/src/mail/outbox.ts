/**
 * Mail on its way out: rows in the Store and a queue of them, so that what was accepted outlives a restart and any
 * node may send it. A mail is handed over at least once: when a process dies between the server's last word and the
 * next commit, the mail goes out again. Its content is sealed, since it may hold links that open an account.
 */
import { randomUUID } from 'node:crypto';
import type { Clock } from '@parley/kit/clock.ts';
import type { Log } from '@parley/kit/log.ts';
import { type Change, Conflict, type DomainChanges, type Store } from '@parley/kit/store/store.ts';
import type { SecretBox } from '../domains/secrets.ts';
import { SYSTEM_SPACE } from '../domains/types.ts';
import { type Dispatch, type DispatchParts, startDispatch } from './dispatch.ts';
import type { MailMessage } from './message.ts';
import type { MailRoutes } from './routes.ts';
import { MailError, type SendMail } from './send.ts';

/** A mail of a domain. `about` says whom to ask whether it is still wanted, and whom to tell when it was given up. */
export type OutgoingMail = MailMessage & {
  readonly domain: string;
  /** Code of the account to send by; the one flagged `isSystem` when absent. */
  readonly account?: string;
  readonly about?: MailSubject;
};

export type MailSubject = { readonly kind: string; readonly ref: string };

/** `waiting`: whoever waited went away, and the queue goes on. `failed`: given up, and no longer kept. */
export type Delivery =
  | { readonly state: 'sent' | 'waiting' }
  | { readonly state: 'failed'; readonly reason: string; readonly tries: number };

/** What is written with the mail, all or nothing: rows of the system's space, and of domains. */
export type Along = { readonly changes?: readonly Change[]; readonly domains?: readonly DomainChanges[] };

export type Prepared = { readonly domains: readonly DomainChanges[]; written(): void };

/** What somebody who has mails sent knows about them. */
export type MailOwner = { isWanted(ref: string): Promise<boolean>; givenUp(ref: string): Promise<void> };

export type Outbox = AsyncDisposable & {
  /** Takes mails; durable when it resolves, sent as soon as may be, tried again after each interval. */
  post(mails: readonly OutgoingMail[], along?: Along): Promise<void>;
  /** The same for who writes more than this at once: the changes that take the mails in, and what to call afterwards. */
  prepare(mails: readonly OutgoingMail[]): Prepared;
  /** Takes one mail and waits: tries it at once and, when that fails for the moment, once more after the first interval. */
  deliver(mail: OutgoingMail, along?: Along, signal?: AbortSignal): Promise<Delivery>;
  /** Names the owner of mails about this kind of thing. */
  own(kind: string, owner: MailOwner): void;
};

export type OutboxParts = {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly secrets: SecretBox;
  readonly routes: MailRoutes;
  readonly send: SendMail;
  /** Waits before the second and every further try. */
  readonly retryAfterMs: readonly number[];
  /** Longest time one try takes. */
  readonly timeoutMs: number;
};

/** `sealed`: the MailMessage as JSON. */
type MailRow = {
  readonly domain: string;
  readonly account?: string;
  readonly about?: MailSubject;
  readonly sealed: string;
  readonly tries: number;
  readonly created_ms: number;
};
type Held = { readonly id: string; readonly row: MailRow };

const MAIL_KIND = 'mail';
const QUEUE = 'mail';
/** How much longer than its try a mail is held against the others: commits take time too. */
const SLACK_MS = 20_000;
const FOREGROUND_TRIES = 2;

export const openOutbox = (parts: OutboxParts): Outbox => {
  const { store, clock } = parts;
  const owners = new Map<string, MailOwner>();
  const holdMs = parts.timeoutMs + SLACK_MS;
  const tryOnce = createTry(parts);

  const again: Again = async ({ id, row }, tries, readyAtMs, owner) => {
    const changes = [putMail({ id, row: { ...row, tries } }), enqueue(id, row.domain, readyAtMs, owner)];
    await store.commit(SYSTEM_SPACE, changes);
    dispatch.ringAt(readyAtMs);
  };
  const dispatch: Dispatch = startDispatch({
    store,
    clock,
    log: parts.log,
    queue: QUEUE,
    leaseMs: holdMs,
    run: createRun(parts, { owners, tryOnce, again: (...asked) => again(...asked) }),
  });

  /** Tries while the mail is held against the others; whoever dies meanwhile leaves it to them. */
  const tryWaiting = async (held: Held, signal: AbortSignal): Promise<Delivery> => {
    for (let tries = 1; ; tries++) {
      const failure = await tryOnce(held, tries, signal);
      const waitMs = parts.retryAfterMs[tries - 1];
      const isOver = failure === undefined || failure.isFinal || tries >= FOREGROUND_TRIES || waitMs === undefined;
      if (isOver) {
        await forget(store, held.id);
        return failure ? { state: 'failed', reason: failure.reason, tries } : { state: 'sent' };
      }
      await again(held, tries, clock.now() + waitMs + holdMs);
      await clock.delay(waitMs, signal);
    }
  };

  return {
    own: (kind, owner) => {
      owners.set(kind, owner);
    },
    prepare: (mails) => ({
      domains: [{ domain: SYSTEM_SPACE, changes: mails.flatMap((mail) => takeIn(toHeld(parts, mail), clock.now())) }],
      written: () => dispatch.ringAt(clock.now()),
    }),
    post: async (mails, { changes: more = [], domains = [] } = {}) => {
      const changes = mails.flatMap((mail) => takeIn(toHeld(parts, mail), clock.now()));
      await store.commit(SYSTEM_SPACE, [...changes, ...more], domains);
      dispatch.ringAt(clock.now());
    },
    deliver: async (mail, { changes = [], domains = [] } = {}, signal) => {
      const held = toHeld(parts, mail);
      await store.commit(SYSTEM_SPACE, [...takeIn(held, clock.now() + holdMs), ...changes], domains);
      const ending = signal ? AbortSignal.any([signal, dispatch.ending]) : dispatch.ending;
      try {
        return await tryWaiting(held, ending);
      } catch (thrown) {
        if (!ending.aborted) throw thrown;
        // Nobody waits any more: the queue takes it from here, at once.
        await again(held, 0, clock.now());
        return { state: 'waiting' };
      }
    },
    [Symbol.asyncDispose]: () => dispatch[Symbol.asyncDispose](),
  };
};

type Again = (held: Held, tries: number, readyAtMs: number, owner?: string) => Promise<void>;
/** The failure of one try; undefined when the mail is theirs. Throws the signal's reason. */
type TryOnce = (held: Held, tries: number, signal: AbortSignal) => Promise<MailError | undefined>;

const createTry =
  ({ log, routes, secrets, send }: OutboxParts): TryOnce =>
  async ({ id, row }, tries, signal) => {
    const facts = { mail: id, domain: row.domain, tries };
    try {
      const route = await routes.find(row.domain, row.account);
      if (!route) throw new MailError('no_route', false);
      await send(route, JSON.parse(secrets.open(row.sealed)) as MailMessage, signal);
      log.info(facts, 'mail sent');
      return undefined;
    } catch (thrown) {
      if (signal.aborted || !(thrown instanceof MailError)) throw thrown;
      log.warn({ ...facts, reason: thrown.reason }, thrown.isFinal ? 'mail refused' : 'mail not taken yet');
      return thrown;
    }
  };

type RunParts = { readonly owners: ReadonlyMap<string, MailOwner>; readonly tryOnce: TryOnce; readonly again: Again };

/** Settles one mail of the queue: sends it, puts it back, or gives it up. */
const createRun = (parts: OutboxParts, { owners, tryOnce, again }: RunParts): DispatchParts['run'] => {
  const { store, clock, log } = parts;
  const ownerOf = (about: MailSubject | undefined) => about && owners.get(about.kind);
  const isWanted = async ({ about }: MailRow): Promise<boolean> => (await ownerOf(about)?.isWanted(about!.ref)) ?? true;
  const giveUp = async ({ id, row }: Held, tries: number, { reason }: MailError): Promise<void> => {
    log.error({ mail: id, domain: row.domain, tries, reason }, 'mail given up');
    await ownerOf(row.about)?.givenUp(row.about!.ref);
  };
  return async (id, owner, signal) => {
    const found = await store.get<MailRow>(SYSTEM_SPACE, MAIL_KIND, id);
    if (!found || !(await isWanted(found.data))) return forget(store, id, owner);
    const held = { id, row: found.data };
    const tries = held.row.tries + 1;
    try {
      const failure = await tryOnce(held, tries, signal);
      const waitMs = failure?.isFinal ? undefined : parts.retryAfterMs[tries - 1];
      if (failure && waitMs !== undefined) return await again(held, tries, clock.now() + waitMs, owner);
      if (failure) await giveUp(held, tries, failure);
    } catch (thrown) {
      if (!signal.aborted) throw thrown;
      // The process ends: whoever looks next takes it.
      return again(held, held.row.tries, clock.now(), owner);
    }
    await forget(store, id, owner);
  };
};

const toHeld = ({ secrets, clock }: OutboxParts, { to, subject, text, html, ...rest }: OutgoingMail): Held => {
  const message: MailMessage = { to, subject, text, ...(html === undefined ? {} : { html }) };
  const sealed = secrets.seal(JSON.stringify(message));
  return { id: randomUUID(), row: { ...rest, sealed, tries: 0, created_ms: clock.now() } };
};

const takeIn = (held: Held, readyAtMs: number): Change[] => [
  putMail(held),
  enqueue(held.id, held.row.domain, readyAtMs),
];

const putMail = ({ id, row }: Held): Change => ({ op: 'put', kind: MAIL_KIND, id, data: row, quiet: true });

const enqueue = (id: string, share: string, readyAtMs: number, owner?: string): Change => ({
  op: 'enqueue',
  queue: QUEUE,
  id,
  priority: 0,
  share,
  readyAtMs,
  ...(owner === undefined ? {} : { owner }),
});

/** Removes a mail that is settled. One whose lease went to another is theirs to settle. */
const forget = async (store: Store, id: string, owner?: string): Promise<void> => {
  try {
    await store.commit(SYSTEM_SPACE, [
      { op: 'dequeue', queue: QUEUE, id, ...(owner === undefined ? {} : { owner }) },
      { op: 'drop', kind: MAIL_KIND, id, quiet: true },
    ]);
  } catch (thrown) {
    if (!(thrown instanceof Conflict)) throw thrown;
  }
};
