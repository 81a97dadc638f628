/**
 * Group roles: they hold the rights, accounts are only members. One reads, one writes, and one without any rights
 * takes over what an account leaves behind. Rights are given on all that is there and, by default privileges, on all
 * that the owners make later; what the storage's login itself may not give away is left out.
 */
import { cannotApply } from '../codes.ts';
import { type Client, rowsOf, runFormatted } from './connection.ts';
import { type Access, GROUP_COMMENT, groupName } from './marker.ts';

/** Where the connection stands. */
export type Place = { readonly database: string; readonly creator: string };

const MAX_STATEMENTS = 20_000;

/** Schemas of the server itself. Ours (`parley`, in databases that hold rows of classes) is read by everybody and written by nobody but us. */
const IS_FOREIGN_SCHEMA = `n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'`;

/** Statements that give $1 (the group) on $2 (`read` or `write`) what it does not have yet, on all that is there. */
const EXISTING = `
  SELECT format('GRANT CONNECT ON DATABASE %I TO %I', current_database(), $1::text::name) AS text
    WHERE NOT has_database_privilege($1::text::name, current_database(), 'CONNECT')
      AND has_database_privilege(current_database(), 'CONNECT WITH GRANT OPTION')
  UNION ALL
  SELECT format('GRANT USAGE ON SCHEMA %I TO %I', n.nspname, $1::text::name) FROM pg_namespace n
    WHERE ${IS_FOREIGN_SCHEMA} AND has_schema_privilege(n.oid, 'USAGE WITH GRANT OPTION')
      AND NOT has_schema_privilege($1::text::name, n.oid, 'USAGE')
  UNION ALL
  SELECT format('GRANT %s ON TABLE %I.%I TO %I', p.name, n.nspname, c.relname, $1::text::name)
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    CROSS JOIN (VALUES ('SELECT', 'read'), ('INSERT', 'write'), ('UPDATE', 'write'), ('DELETE', 'write')) p (name, level)
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND ${IS_FOREIGN_SCHEMA}
      AND (p.level = 'read' OR ($2::text = 'write' AND n.nspname <> 'parley'))
      AND has_table_privilege(c.oid, p.name || ' WITH GRANT OPTION') AND NOT has_table_privilege($1::text::name, c.oid, p.name)
  UNION ALL
  SELECT format('GRANT %s ON SEQUENCE %I.%I TO %I', p.name, n.nspname, c.relname, $1::text::name)
    FROM (SELECT oid, relname, relnamespace FROM pg_class WHERE relkind = 'S' OFFSET 0) c
    JOIN pg_namespace n ON n.oid = c.relnamespace
    CROSS JOIN (VALUES ('SELECT', 'read'), ('USAGE', 'write'), ('UPDATE', 'write')) p (name, level)
    WHERE ${IS_FOREIGN_SCHEMA} AND (p.level = 'read' OR ($2::text = 'write' AND n.nspname <> 'parley'))
      AND has_sequence_privilege(c.oid, p.name || ' WITH GRANT OPTION')
      AND NOT has_sequence_privilege($1::text::name, c.oid, p.name)
  LIMIT ${MAX_STATEMENTS}`;

/** The same for what those who own something here, and the storage's login, will make. */
const FUTURE = `
  SELECT format('ALTER DEFAULT PRIVILEGES FOR ROLE %I GRANT %s TO %I', r.rolname, p.given, $1::text::name) AS text
    FROM pg_roles r
    CROSS JOIN (VALUES ('r', 'SELECT', 'SELECT ON TABLES', 'read'), ('S', 'SELECT', 'SELECT ON SEQUENCES', 'read'),
      ('n', 'USAGE', 'USAGE ON SCHEMAS', 'read'), ('r', 'INSERT', 'INSERT, UPDATE, DELETE ON TABLES', 'write'),
      ('S', 'USAGE', 'USAGE, UPDATE ON SEQUENCES', 'write')) p (kind, privilege, given, level)
    WHERE r.rolname !~ '^pg_' AND pg_has_role(r.oid, 'USAGE') AND (p.level = 'read' OR $2::text = 'write')
      AND (r.rolname = current_user OR r.oid IN (
        SELECT c.relowner FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE ${IS_FOREIGN_SCHEMA}
        UNION SELECT n.nspowner FROM pg_namespace n WHERE ${IS_FOREIGN_SCHEMA}
        UNION SELECT d.datdba FROM pg_database d WHERE d.datname = current_database()))
      AND NOT EXISTS (SELECT 1 FROM pg_default_acl d, aclexplode(d.defaclacl) a
        WHERE d.defaclrole = r.oid AND d.defaclnamespace = 0 AND d.defaclobjtype = p.kind::"char"
          AND a.grantee = $1::text::regrole AND a.privilege_type = p.privilege)`;

const FIND = `SELECT rolcanlogin, rolsuper, shobj_description(oid, 'pg_authid') AS comment FROM pg_roles WHERE rolname = $1`;

type Found = { rolcanlogin: boolean; rolsuper: boolean; comment: string | null };

const ensureGroup = async (client: Client, name: string): Promise<void> => {
  const [found] = await rowsOf<Found>(client, FIND, [name]);
  if (!found) {
    await runFormatted(client, 'CREATE ROLE %I NOLOGIN NOCREATEDB NOCREATEROLE', name);
    await runFormatted(client, 'COMMENT ON ROLE %I IS %L', name, GROUP_COMMENT);
  } else if (found.comment !== GROUP_COMMENT || found.rolcanlogin || found.rolsuper) {
    throw cannotApply('login', 'role_taken', { role: name });
  }
};

/** The group of this level with all its rights; makes what is missing. Runs in the caller's transaction. */
export const ensureRights = async (client: Client, place: Place, access: Access): Promise<string> => {
  const name = groupName(access, place.database, place.creator);
  await ensureGroup(client, name);
  for (const query of [EXISTING, FUTURE]) {
    const statements = await rowsOf<{ text: string }>(client, query, [name, access]);
    if (statements.length > 0) await client.query(statements.map(({ text }) => text).join(';\n'));
  }
  return name;
};

/** The role without rights that takes over what accounts leave behind; the storage's login is a member of it. */
export const ensureKeeper = async (client: Client, place: Place): Promise<string> => {
  const name = groupName('kept', place.database, place.creator);
  await ensureGroup(client, name);
  await joinRole(client, name);
  return name;
};

/** Lets the storage's login act for a role it made. */
export const joinRole = async (client: Client, name: string): Promise<void> => {
  const [row] = await rowsOf<{ joined: boolean }>(client, `SELECT pg_has_role($1::text::name, 'USAGE') AS joined`, [
    name,
  ]);
  if (row?.joined !== true) await runFormatted(client, 'GRANT %I TO CURRENT_USER', name);
};
