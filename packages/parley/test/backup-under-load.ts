/**
 * A backup while writers write, restored into an empty installation and held against the one it was taken of. Used by
 * the test, and for longer by `npm run soak -- backup`.
 */
import assert from 'node:assert/strict';
import { existsSync, openAsBlob } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { isPostgres } from '@parley/kit/store/open.ts';
import { openSnapshot } from '@parley/kit/store/open-snapshot.ts';
import type { SnapshotRow, StoreSnapshot } from '@parley/kit/store/snapshot.ts';
import { readReferences, readSeqs } from '../src/backup/references.ts';
import { type Administrator, eventually, type ParleyProcess, startParley } from './parley-process.ts';
import { runParley } from './run-parley.ts';

export type LoadOptions = {
  readonly root: string;
  /** Command that is run. */
  readonly kind: 'start' | 'platform';
  /** Storage URL of the installation, and of the one it is restored to; empty is SQLite in the data folder. */
  readonly places: readonly [string, string];
  /** How long writers write before the backup is taken. */
  readonly seconds: number;
};

export type LoadReport = {
  readonly acknowledgedBefore: number;
  readonly acknowledged: number;
  readonly attached: number;
  /** Rows that the backup's point holds and nothing changed afterwards: byte for byte the same in both. */
  readonly rows: number;
  readonly entries: number;
  readonly backupMs: number;
  /** Jobs that were accepted before, and jobs that were not over at the backup's point. */
  readonly jobs: number;
  readonly unfinished: number;
};

/** Text found in every archive: in a row, in a file, in a header, in the manifest. */
export const PARTS = ['"name":"one"', 'aaaaaaaa', 'secret.key', '"sha256": "'];

const WRITERS = 6;
const MIN_WRITES = 40;
const CLASS = 'Kept';

const USER_KEY = 'pk_backup-under-load-0123456789';
const KEY = { authorization: `Bearer ${USER_KEY}` };
const RECORDING = new URL('../../../testdata/audio/words.wav', import.meta.url);
const MAX_JOBS = 24;

type Load = {
  /** Jobs that were accepted. */
  readonly jobs: Set<string>;
  /** Users by id: the name that was acknowledged last. */
  readonly users: Map<string, string>;
  /** Items whose file was acknowledged: its MD5. */
  readonly files: Map<string, string>;
  writes: number;
};

const ok = async (asked: ReturnType<Administrator['call']>): Promise<{ [key: string]: string }> => {
  const { status, body } = await asked;
  assert.equal(status, 200, JSON.stringify(body));
  return body;
};

const writeUsers = async (admin: Administrator, load: Load, writer: number, isOver: () => boolean): Promise<void> => {
  for (let turn = 0; !isOver(); turn += 1) {
    const body = { login: `w${writer}-${turn}`, name: 'first', pwd: 'Some-Pass-1' };
    const { id } = await ok(admin.call('POST', 'iam/users', body));
    load.users.set(id!, 'first');
    load.writes += 1;
    for (let change = 0; change < 5 && !isOver(); change += 1) {
      const name = `name ${change}`;
      await ok(admin.call('PATCH', `iam/users/${id}`, { name }));
      load.users.set(id!, name);
      load.writes += 1;
    }
  }
};

/** Puts files and replaces them at once, so that files come and go while they are gathered. */
const writeFiles = async (admin: Administrator, url: string, load: Load, isOver: () => boolean): Promise<void> => {
  for (let turn = 0; !isOver(); turn += 1) {
    const { id } = await ok(admin.call('POST', `model/${CLASS}`, {}));
    for (let change = 0; change < 3; change += 1) {
      const headers = { ...admin.headers, 'content-type': 'application/octet-stream' };
      const body = `file ${turn} ${change}`;
      const put = await fetch(`${url}/rest/v1/model/${CLASS}/${id}/doc`, { method: 'PUT', headers, body });
      assert.equal(put.status, 200);
      const { doc } = (await put.json()) as { doc: { md5: string } };
      load.files.set(id!, doc.md5);
      load.writes += 1;
    }
  }
};

/** Submits jobs, faster than one at a time is worked off. */
const submitJobs = async (url: string, load: Load, isOver: () => boolean): Promise<void> => {
  const recording = await openAsBlob(fileURLToPath(RECORDING));
  while (!isOver() && load.jobs.size < MAX_JOBS) {
    const body = new FormData();
    body.set('file', recording, 'words.wav');
    const answer = await fetch(`${url}/api/v1/jobs`, { method: 'POST', headers: KEY, body });
    const { id } = (await answer.json()) as { id: string };
    assert.equal(answer.status, 202);
    load.jobs.add(id);
  }
};

