/**
 * Temporary accounts inside one database: making, listing, removing. Every step is a transaction under one lock of that
 * database; a step that fails leaves nothing, or an account that can no longer sign in and that the next sweep removes.
 */
import { cannotApply, problem } from '../codes.ts';
import { type Client, inTransaction, rowsOf, runFormatted } from './connection.ts';
import { ensureKeeper, ensureRights, joinRole, type Place } from './groups.ts';
import { type Access, createLogin, isLogin, parseMarker, renderMarker } from './marker.ts';
import { createPassword, toScramVerifier } from './scram.ts';

/** Until when: the end of the server's day, a length of time, or a moment. */
export type Lifetime =
  | { readonly is: 'day' }
  | { readonly is: 'seconds'; readonly seconds: number }
  | { readonly is: 'moment'; readonly at: string };

export type Wish = { readonly access: Access; readonly lifetime: Lifetime; readonly owner: string };

export type Account = {
  readonly login: string;
  readonly database: string;
  /** RFC 3339 with the server's offset. */
  readonly validuntil: string;
  /** How long it lives from now, by the server's clock. */
  readonly remainingMs: number;
};

export type NewAccount = Account & { readonly pwd: string; readonly access: Access };

export const MAX_LIFETIME_SEC = 7 * 86_400;
/** Accounts of one owner in one database at once. */
const MAX_ACCOUNTS = 100;
/** Most roles of our form that are looked at in one server. */
const MAX_ROLES = 10_000;
const MAX_CONNECTIONS = 5;
/** One lock for all that is done to accounts in a database: "parley" in ASCII. */
const LOCK = '123563833845113';
/** How long one connection may take to end, and how often that is tried. */
const TERMINATE_MS = 1500;
const TERMINATE_TRIES = 8;

const RFC3339 = `'YYYY-MM-DD"T"HH24:MI:SSTZH:TZM'`;

/** The moment an account ends, by the server's clock and in its time zone; $1 and $2 are the wish. */
const UNTIL = `CASE $1::text
  WHEN 'day' THEN (date_trunc('day', now() AT TIME ZONE current_setting('TimeZone')) + interval '1 day')
    AT TIME ZONE current_setting('TimeZone')
  WHEN 'seconds' THEN now() + make_interval(secs => $2::text::double precision)
  ELSE $2::text::timestamptz END`;

const FACTS = `
  SELECT current_database() AS database, current_user AS creator, rolsuper OR rolcreaterole AS "canCreate",
    to_char(now(), 'YYMMDD') AS day, u.until::text AS until, to_char(u.until, ${RFC3339}) AS validuntil,
    floor(extract(epoch FROM u.until - now()) * 1000)::float8 AS "remainingMs"
  FROM pg_roles, (SELECT ${UNTIL} AS until) u WHERE rolname = current_user`;

const ROLES = `
  SELECT oid::text AS oid, rolname AS login, shobj_description(oid, 'pg_authid') AS comment,
    to_char(rolvaliduntil, ${RFC3339}) AS validuntil, rolcanlogin AND rolvaliduntil > now() AS "isCurrent",
    coalesce(floor(extract(epoch FROM rolvaliduntil - now()) * 1000), 0)::float8 AS "remainingMs",
    current_database() AS database
  FROM pg_roles WHERE rolname LIKE 'tmp\\_%' AND NOT rolsuper AND rolvaliduntil < 'infinity' ORDER BY rolname LIMIT ${MAX_ROLES}`;

type Facts = Place & { canCreate: boolean; day: string; until: string; validuntil: string; remainingMs: number };
type Role = Account & { oid: string; comment: string | null; isCurrent: boolean; owner: string };

/** Accounts of this database, by anybody; nothing without our marks is among them. */
const rolesOf = async (client: Client): Promise<Role[]> =>
  (await rowsOf<Omit<Role, 'owner'>>(client, ROLES)).flatMap((role) => {
    const marker = isLogin(role.login) ? parseMarker(role.comment) : undefined;
    return marker?.database === role.database ? [{ ...role, owner: marker.owner }] : [];
  });

const lock = async (client: Client): Promise<void> => {
  await client.query('SELECT pg_advisory_xact_lock($1)', [LOCK]);
};

const wishedValue = (lifetime: Lifetime): string | null => {
  if (lifetime.is === 'day') return null;
  return lifetime.is === 'seconds' ? String(lifetime.seconds) : lifetime.at;
};

const checkFacts = ({ canCreate, remainingMs }: Facts): void => {
  if (!canCreate) throw cannotApply('login', 'no_createrole');
  if (remainingMs <= 0) throw cannotApply('validuntil', 'is past');
  if (remainingMs > MAX_LIFETIME_SEC * 1000) throw cannotApply('validuntil', 'is more than 7 days away');
};

/**
 * Makes an account. `keep` is told of it before the server is, so that a crash in between leaves a note without an
 * account and never an account without a note.
 */
