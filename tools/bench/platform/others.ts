/**
 * Parley beside Parse Server, which is installed from the npm registry for this run into the run's own folder and set up
 * as its guide says: PostgreSQL, a class that a role may read and write, a session token on each request.
 */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { startPostgres } from '@parley/kit/testing/postgres-server.ts';
import { treeOf } from '../../soak/process-tree.ts';
import type { BenchContext, BenchPart, BenchRow } from '../part.ts';
import { type Child, cpuOf, startChild } from './child.ts';
import { openLoad } from './load.ts';
import { type Figures, measureInTurn } from './measure.ts';
import { CLIENTS, createPicker, LIST_ITEMS, toRequest, userOf } from './seed.ts';
import { type Service, startParleyService } from './services.ts';

const PACKAGE = 'parse-server@9.10.0';
const INSTALL_MS = 300_000;
const USERS = 10_000;
/** An address of this machine that nobody else listens on: its PostgreSQL is reached over TCP. */
const DATABASE_ADDRESS = '127.77.0.1';
const ROLE = 'bench';
const MOST = { get: 10, list: 8 };

const install = async (folder: string, signal: AbortSignal): Promise<void> => {
  await writeFile(join(folder, 'package.json'), '{ "private": true }');
  const words = ['install', '--no-audit', '--no-fund', '--ignore-scripts', PACKAGE];
  await promisify(execFile)('npm', words, { cwd: folder, signal, timeout: INSTALL_MS });
};

type HeaderFields = Readonly<Record<string, string>>;
type Ask = (method: string, path: string, body: unknown) => Promise<unknown>;

