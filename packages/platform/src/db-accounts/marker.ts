/**
 * What makes a role of a database server ours: a name of one form and a comment of one form. Only a role with both is
 * ever listed, changed or dropped; whatever else lives on the server is not ours to touch.
 */
import { createHash, randomInt } from 'node:crypto';

export type Access = 'read' | 'write';

/** `owner`: digest of the installation and the domain the account was made for. */
export type Marker = { readonly database: string; readonly owner: string; readonly access: Access };

const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567';
const RANDOM_LENGTH = 8;
/** PostgreSQL cuts names at 63 bytes; this leaves room for all the rest. */
const MAX_DATABASE_PART = 16;
const OWNER_LENGTH = 32;
const GROUP_DIGEST_LENGTH = 10;

const LOGIN = /^tmp_[a-z0-9_]{1,16}_\d{6}_[a-z2-7]{8}$/;
const COMMENT = 'parley temporary account ';
/** Comment of the group roles that hold the rights. */
export const GROUP_COMMENT = 'parley group of temporary accounts';

const digest = (...parts: readonly string[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('hex');

const databasePart = (database: string): string =>
  database
    .toLowerCase()
    .replaceAll(/[^a-z0-9_]/g, '_')
    .slice(0, MAX_DATABASE_PART) || 'db';

/** Who made an account, without telling the customer's server more than needed. */
export const ownerOf = (installation: string, domain: string): string =>
  digest(installation, domain).slice(0, OWNER_LENGTH);

/** `tmp_<database>_<yymmdd>_<8 random>`. `day`: the server's, as `yymmdd`. */
export const createLogin = (database: string, day: string): string => {
  const random = Array.from({ length: RANDOM_LENGTH }, () => BASE32[randomInt(BASE32.length)]).join('');
  return `tmp_${databasePart(database)}_${day}_${random}`;
};

export const isLogin = (text: string): boolean => LOGIN.test(text);

/**
 * Name of a group role. Roles belong to the whole server while rights belong to one database, and only whoever made a
 * role may give it away: so there is one for each database and each creator.
 */
export const groupName = (purpose: Access | 'kept', database: string, creator: string): string =>
  `tmp_${purpose}_${databasePart(database)}_${digest(database, creator).slice(0, GROUP_DIGEST_LENGTH)}`;

export const renderMarker = ({ database, owner, access }: Marker): string =>
  COMMENT + JSON.stringify({ database, owner, access });

/** The marker in a role's comment; undefined when it holds none. */
export const parseMarker = (comment: string | null): Marker | undefined => {
  if (!comment?.startsWith(COMMENT)) return undefined;
  try {
    const { database, owner, access } = JSON.parse(comment.slice(COMMENT.length)) as Marker;
    return typeof database === 'string' && typeof owner === 'string' ? { database, owner, access } : undefined;
  } catch {
    return undefined;
  }
};