export const createAccount = async (
  client: Client,
  { access, lifetime, owner }: Wish,
  keep: (account: Account) => Promise<void>,
): Promise<NewAccount> => {
  const pwd = createPassword();
  const verifier = await toScramVerifier(pwd);
  return inTransaction(client, async () => {
    await lock(client);
    const [facts] = await rowsOf<Facts>(client, FACTS, [lifetime.is, wishedValue(lifetime)]);
    checkFacts(facts!);
    const { database, day, until, validuntil, remainingMs } = facts!;
    const current = (await rolesOf(client)).filter((role) => role.owner === owner && role.isCurrent);
    if (current.length >= MAX_ACCOUNTS) throw cannotApply('login', 'too_many_accounts', { limit: MAX_ACCOUNTS });
    const account = { login: createLogin(database, day), database, validuntil, remainingMs };
    await keep(account);
    const group = await ensureRights(client, facts!, access);
    await runFormatted(
      client,
      `CREATE ROLE %I LOGIN INHERIT NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS
        CONNECTION LIMIT ${MAX_CONNECTIONS} PASSWORD %L VALID UNTIL %L IN ROLE %I`,
      account.login,
      verifier,
      until,
      group,
    );
    await runFormatted(client, 'COMMENT ON ROLE %I IS %L', account.login, renderMarker({ database, owner, access }));
    // A courtesy to whoever reads: the account may switch it off, and then the missing rights are in the way.
    if (access === 'read')
      await runFormatted(client, 'ALTER ROLE %I SET default_transaction_read_only = on', account.login);
    return { ...account, pwd, access };
  });
};

/** Accounts that can sign in now. */
export const listAccounts = async (client: Client, owner: string): Promise<Account[]> =>
  (await rolesOf(client)).filter((role) => role.owner === owner && role.isCurrent);

const SESSIONS = `SELECT pid FROM pg_stat_activity WHERE usesysid = $1::oid AND pid <> pg_backend_pid()`;
const OWNS = `SELECT 1 AS one FROM pg_shdepend WHERE refclassid = 'pg_authid'::regclass AND refobjid = $1::oid
  AND deptype = 'o' AND dbid IN (0, (SELECT oid FROM pg_database WHERE datname = current_database())) LIMIT 1`;

/** Runs a step under the lock, unless somebody else has removed the role meanwhile. */
const step = (client: Client, { oid, login }: Role, job: () => Promise<void>): Promise<void> =>
  inTransaction(client, async () => {
    await lock(client);
    const found = await rowsOf(client, 'SELECT 1 FROM pg_roles WHERE oid = $1::oid AND rolname = $2', [oid, login]);
    if (found.length > 0) await job();
  });

/** Nobody comes in any more, and we may act for the role. */
const closeAccount = (client: Client, role: Role): Promise<void> =>
  step(client, role, async () => {
    await runFormatted(client, 'ALTER ROLE %I NOLOGIN', role.login);
    await joinRole(client, role.login);
  });

const endSessions = async (client: Client, { oid }: Role): Promise<void> => {
  for (let tries = 0; tries < TERMINATE_TRIES; tries++) {
    const sessions = await rowsOf<{ pid: number }>(client, SESSIONS, [oid]);
    if (sessions.length === 0) return;
    const pids = sessions.map(({ pid }) => pid);
    // Told all at once, then waited for.
    await client.query('SELECT pg_terminate_backend(pid) FROM unnest($1::int[]) pid', [pids]);
    await client.query('SELECT pg_terminate_backend($1, $2)', [pids[0], TERMINATE_MS]);
  }
  throw problem('upstream_failed', { message: 'Connections of the account do not end' });
};

const dropRole = (client: Client, place: Place, role: Role): Promise<void> =>
  step(client, role, async () => {
    const { login, oid } = role;
    // What it made stays, with an owner who may do nothing: a function must not get more rights than its maker had.
    const [owned] = await rowsOf(client, OWNS, [oid]);
    if (owned) await runFormatted(client, 'REASSIGN OWNED BY %I TO %I', login, await ensureKeeper(client, place));
    await runFormatted(client, 'DROP OWNED BY %I', login);
    await runFormatted(client, 'DROP ROLE %I', login);
  });

const PLACE = 'SELECT current_database() AS database, current_user AS creator';

const removeRole = async (client: Client, role: Role): Promise<void> => {
  const [place] = await rowsOf<Place>(client, PLACE);
  await closeAccount(client, role);
  await endSessions(client, role);
  await dropRole(client, place!, role);
};

/** Removes accounts of an owner with their connections; one login, or all. Answers the logins that are gone. */
export const removeAccounts = async (client: Client, owner: string, login?: string): Promise<string[]> => {
  const roles = (await rolesOf(client)).filter(
    (role) => role.owner === owner && (login === undefined || role.login === login),
  );
  for (const role of roles) await removeRole(client, role);
  return roles.map((role) => role.login);
};

/**
 * Removes what is over in this database, whoever it was for. Answers how long the account of this login still lives;
 * zero when it is gone.
 */
export const sweepAccounts = async (client: Client, login: string): Promise<number> => {
  const roles = await rolesOf(client);
  const over = roles.filter((role) => !role.isCurrent);
  // The one that was asked for first: another that cannot be removed must not keep it alive.
  over.sort((left, right) => Number(right.login === login) - Number(left.login === login));
  for (const role of over) await removeRole(client, role);
  return roles.find((role) => role.isCurrent && role.login === login)?.remainingMs ?? 0;
};
