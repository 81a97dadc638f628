/**
 * Several servers on one PostgreSQL, long form: `npm run soak -- servers [WRITES] [ROUNDS] [GONE_SECONDS]`. Each is a
 * supervisor of its own with a platform node. Writes on any are read on all, and how soon; processes are killed and
 * stopped while writes go on; the database is away and comes back; in the end all of them say the same.
 */
import { type PostgresServer, startPostgres } from '../../packages/kit/src/testing/postgres-server.ts';
import {
  type Administrator,
  eventually,
  type ParleyProcess,
  startParley,
} from '../../packages/parley/test/parley-process.ts';
import { rolesOf } from './process-tree.ts';

const NAMES = ['a', 'b', 'c'];
const HEARTBEAT_MS = 2000;

type Server = { readonly name: string; readonly parley: ParleyProcess; readonly admin: Administrator };

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
const killServer = async (victim: Server, witness: Server, place: string): Promise<Server> => {
  const sinceMs = performance.now();
  process.kill(victim.parley.pid, 'SIGKILL');
  const inactive = () => statusAt(witness, `${victim.name}@${victim.name}.default`);
  await eventually(inactive, (status) => status === 'inactive', 'the server to be told dead');
  say(`kill -9 of a supervisor told by another server after ${(performance.now() - sinceMs).toFixed(0)} ms`);
  await victim.parley[Symbol.asyncDispose]();
  return await startOne(victim.name, place);
};

const startOne = async (name: string, place: string): Promise<Server> => {
  const parley = await startParley('platform', {
    'storage.url': place,
    'supervisor.server': name,
    'supervisor.heartbeat': `${HEARTBEAT_MS}ms`,
  });
  return { name, parley, admin: await parley.signIn() };
};

type Outage = { reads: number; readFaults: number; refused: number; withoutRetryAfter: number; otherwise: number };

/** Reads and writes on one server until then. */
const insist = async ({ admin, name }: Server, untilMs: number, counts: Outage): Promise<void> => {
  for (let n = 0; Date.now() < untilMs; n++) {
    const read = await admin.call('GET', 'iam/users?limit=10');
    counts[read.status === 200 ? 'reads' : 'readFaults'] += 1;
    const { status, headers } = await admin.call('POST', 'iam/users', { login: `gone-${name}-${n}` });
    counts[status === 503 ? 'refused' : 'otherwise'] += 1;
    if (status === 503 && headers['retry-after'] === undefined) counts.withoutRetryAfter += 1;
  }
};

/** Reads and writes on every server while the database is away, and what comes of them. */
const outlive = async (servers: readonly Server[], goneMs: number, postgres: PostgresServer): Promise<void> => {
  // A session that a node has not seen yet is in the database only.
  for (const { admin } of servers) await admin.call('GET', 'iam/sessions/current');
  const counts: Outage = { reads: 0, readFaults: 0, refused: 0, withoutRetryAfter: 0, otherwise: 0 };
  await postgres.stop('SIGQUIT');
  const untilMs = Date.now() + goneMs;
  await Promise.all(servers.map((each) => insist(each, untilMs, counts)));
  await postgres.start();
  const sinceMs = performance.now();
  for (const { admin, name } of servers) {
    const write = () => admin.call('POST', 'iam/users', { login: `back-${name}-${Date.now()}` });
    await eventually(write, ({ status }) => status === 200, `${name} to write again`);
  }
  const backMs = (performance.now() - sinceMs).toFixed(0);
  say(`database away for ${goneMs / 1000} s: ${JSON.stringify(counts)}; all write again after ${backMs} ms`);
  if (counts.readFaults + counts.withoutRetryAfter + counts.otherwise > 0) throw new Error('not as it should be');
};

/** Throws unless all servers come to say the same of all users. */
const compare = async (servers: readonly Server[]): Promise<void> => {
  const read = async ({ admin }: Server) =>
    JSON.stringify((await admin.call('GET', 'iam/users?mask=*&order=id&limit=10000')).body);
  const all = () => Promise.all(servers.map(read));
  const [said] = await eventually(all, (texts) => new Set(texts).size === 1, 'all servers to say the same');
  say(`all servers say the same of ${JSON.parse(said!).length} users`);
};

/** Runs it all; throws when something is not as it should be. */
export const runServers = async ([writes = '300', rounds = '5', gone = '30']: readonly string[]): Promise<void> => {
  await using postgres = await startPostgres();
  const place = await postgres.createDatabase();
  const servers: Server[] = [];
  try {
    for (const name of NAMES) servers.push(await startOne(name, place));
    await measureReads(servers, Number(writes));
    await disturb(servers[1]!, servers[0]!, Number(rounds));
    servers[2] = await killServer(servers[2]!, servers[0]!, place);
    await outlive(servers, Number(gone) * 1000, postgres);
    await measureReads(servers, Number(writes));
    await compare(servers);
  } finally {
    await Promise.all(servers.map(({ parley }) => parley[Symbol.asyncDispose]()));
  }
};
