/**
 * Several servers on one PostgreSQL, long form: `npm run soak -- servers [WRITES] [ROUNDS] [GONE_SECONDS]`. Each is a
 * supervisor of its own with a platform node, in a network namespace of its own where the machine allows. Writes on any
 * are read on all, and how soon; processes are killed and stopped; the database is away and comes back; the cable of one
 * server is pulled; in the end all of them say the same.
 */
import { type PostgresServer, startPostgres } from '../../packages/kit/src/testing/postgres-server.ts';
import {
  type Administrator,
  eventually,
  type ParleyProcess,
  startParley,
} from '../../packages/parley/test/parley-process.ts';
import { type Namespaces, openNamespaces } from './namespaces.ts';
import { insist, type Outage, sum } from './outage.ts';
import { rolesOf } from './process-tree.ts';

const NAMES = ['a', 'b', 'c'];
const HEARTBEAT_MS = 2000;

type Server = {
  readonly name: string;
  readonly parley: ParleyProcess;
  readonly url: string;
  readonly admin: Administrator;
};

/** Where servers live: their database, and their networks if they have some of their own. */
type World = { readonly place: string; readonly spaces: Namespaces | undefined };

const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

const quantile = (sorted: readonly number[], part: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;

const report = (what: string, timesMs: number[]): void => {
  const sorted = timesMs.toSorted((left, right) => left - right);
  const [half, most, last] = [quantile(sorted, 0.5), quantile(sorted, 0.99), sorted.at(-1)].map((ms) => ms?.toFixed(1));
  say(`${what}: ${sorted.length} times, median ${half} ms, 99 % ${most} ms, longest ${last} ms`);
};

/** How long until every other server reads what one wrote, from the answer to the write. */
const measureReads = async (servers: readonly Server[], writes: number): Promise<void> => {
  const made = await servers[0]!.admin.call('POST', 'iam/users', { login: `soak-${Date.now()}`, name: 'start' });
  const path = `iam/users/${made.body.id}`;
  const delays: number[] = [];
  for (let n = 0; n < writes; n++) {
    const writer = servers[n % servers.length]!;
    const name = `write ${n}`;
    const { status } = await writer.admin.call('PATCH', path, { name });
    if (status !== 200) throw new Error(`a write was answered ${status}`);
    const sinceMs = performance.now();
    await Promise.all(
      servers
        .filter((each) => each !== writer)
        .map(async ({ admin }) => {
          while ((await admin.call('GET', path)).body.name !== name);
          delays.push(performance.now() - sinceMs);
        }),
    );
  }
  report('read on another server after the answer to the write', delays);
};

const platformPid = ({ parley }: Server): number =>
  rolesOf(parley.pid).find(({ role, pid }) => role === 'platform' && pid !== parley.pid)!.pid;

const statusAt = async ({ admin }: Server, fullName: string): Promise<string> =>
  (await admin.call('GET', `master/nodes/${encodeURIComponent(fullName)}`)).body.status;

/** Ends one node in each manner while another server is asked: how soon the interface says so, and that it serves again. */
const disturb = async (victim: Server, witness: Server, rounds: number): Promise<void> => {
  const fullName = `platform_1@${victim.name}.default`;
  const isSeen = (wanted: string) =>
    eventually(
      () => statusAt(witness, fullName),
      (status) => status === wanted,
      `${fullName} to be ${wanted}`,
    );
  for (const signal of ['SIGKILL', 'SIGSTOP'] as const) {
    const told: number[] = [];
    const back: number[] = [];
    for (let n = 0; n < rounds; n++) {
      const sinceMs = performance.now();
      process.kill(platformPid(victim), signal);
      await isSeen('inactive');
      told.push(performance.now() - sinceMs);
      await isSeen('active');
      back.push(performance.now() - sinceMs);
    }
    report(`${signal} of a node told by another server (two heartbeats are ${2 * HEARTBEAT_MS} ms)`, told);
    report(`${signal} of a node, serving again`, back);
  }
};

/** Kills a supervisor: how soon the others say so, and that its node is gone. */
const killServer = async (victim: Server, witness: Server, world: World): Promise<Server> => {
  const sinceMs = performance.now();
  process.kill(victim.parley.pid, 'SIGKILL');
  await isRoot(victim, witness, 'inactive');
  say(`kill -9 of a supervisor told by another server after ${(performance.now() - sinceMs).toFixed(0)} ms`);
  await victim.parley[Symbol.asyncDispose]();
  return await startOne(victim.name, world);
};

const isRoot = async (victim: Server, witness: Server, wanted: string): Promise<void> => {
  const seen = () => statusAt(witness, `${victim.name}@${victim.name}.default`);
  await eventually(seen, (status) => status === wanted, `the server ${victim.name} to be ${wanted}`);
};

const startOne = async (name: string, { place, spaces }: World): Promise<Server> => {
  const settings = {
    'storage.url': place,
    'supervisor.server': name,
    'supervisor.heartbeat': `${HEARTBEAT_MS}ms`,
    ...(spaces ? { host: spaces.addressOf(name) } : {}),
  };
  const parley = await startParley('platform', settings, undefined, spaces?.enter(name));
  return { name, parley, url: await parley.url('platform'), admin: await parley.signIn() };
};

const insistAt = ({ url, admin, name }: Server, ms: number, { spaces }: World): Promise<Outage> =>
  insist({ url, token: admin.headers.authorization!, name, ms }, spaces?.enter(name) ?? []);

/** Throws unless reads went on and every write was refused as it shall be. */
const judge = (what: string, told: Outage, backMs: number): void => {
  say(`${what}: ${JSON.stringify(told)}; writes again after ${backMs.toFixed(0)} ms`);
  if (told.readFaults + told.withoutRetryAfter + told.otherwise > 0) throw new Error('not as it should be');
};

const writesAgain = async ({ admin, name }: Server): Promise<void> => {
  const write = () => admin.call('POST', 'iam/users', { login: `back-${name}-${Date.now()}` });
  await eventually(write, ({ status }) => status === 200, `${name} to write again`);
};

/** Reads and writes on every server while the database is away, and what comes of them. */
const outlive = async (servers: readonly Server[], goneMs: number, postgres: PostgresServer, world: World) => {
  // A session that a node has not seen yet is in the database only.
  for (const { admin } of servers) await admin.call('GET', 'iam/sessions/current');
  await postgres.stop('SIGQUIT');
  const told = await Promise.all(servers.map((each) => insistAt(each, goneMs, world)));
  await postgres.start();
  const sinceMs = performance.now();
  for (const each of servers) await writesAgain(each);
  judge(`database away for ${goneMs / 1000} s`, sum(told), performance.now() - sinceMs);
};

/** One server without a network: it reads on, the others go on and say that it is gone, and all is well afterwards. */
const isolate = async (victim: Server, witness: Server, goneMs: number, world: World): Promise<void> => {
  const { spaces } = world;
  if (!spaces) return;
  await spaces.plug(victim.name, false);
  const telling = insistAt(victim, goneMs, world);
  const sinceMs = performance.now();
  await isRoot(victim, witness, 'inactive');
  say(`pulled cable of a server told by another after ${(performance.now() - sinceMs).toFixed(0)} ms`);
  await writesAgain(witness);
  const told = await telling;
  await spaces.plug(victim.name, true);
  const pluggedMs = performance.now();
  await writesAgain(victim);
  judge(`server without network for ${goneMs / 1000} s`, told, performance.now() - pluggedMs);
  await isRoot(victim, witness, 'active');
};

/** Throws unless all servers come to say the same of all users. */
const compare = async (servers: readonly Server[]): Promise<void> => {
  const read = async ({ admin }: Server) =>
    JSON.stringify((await admin.call('GET', 'iam/users?mask=*&order=id&limit=10000')).body);
  const all = () => Promise.all(servers.map(read));
  const [said] = await eventually(all, (texts) => new Set(texts).size === 1, 'all servers to say the same');
  say(`all servers say the same of ${JSON.parse(said!).length} users`);
};

const openWorld = async (stack: AsyncDisposableStack): Promise<World & { readonly postgres: PostgresServer }> => {
  const opened = await openNamespaces(NAMES);
  const spaces = typeof opened === 'string' ? undefined : stack.use(opened);
  say(spaces ? `each server in a network namespace of its own on ${spaces.network}; PostgreSQL over TCP` : `${opened}`);
  const postgres = stack.use(await startPostgres(spaces));
  return { postgres, spaces, place: await postgres.createDatabase() };
};

/** Runs it all; throws when something is not as it should be. */
export const runServers = async ([writes = '300', rounds = '5', gone = '30']: readonly string[]): Promise<void> => {
  await using stack = new AsyncDisposableStack();
  const { postgres, ...world } = await openWorld(stack);
  const servers: Server[] = [];
  stack.defer(async () => {
    await Promise.all(servers.map(({ parley }) => parley[Symbol.asyncDispose]()));
  });
  for (const name of NAMES) servers.push(await startOne(name, world));
  await measureReads(servers, Number(writes));
  await disturb(servers[1]!, servers[0]!, Number(rounds));
  servers[2] = await killServer(servers[2]!, servers[0]!, world);
  await isolate(servers[1]!, servers[0]!, Number(gone) * 1000, world);
  await outlive(servers, Number(gone) * 1000, postgres, world);
  await measureReads(servers, Number(writes));
  await compare(servers);
};