/** Waits until every job is over, and every one has done well. */
const finishJobs = async (url: string, jobs: ReadonlySet<string>): Promise<void> => {
  for (const id of jobs) {
    const read = async (): Promise<string> => {
      const { status } = (await (await fetch(`${url}/api/v1/jobs/${id}`, { headers: KEY })).json()) as {
        status: string;
      };
      return status;
    };
    const status = await eventually(read, (seen) => !['queued', 'running'].includes(seen), `job ${id} to end`);
    assert.equal(status, 'succeeded');
  }
};

const startLoad = async (parley: ParleyProcess, speechUrl: string | undefined) => {
  const admin = await parley.signIn();
  const url = await parley.url('platform');
  await ok(
    admin.call('POST', 'design/classes', { classname: CLASS, properties: [{ name: 'doc', data_type: 'attachment' }] }),
  );
  const load: Load = { jobs: new Set(), users: new Map(), files: new Map(), writes: 0 };
  let over = false;
  const isOver = () => over;
  const work = [
    ...Array.from({ length: WRITERS }, (_, writer) => writeUsers(admin, load, writer, isOver)),
    writeFiles(admin, url, load, isOver),
    ...(speechUrl === undefined ? [] : [submitJobs(speechUrl, load, isOver)]),
  ];
  const done = Promise.all(work);
  done.catch(() => undefined);
  return {
    load,
    written: async (count: number) => {
      while (load.writes < count || load.files.size === 0) await Promise.race([delay(10), done]);
    },
    stop: async () => {
      over = true;
      await done;
    },
  };
};

/** Throws an AssertionError for the first thing that is not as it was. */
export const runBackupUnderLoad = async ({ root, kind, places, seconds }: LoadOptions): Promise<LoadReport> => {
  const [from, to] = [sideOf(join(root, 'data'), places[0]), sideOf(join(root, 'restored'), places[1])];
  const archive = join(root, 'backup.tar');
  const taken = await takeUnderLoad(from, kind, archive, seconds);
  const restored = await runParley(['restore', archive], { ...to.settings, data_dir: to.dataDir });
  assert.equal(restored.code, 0, restored.said);
  const verified = await runParley(['journal', 'verify'], { ...to.settings, data_dir: to.dataDir });
  assert.equal(verified.code, 0, verified.said);
  const unfinished = await countUnfinished(to);
  const same = await compare(from, to, taken.startedAt);
  const attached = await lookAround(to, kind, taken.before);
  return {
    ...same,
    attached,
    jobs: taken.before.jobs.size,
    unfinished,
    acknowledgedBefore: taken.acknowledgedBefore,
    acknowledged: taken.acknowledged,
    backupMs: taken.backupMs,
  };
};

const sideOf = (dataDir: string, place: string): Side => ({
  dataDir,
  settings: {
    'speech.auth.user_key': USER_KEY,
    'speech.jobs.max_concurrent': '1',
    ...(place === '' ? {} : { 'storage.url': place }),
  },
});

type Side = { readonly dataDir: string; readonly settings: Readonly<Record<string, string>> };

const takeUnderLoad = async (side: Side, kind: LoadOptions['kind'], archive: string, seconds: number) => {
  await using parley = await startParley(kind, side.settings, side.dataDir);
  const speechUrl = kind === 'start' ? await parley.url('speech') : undefined;
  const { load, written, stop } = await startLoad(parley, speechUrl);
  await delay(seconds * 1000);
  await written(MIN_WRITES);
  const before = { jobs: new Set(load.jobs), users: new Map(load.users), files: new Map(load.files) };
  const acknowledgedBefore = load.writes;
  const startedAt = new Date().toISOString();
  const startedMs = performance.now();
  const { code, said } = await runParley(['backup', archive, '--models', '--verify'], {
    ...side.settings,
    data_dir: side.dataDir,
  });
  const backupMs = Math.round(performance.now() - startedMs);
  assert.equal(code, 0, said);
  assert.doesNotMatch(said, /Was gone/);
  assert.ok(load.writes > acknowledgedBefore, 'writers went on meanwhile');
  await written(load.writes + 10);
  await stop();
  return { before, startedAt, acknowledgedBefore, acknowledged: load.writes, backupMs };
};

