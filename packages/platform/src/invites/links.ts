/**
 * The links of invitations. Two rows stand behind one: the invitation itself, a row of the class `system/Invites` in
 * the user's domain, which people can see and remove; and here, out of their reach, the digest of the link's uuid and
 * what the link opens. A row that was made or changed by hand therefore opens nothing. The second row outlives the
 * first: whoever comes with a link that was issued once is no guesser.
 */
import { sha256Hex } from '@parley/kit/ids.ts';
import type { Change, Store } from '@parley/kit/store/store.ts';
import { SYSTEM_SPACE } from '../domains/types.ts';

/** What a link opens. Times are Unix milliseconds. */
export type Link = {
  readonly domain: string;
  /** Id of the row in `system/Invites`. */
  readonly invite_id: string;
  readonly user_id: string;
  /** When the account was made: another one under the same id is not meant. */
  readonly user_ct: string;
  /** The address the link went to: who has another one by now must not be opened by it. */
  readonly email: string;
  readonly until_ms: number;
  readonly drop_ms: number;
};

const LINK_KIND = 'invite-link';
const TOMBSTONE_MS = 7 * 86_400_000;
const SWEEP_PAGE = 500;

/** The only form in which a link is kept. */
export const hashOf = (uuid: string): string => sha256Hex(uuid.toLowerCase());

/** The change that makes a link known. */
export const putLink = (hash: string, link: Omit<Link, 'drop_ms'>): Change => ({
  op: 'put',
  kind: LINK_KIND,
  id: hash,
  data: { ...link, drop_ms: link.until_ms + TOMBSTONE_MS },
  quiet: true,
});

/** The link of this digest, over all domains; also one that was used or is over. */
export const findLink = async (store: Store, hash: string): Promise<Link | undefined> =>
  (await store.get<Link>(SYSTEM_SPACE, LINK_KIND, hash))?.data;

/** Drops links that ended more than a week ago. */
export const sweepLinks = (store: Store, nowMs: number): Promise<void> => sweep(store, LINK_KIND, 'drop_ms', nowMs);

/** Drops every row of the system's space whose time at `path` has come. */
export const sweep = async (store: Store, kind: string, path: string, nowMs: number): Promise<void> => {
  for (;;) {
    const rows = await store.query(SYSTEM_SPACE, kind, {
      where: [{ path, op: '<', value: nowMs }],
      limit: SWEEP_PAGE,
    });
    const drops = rows.map(({ id }): Change => ({ op: 'drop', kind, id, quiet: true }));
    if (drops.length > 0) await store.commit(SYSTEM_SPACE, drops);
    if (rows.length < SWEEP_PAGE) return;
  }
};