const createAsk =
  (url: string, headers: HeaderFields): Ask =>
  async (method, path, body) => {
    const answer = await fetch(`${url}/parse/${path}`, {
      method,
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`Parse Server answered ${method} ${path} ${answer.status}: ${text.slice(0, 300)}`);
    return JSON.parse(text);
  };

/** Makes the users, one who may read and write them by a role, and answers that one's session. */
const fillParse = async (url: string, headers: HeaderFields, signal: AbortSignal): Promise<string> => {
  const ask = createAsk(url, headers);
  const caller = { username: 'caller', password: randomBytes(16).toString('hex') };
  const { objectId } = (await ask('POST', 'users', caller)) as { objectId: string };
  const users = { __op: 'AddRelation', objects: [{ __type: 'Pointer', className: '_User', objectId }] };
  await ask('POST', 'roles', { name: ROLE, ACL: {}, users });
  const may = { [`role:${ROLE}`]: true };
  await ask('POST', 'schemas/Person', {
    className: 'Person',
    fields: {
      ...Object.fromEntries(['login', 'name', 'timezone'].map((name) => [name, { type: 'String' }])),
      ...Object.fromEntries(['opts', 'ext'].map((name) => [name, { type: 'Object' }])),
    },
    classLevelPermissions: { find: may, get: may, update: may },
  });
  using load = await openLoad(url, CLIENTS, signal);
  let made = 0;
  const next = (): Buffer => {
    made += 1;
    const { id, ...user } = userOf(made);
    return toRequest('POST', '/parse/classes/Person', headers, JSON.stringify({ objectId: id, ...user }));
  };
  const { refused, firstRefusal } = await load.run(next, { requests: USERS });
  if (refused > 0) throw new Error(`Parse Server refused ${refused} users: ${firstRefusal}`);
  const { sessionToken } = (await ask('POST', 'login', caller)) as { sessionToken: string };
  return sessionToken;
};

/** The same requests as Parley is asked, in Parse Server's words. */
const asksOfParse = (session: string) => {
  const headers = { 'x-parse-application-id': 'bench', 'x-parse-session-token': session };
  const pick = createPicker(USERS);
  const path = (n: number): string => `/parse/classes/Person/${userOf(n).id}`;
  const query = new URLSearchParams({
    where: JSON.stringify({ name: { $regex: '^User 7' } }),
    order: '-login',
    limit: String(LIST_ITEMS),
    keys: 'login,name,timezone',
  });
  const list = toRequest('GET', `/parse/classes/Person?${query}`, headers);
  let writes = 0;
  return {
    get: () => toRequest('GET', path(pick()), headers),
    list: () => list,
    patch: () => {
      const n = pick();
      writes += 1;
      return toRequest('PUT', path(n), headers, JSON.stringify({ name: `User ${n} ${writes}` }));
    },
  };
};

/** Throws unless a list holds as many items as it should, which also says that filter and rights are as meant. */
const checkList = async (url: string, request: Buffer): Promise<void> => {
  const [head = ''] = request.toString().split('\r\n\r\n');
  const [first = '', ...lines] = head.split('\r\n');
  const headers = Object.fromEntries(lines.map((line) => line.split(': ') as [string, string]));
  const answer = (await (await fetch(url + first.split(' ')[1], { headers })).json()) as { results?: unknown[] };
  if (answer.results?.length !== LIST_ITEMS)
    throw new Error(`Parse Server listed ${JSON.stringify(answer).slice(0, 200)}`);
};

const startParse = async ({ folder, signal, log }: BenchContext, stack: AsyncDisposableStack): Promise<Service> => {
  log(`installing ${PACKAGE}`);
  await install(folder, signal);
  const before = new Set(treeOf(process.pid));
  const postgres = stack.use(await startPostgres({ address: DATABASE_ADDRESS, network: '127.0.0.0/8' }));
  const keeper = treeOf(process.pid).find((pid) => !before.has(pid))!;
  const masterKey = randomBytes(16).toString('hex');
  const parse: Child = stack.use(
    await startChild({
      module: fileURLToPath(new URL('./parse-server.ts', import.meta.url)),
      args: [folder, await postgres.createDatabase(), masterKey],
      // Else it makes a folder for its log where the command was called.
      env: { PARSE_SERVER_LOGS_FOLDER: 'null' },
      signal,
    }),
  );
  log(`filling ${USERS} users`);
  const headers = { 'x-parse-application-id': 'bench', 'x-parse-master-key': masterKey };
  const session = await fillParse(parse.url, headers, signal);
  const asks = asksOfParse(session);
  await checkList(parse.url, asks.list());
  // Half of the work is done by the database.
  const child = { ...parse, cpuMs: () => parse.cpuMs() + cpuOf(keeper) };
  return { name: 'Parse Server', child, asks, token: session };
};

const rowOf = (
  figure: string,
  { Parley, 'Parse Server': parse }: Readonly<Record<string, Figures>>,
  hoped?: number,
): BenchRow => {
  const [rate, cpu] = [Parley!.rate / parse!.rate, parse!.cpuMs / Parley!.cpuMs];
  return {
    figure: `${figure}: rate ÷ Parse Server's`,
    value: rate.toFixed(1),
    target: hoped === undefined ? '' : `≥ ${hoped} hoped`,
    met: hoped === undefined ? null : rate >= hoped,
    note: `${Parley!.rate.toFixed(0)}/s and ${parse!.rate.toFixed(0)}/s; CPU ${Parley!.cpuMs.toFixed(3)} and ${parse!.cpuMs.toFixed(3)} ms, ${cpu.toFixed(1)} times`,
  };
};

const run = async (context: BenchContext) => {
  const { folder, quick, rounds, log, signal } = context;
  await using stack = new AsyncDisposableStack();
  const parse = await startParse(context, stack);
  const parley = await startParleyService({ folder, users: USERS, signal }, stack);
  const found = await measureInTurn(
    [parley, parse],
    { get: ({ asks }) => asks.get, list: ({ asks }) => asks.list, patch: ({ asks }) => asks.patch },
    { seconds: quick ? 1 : 4, warmSeconds: quick ? 1 : 3, rounds, log, signal },
  );
  return {
    rows: [
      rowOf('GET one user', found.get, MOST.get),
      rowOf('list 100 of 10,000, filtered and ordered', found.list, MOST.list),
      rowOf('PATCH', found.patch),
    ],
    notes: [
      `${PACKAGE} on PostgreSQL 18 (whose CPU is counted with it), medians of ${rounds}, 16 connections. Its PATCH writes no journal, and its PostgreSQL runs without disk syncs; Parley's is durable and journalled.`,
    ],
  };
};

export const OTHERS_BENCH: BenchPart = {
  name: 'platform-others',
  title: 'Platform beside Parse Server, 10,000 users',
  run,
};