const storesOf = ({ dataDir, settings }: Side): string[] => {
  const url = settings['storage.url'];
  if (url !== undefined && isPostgres(url)) return [url];
  return ['platform', 'speech'].map((name) => join(dataDir, `${name}.sqlite`)).filter((path) => existsSync(path));
};

/** Of each the upload must be there, which the restored service shows by finishing them. */
const countUnfinished = async (side: Side): Promise<number> => {
  let count = 0;
  for (const place of storesOf(side)) {
    await using snapshot = await openSnapshot(place);
    count += (await readReferences(snapshot)).uploads.length;
  }
  return count;
};

const ALL_ROWS = 'SELECT domain, kind, id, version, data FROM rows ORDER BY domain, kind, id';
const CHANGED = 'SELECT domain, kind, id, seq FROM feed';
const JOURNAL = 'SELECT domain, seq, dtutc, cmdtype, objtype, objid, fields, obj FROM journal ORDER BY domain, seq';
/** Written without being told of: sessions and bans, and the licence's counters. */
const isTold = ([domain, , id]: SnapshotRow): boolean => !String(domain).startsWith('$') && id !== 'license_ownership';

const all = async (snapshot: StoreSnapshot, sql: string): Promise<SnapshotRow[]> =>
  await Array.fromAsync(snapshot.rows(sql), (row) => row.map((value) => (value === null ? null : String(value))));

/** Items of classes change without being told of; those that were written before the backup began are held. */
const isOlder = ([, kind, , , data]: SnapshotRow, startedAt: string): boolean =>
  !String(kind).startsWith('model:') || (JSON.parse(String(data)) as { ext: { lwt: string } }).ext.lwt < startedAt;

/** Names the first that differs; all of them would be pages. */
const assertSame = (found: readonly SnapshotRow[], expected: readonly SnapshotRow[]): void => {
  const at = expected.findIndex((row, index) => JSON.stringify(row) !== JSON.stringify(found[index]));
  if (at >= 0) assert.deepEqual(found[at], expected[at]);
  assert.equal(found.length, expected.length);
};

/** Entries up to the backup's point, and rows that nothing changed since, are byte for byte the same in both. */
const compare = async (from: Side, to: Side, startedAt: string): Promise<{ rows: number; entries: number }> => {
  let rows = 0;
  let entries = 0;
  for (const [index, place] of storesOf(from).entries()) {
    await using was = await openSnapshot(place);
    await using is = await openSnapshot(storesOf(to)[index]!);
    const seqs = await readSeqs(is);
    const upTo = ([domain, seq]: SnapshotRow): boolean => Number(seq) <= (seqs[String(domain)] ?? 0);
    const told = (await all(was, JOURNAL)).filter(upTo);
    assertSame(await all(is, JOURNAL), told);
    entries += told.length;
    const keyOf = ([domain, kind, id]: SnapshotRow): string => `${domain} ${kind} ${id}`;
    const changed = new Set(
      (await all(was, CHANGED)).filter(([domain, , , seq]) => Number(seq) > (seqs[String(domain)] ?? 0)).map(keyOf),
    );
    const old = new Set((await all(was, ALL_ROWS)).filter((row) => isOlder(row, startedAt)).map(keyOf));
    const unchanged = (row: SnapshotRow): boolean => isTold(row) && !changed.has(keyOf(row)) && old.has(keyOf(row));
    const kept = (await all(was, ALL_ROWS)).filter(unchanged);
    assertSame((await all(is, ALL_ROWS)).filter(unchanged), kept);
    rows += kept.length;
  }
  return { rows, entries };
};

/** Starts it: everything that was acknowledged before the backup is there; answers how many files were read. */
const lookAround = async (side: Side, kind: LoadOptions['kind'], before: Pick<Load, 'jobs' | 'users' | 'files'>) => {
  await using parley = await startParley(kind, side.settings, side.dataDir);
  if (kind === 'start') await finishJobs(await parley.url('speech'), before.jobs);
  const admin = await parley.signIn();
  const url = await parley.url('platform');
  for (const id of before.users.keys()) await ok(admin.call('GET', `iam/users/${id}`));
  for (const id of before.files.keys()) {
    const item = await ok(admin.call('GET', `model/${CLASS}/${id}`));
    const { md5 } = item.doc as unknown as { md5: string };
    const file = await fetch(`${url}/rest/v1/model/${CLASS}/${id}/doc`, { headers: admin.headers });
    assert.deepEqual([file.status, file.headers.get('etag')], [200, `"${md5}"`]);
    await file.arrayBuffer();
  }
  return before.files.size;
};
