/**
 * Mail on its way out: rows in the Store and a queue of them, so that what was accepted outlives a restart and any
 * node may send it. A mail is handed over at least once: when a process dies between the server's last word and the
 * next commit, the mail goes out again. Its content is sealed, since it may hold links that open an account.
 */
import { randomUUID } from 'node:crypto';
import type { Clock } from '@parley/kit/clock.ts';
import type { Log } from '@parley/kit/log.ts';
import { type Change, Conflict, type Store } from '@parley/kit/store/store.ts';
import type { SecretBox } from '../domains/secrets.ts';
import { SYSTEM_SPACE } from '../domains/types.ts';
import { startDispatch } from './dispatch.ts';
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

/** What somebody who has mails sent knows about them. */
export type MailOwner = { isWanted(ref: string): Promise<boolean>; givenUp(ref: string): Promise<void> };

export type Outbox = AsyncDisposable & {
  /** Takes mails; durable when it resolves, sent as soon as may be, tried again after each interval. */
  post(mails: readonly OutgoingMail[], also?: readonly Change[]): Promise<void>;
  /** Takes one mail and waits: tries it at once and, when that fails for the moment, once more after the first interval. */
  deliver(mail: OutgoingMail, also?: readonly Change[], signal?: AbortSignal): Promise<Delivery>;
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

export const MAIL_KIND = 'mail';
const QUEUE = 'mail';
/** How much longer than its try a mail is held against the others: commits take time too. */
const SLACK_MS = 20_000;
const FOREGROUND_TRIES = 2;

export const openOutbox = (parts: OutboxParts): Outbox => {
  const { store, clock, log, secrets } = parts;
  const owners = new Map<string, MailOwner>();
  const holdMs = parts.timeoutMs + SLACK_MS;

  const toHeld = ({ to, subject, text, html, ...rest }: OutgoingMail): Held => {
    const message: MailMessage = { to, subject, text, ...(html === undefined ? {} : { html }) };
    return {
      id: randomUUID(),
      row: { ...rest, sealed: secrets.seal(JSON.stringify(message)), tries: 0, created_ms: clock.now() },
    };
  };
  /** One try. Throws a MailError, or the signal's reason. */
  const attempt = async ({ row }: Held, signal: AbortSignal): Promise<void> => {
    const route = await parts.routes.find(row.domain, row.account);
    if (!route) throw new MailError('no_route', false);
    await parts.send(route, JSON.parse(secrets.open(row.sealed)) as MailMessage, signal);
  };
  const noted = (held: Held, failure: MailError): void =>
    log.warn(
      { mail: held.id, domain: held.row.domain, tries: held.row.tries + 1, reason: failure.reason },
      failure.isFinal ? 'mail refused' : 'mail not taken yet',
    );
  const isWanted = async ({ row: { about } }: Held): Promise<boolean> =>
    about === undefined || ((await owners.get(about.kind)?.isWanted(about.ref)) ?? true);

  const dispatch = startDispatch({
    store,
    clock,
    log,
    queue: QUEUE,
    leaseMs: holdMs,
    run: async (id, owner, signal) => {
      const found = await store.get<MailRow>(SYSTEM_SPACE, MAIL_KIND, id);
      if (!found || !(await isWanted({ id, row: found.data }))) return void (await forget(store, id, owner));
      const held = { id, row: found.data };
      const tries = held.row.tries + 1;
      try {
        await attempt(held, signal);
        log.info({ mail: id, domain: held.row.domain, tries }, 'mail sent');
      } catch (thrown) {
        if (!(thrown instanceof MailError)) throw thrown;
        noted(held, thrown);
        const waitMs = thrown.isFinal ? undefined : parts.retryAfterMs[tries - 1];
        if (waitMs !== undefined) return again(held, tries, clock.now() + waitMs, owner);
        log.error({ mail: id, domain: held.row.domain, tries, reason: thrown.reason }, 'mail given up');
        const { about } = held.row;
        if (about) await owners.get(about.kind)?.givenUp(about.ref);
      }
      await forget(store, id, owner);
    },
  });

  const again = async ({ id, row }: Held, tries: number, readyAtMs: number, owner?: string): Promise<void> => {
    await store.commit(SYSTEM_SPACE, [putMail({ id, row: { ...row, tries } }), enqueue(id, row.domain, readyAtMs, owner)]);
    dispatch.ringAt(readyAtMs);
  };

  /** Tries while the mail is held against the others; whoever dies meanwhile leaves it to them. */
  const tryWaiting = async (held: Held, signal: AbortSignal): Promise<Delivery> => {
    for (let tries = 1; ; tries++) {
      try {
        await attempt(held, signal);
        log.info({ mail: held.id, domain: held.row.domain, tries }, 'mail sent');
        await forget(store, held.id);
        return { state: 'sent' };
      } catch (thrown) {
        if (!(thrown instanceof MailError)) throw thrown;
        noted({ ...held, row: { ...held.row, tries: tries - 1 } }, thrown);
        const waitMs = parts.retryAfterMs[tries - 1];
        if (thrown.isFinal || tries >= FOREGROUND_TRIES || waitMs === undefined) {
          await forget(store, held.id);
          return { state: 'failed', reason: thrown.reason, tries };
        }
        await again(held, tries, clock.now() + waitMs + holdMs);
        await clock.delay(waitMs, signal);
      }
    }
  };

  return {
    own: (kind, owner) => {
      owners.set(kind, owner);
    },
    post: async (mails, also = []) => {
      const changes = mails.map(toHeld).flatMap((held) => [putMail(held), enqueue(held.id, held.row.domain, clock.now())]);
      await store.commit(SYSTEM_SPACE, [...changes, ...also]);
      dispatch.ringAt(clock.now());
    },
    deliver: async (mail, also = [], signal) => {
      const held = toHeld(mail);
      const readyAtMs = clock.now() + holdMs;
      await store.commit(SYSTEM_SPACE, [putMail(held), enqueue(held.id, mail.domain, readyAtMs), ...also]);
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
