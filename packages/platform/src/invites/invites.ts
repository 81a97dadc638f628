/**
 * Invitations (contract §9): an administrator has a link sent to a user, and whoever holds the link sets the password,
 * once. The link's uuid is in the mail and nowhere else.
 */
import { randomUUID } from 'node:crypto';
import type { Clock } from '@parley/kit/clock.ts';
import { createUuid, isUuid } from '@parley/kit/ids.ts';
import type { Log } from '@parley/kit/log.ts';
import type { Change, Store } from '@parley/kit/store/store.ts';
import { emailOf } from '../auth/email.ts';
import type { Caller, Domain, User } from '../domains/types.ts';
import { isMailAddress } from '../mail/message.ts';
import type { Along, Delivery, Outbox } from '../mail/outbox.ts';
import type { MailRoutes } from '../mail/routes.ts';
import { EXPIRES_AT } from '../model/expiry.ts';
import type { ModelClasses } from '../model/model-class.ts';
import { inviteProblem } from './faults.ts';
import { findLink, hashOf, putLink, sweepLinks } from './links.ts';
import { invitationMail } from './mails.ts';
import { createPace } from './pace.ts';

export type Invites = AsyncDisposable & {
  /**
   * Makes an invitation and has it mailed. Throws the 412 of the contract. With `waits` it answers what became of the
   * mail; without, the mail is only taken into the queue.
   */
  create(caller: Caller, userId: string, options: CreateOptions): Promise<Delivery>;
};

type CreateOptions = { readonly waits: boolean; readonly signal?: AbortSignal };

export type InvitesParts = {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly classes: ModelClasses;
  readonly outbox: Outbox;
  readonly routes: MailRoutes;
  readonly lifetimeMs: number;
  /** Least time between two invitations for one e-mail address, and from one client address. */
  readonly intervalMs: number;
  domainOf(name: string): Promise<Domain | undefined>;
  /** Where people reach a domain, without a closing slash. */
  publicUrlOf(domain: Domain): string;
  stamp(): string;
};

const INVITES = ['system', 'Invites'];
const SUBJECT = 'invite';
const SWEEP_MS = 3_600_000;

/** Kind of the rows of `system/Invites` in a domain. */
export const inviteKind = (classes: ModelClasses, domain: Domain): string => {
  const found = classes.find(domain, INVITES);
  if (!found) throw new Error(`domain ${domain.name} has no class for invitations`);
  return found.model.kind;
};

const toStamp = (ms: number): string => new Date(ms).toISOString().replace('Z', '000Z');

export const openInvites = (parts: InvitesParts): Invites => {
  const { store, clock, log, outbox } = parts;
  const pace = createPace(store, clock.now, parts.intervalMs);

  /** Takes the invitation of a link back, so that the link opens nothing. */
  const withdraw = async (hash: string): Promise<void> => {
    const link = await findLink(store, hash);
    const domain = link && (await parts.domainOf(link.domain));
    if (!domain) return;
    const kind = inviteKind(parts.classes, domain);
    await store.commit(domain.name, [{ op: 'drop', kind, id: link.invite_id, quiet: true }]);
    log.warn({ domain: domain.name, user: link.user_id, invite: link.invite_id }, 'invitation removed: no mail');
  };
  outbox.own(SUBJECT, {
    isWanted: async (hash) => {
      const link = await findLink(store, hash);
      const domain = link && (await parts.domainOf(link.domain));
      if (!domain) return false;
      return (await store.get(domain.name, inviteKind(parts.classes, domain), link.invite_id)) !== undefined;
    },
    givenUp: withdraw,
  });
  const sweeper = setInterval(() => {
    Promise.all([sweepLinks(store, clock.now()), pace.sweep()]).catch((error: unknown) =>
      log.warn({ err: error }, 'old invitations were not swept'),
    );
  }, SWEEP_MS);

  const send = async (caller: Caller, user: User, email: string, options: CreateOptions) => {
    const { domain } = caller;
    const uuid = randomUUID();
    const made = await formRows(parts, caller, user, email, hashOf(uuid));
    const link = `${parts.publicUrlOf(domain)}/invite/${uuid}`;
    const mail = {
      ...invitationMail(domain, { link, name: user.name, domain: domain.name }),
      to: email,
      domain: domain.name,
      about: { kind: SUBJECT, ref: hashOf(uuid) },
    };
    if (options.waits) return { hash: hashOf(uuid), delivery: await outbox.deliver(mail, made, options.signal) };
    await outbox.post([mail], made);
    return { hash: hashOf(uuid), delivery: { state: 'waiting' } as const };
  };

  return {
    create: async (caller, userId, options) => {
      const { domain } = caller;
      const id = userId.toLowerCase();
      const user = isUuid(id) ? await domain.read((rows) => rows.user(id)) : undefined;
      if (!user) throw inviteProblem('user_missing');
      const email = emailOf(user);
      if (!isMailAddress(email)) throw inviteProblem('email_missing');
      checkPace(await pace.waitOf(email, caller.address));
      if (!(await parts.routes.find(domain.name))) throw inviteProblem('mail_unset');
      checkPace(await pace.take(email, caller.address));
      const { hash, delivery } = await send(caller, user, email, options);
      if (delivery.state !== 'failed') return delivery;
      await withdraw(hash);
      await pace.giveBack(email, caller.address);
      throw inviteProblem('mail_failed', { reason: delivery.reason });
    },
    [Symbol.asyncDispose]: async () => clearInterval(sweeper),
  };
};

const checkPace = (waitMs: number): void => {
  if (waitMs > 0) throw inviteProblem('too_soon', { retryAfterMs: waitMs });
};

/** The row of an invitation in place of the user's older ones, and the one that makes its link known. */
const formRows = async (
  { store, clock, classes, lifetimeMs, stamp }: InvitesParts,
  { domain, address }: Caller,
  user: User,
  email: string,
  hash: string,
): Promise<Along> => {
  const kind = inviteKind(classes, domain);
  const id = createUuid();
  const lwt = stamp();
  const until_ms = clock.now() + lifetimeMs;
  const older = await store.query(domain.name, kind, { where: [{ path: 'userid', op: '=', value: user.id }] });
  const data = {
    id,
    link_hash: hash,
    userid: user.id,
    email,
    domain: domain.name,
    address,
    ext: { ct: lwt, lwt },
    [EXPIRES_AT]: toStamp(until_ms),
  };
  const changes: Change[] = [
    ...older.map((row): Change => ({ op: 'drop', kind, id: row.id, quiet: true })),
    { op: 'put', kind, id, data, expect: 0, quiet: true },
  ];
  const link = { domain: domain.name, invite_id: id, user_id: user.id, user_ct: user.ext.ct, email, until_ms };
  return { changes: [putLink(hash, link)], domains: [{ domain: domain.name, changes }] };
};
