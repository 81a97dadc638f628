/** Temporary accounts in the databases that a domain's storages name: made, listed, removed, and ended when due. */
import { installationIdOf } from '../domains/identity.ts';
import type { Domain } from '../domains/types.ts';
import { type Account, createAccount, listAccounts, type NewAccount, removeAccounts, type Wish } from './accounts.ts';
import { type Client, rowsOf } from './connection.ts';
import { createGate, type GateParts } from './gate.ts';
import { ownerOf } from './marker.ts';
import { dropNotes, writeNote } from './notes.ts';
import { type SweeperParts, startSweeper } from './sweeper.ts';
import type { Target } from './target.ts';

export type DbAccounts = AsyncDisposable & {
  /** Keys of the databases the domain may have accounts in. */
  databases(domain: Domain): Promise<string[]>;
  /** 404 for a key that is none of them; 422 `host_not_allowed`; 502 when the database cannot be used. */
  create(domain: Domain, instance: string, wish: Omit<Wish, 'owner'>): Promise<Placed<NewAccount>>;
  list(domain: Domain, instance: string): Promise<Placed<Account>[]>;
  /** Without a login, all. Answers how many are gone. */
  remove(domain: Domain, instance: string, login?: string): Promise<number>;
};

/** An account with where to use it. */
export type Placed<A> = A & { readonly host: string; readonly port: number };

export type DbAccountsParts = SweeperParts & GateParts;

export const openDbAccounts = (parts: DbAccountsParts): DbAccounts => {
  const { store, clock, log } = parts;
  const gate = createGate(parts);
  const sweeper = startSweeper(parts);
  const owner = async (domain: Domain): Promise<string> => ownerOf(await installationIdOf(store), domain.name);

  return {
    databases: gate.offered,
    create: (domain, instance, wish) =>
      gate.use(domain, instance, async (client, target) => {
        const full = { ...wish, owner: await owner(domain) };
        let login: string | undefined;
        try {
          const made = await createAccount(client, full, async (account) => {
            login = account.login;
            const dueMs = clock.now() + account.remainingMs;
            await writeNote(store, login, { domain: domain.name, target, dueMs });
          });
          sweeper.expect(clock.now() + made.remainingMs);
          log.info({ domain: domain.name, instance, login, access: made.access }, 'database account made');
          return placed(made, target);
        } catch (thrown) {
          // Whether the server kept it is not known when the connection broke: then the note stays until it is due.
          if (login !== undefined && (await isGone(client, login))) await dropNotes(store, [login]);
          throw thrown;
        }
      }),
    list: (domain, instance) =>
      gate.use(domain, instance, async (client, target) =>
        (await listAccounts(client, await owner(domain))).map((account) => placed(account, target)),
      ),
    remove: (domain, instance, login) =>
      gate.use(domain, instance, async (client) => {
        const gone = await removeAccounts(client, await owner(domain), login);
        await dropNotes(store, gone);
        log.info({ domain: domain.name, instance, count: gone.length }, 'database accounts removed');
        return gone.length;
      }),
    [Symbol.asyncDispose]: () => sweeper[Symbol.asyncDispose](),
  };
};

const placed = <A>(account: A, { host, port }: Target): Placed<A> => ({ ...account, host, port });

const isGone = async (client: Client, login: string): Promise<boolean> =>
  rowsOf(client, 'SELECT 1 FROM pg_roles WHERE rolname = $1', [login]).then(
    (rows) => rows.length === 0,
    () => false,
  );
