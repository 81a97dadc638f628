/** Temporary accounts of databases as the interface tells them. */

/** The first family ends accounts with the day, the second when it is told to. */
export const FAMILIES = ['/rest/v1/iam/dbusers', '/rest/v1/iam/dbusers_by_expiration'] as const;

export type DbAccount = {
  readonly host: string;
  readonly port: number;
  readonly login: string;
  readonly database: string;
  /** RFC 3339. */
  readonly validuntil: string;
};

/** As it is shown once. */
export type NewDbAccount = DbAccount & { readonly pwd: string; readonly access: 'read' | 'write' };
