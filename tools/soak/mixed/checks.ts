/** What must be true in the end: everything acknowledged is there, everything accepted is over and was told of. */

import { join } from 'node:path';
import { TERMINAL } from './follow.ts';
import type { KeptItem, KeptJob, KeptRow, Ledger } from './ledger.ts';
import { pause } from './load.ts';
import { countFiles } from './measure.ts';
import { CLASS } from './platform-files.ts';
import { type Asking, askRest } from './rest.ts';
import { askSpeech } from './speech-load.ts';
import type { Stage } from './stage.ts';

export type CheckContext = { readonly stage: Stage; readonly ledger: Ledger; readonly asking: Asking };

/** A line of the summary. */
export type Check = { readonly name: string; readonly isWell: boolean; readonly figures: string };

const SETTLE_MS = 180_000;
const LOOK_MS = 300;
const AT_ONCE = 4;

const eachOf = async <T>(all: Iterable<T>, act: (one: T) => Promise<void>): Promise<void> => {
  const left = [...all];
  const lane = async (): Promise<void> => {
    for (let one = left.pop(); one !== undefined; one = left.pop()) await act(one);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
};

const valuesOf = (opts: object): Set<number> =>
  new Set(Object.keys(opts).flatMap((name) => /^v(\d+)$/.exec(name)?.slice(1).map(Number) ?? []));

type Entry = { readonly cmdtype: string; readonly fields?: string };

const journalled = (entries: readonly Entry[]): Set<number> =>
  new Set(
    entries.flatMap(({ cmdtype, fields }) =>
      cmdtype === 'create' ? [0] : [...(fields ?? '').matchAll(/opts\.v(\d+)/g)].map((match) => Number(match[1])),
    ),
  );

/** What is wrong with a row; undefined when nothing is. */
const faultOfRow = (
  row: KeptRow,
  found: { readonly status: number; readonly body: { opts: object } },
  entries: readonly Entry[],
): string | undefined => {
  const told = journalled(entries);
  const isRemoved = entries.some(({ cmdtype }) => cmdtype === 'delete');
  for (const value of row.acknowledged) if (!told.has(value)) return 'an acknowledged write has no journal entry';
  if (found.status === 404) {
    if (row.state === 'made') return 'an acknowledged row is gone';
    if (entries.length > 0 && !isRemoved) return 'a row is gone without a journal entry';
    return undefined;
  }
  if (row.state === 'removed') return 'a removed row is there again';
  if (isRemoved) return 'a row is there although the journal removed it';
  return faultOfValues(row, valuesOf(found.body.opts), told);
};

const faultOfValues = (row: KeptRow, kept: ReadonlySet<number>, told: ReadonlySet<number>): string | undefined => {
  for (const value of row.acknowledged) if (!kept.has(value)) return 'an acknowledged value is gone';
  return kept.symmetricDifference(told).size > 0 ? 'row and journal differ' : undefined;
};

/** Every row with its journal. */
export const checkRows = async ({ ledger, asking }: CheckContext): Promise<Check> => {
  let [writes, faults] = [0, 0];
  await eachOf(ledger.rows, async (row) => {
    const path = `${row.path}/${row.id}`;
    const found = await askRest(asking, { what: 'check row', path, expect: [200, 404] });
    const params = encodeURIComponent(JSON.stringify({ objtype: row.path, objid: row.id }));
    const entries = await askRest(asking, {
      what: 'check journal',
      path: `journal/changes?params=${params}&limit=10000`,
    });
    if (!found || !entries) return ledger.fault('check row: no answer');
    const fault = faultOfRow(row, found, entries.body);
    if (fault !== undefined) ledger.fault(`${row.path}: ${fault}`);
    faults += fault === undefined ? 0 : 1;
    writes += row.acknowledged.size + (row.state === 'removed' ? 1 : 0);
  });
  const figures = `${writes} acknowledged writes of ${ledger.rows.length} rows, ${faults} lost or without entry`;
  return { name: 'rows and journal', isWell: faults === 0, figures };
};

const faultOfItem = (item: KeptItem, status: number, doc: { md5: string } | undefined): string | undefined => {
  if (status === 404) return item.state === 'made' ? 'an acknowledged item is gone' : undefined;
  if (item.state === 'removed') return 'a removed item is there again';
  if (item.md5s.includes(doc?.md5 ?? null)) return undefined;
  return doc === undefined ? 'an acknowledged file is gone' : 'another file than was put';
};

/** Whether it has a file, and what is wrong with it. */
const checkItem = async (asking: Asking, item: KeptItem): Promise<{ hasFile: boolean; fault: string | undefined }> => {
  const path = `model/${CLASS}/${item.id}`;
  const found = await askRest(asking, { what: 'check item', path, expect: [200, 404] });
  if (!found) return { hasFile: false, fault: 'no answer' };
  const doc = found.status === 200 ? (found.body.doc ?? undefined) : undefined;
  const fault = faultOfItem(item, found.status, doc);
  if (doc === undefined) return { hasFile: false, fault };
  const file = await askRest(asking, { what: 'check file', path: `${path}/doc` });
  const isSame = file?.headers.get('etag') === `"${doc.md5}"`;
  return { hasFile: true, fault: isSame ? fault : 'the file is not what its item says' };
};

/** Every item and its file, read to the end. */
export const checkItems = async ({ ledger, asking, stage }: CheckContext): Promise<Check> => {
  let [files, faults] = [0, 0];
  await eachOf(ledger.items, async (item) => {
    const { hasFile, fault } = await checkItem(asking, item);
    if (fault !== undefined) ledger.fault(`items: ${fault}`);
    faults += fault === undefined ? 0 : 1;
    files += hasFile ? 1 : 0;
  });
  // A kill between file and row leaves a file that no row names.
  const onDisk = countFiles(join(stage.dataDir, 'files'));
  const figures = `${ledger.items.length} items, ${files} files, ${faults} lost; ${onDisk - files} files more on the disk`;
  return { name: 'items and files', isWell: faults === 0, figures };
};

const settle = async (isOver: () => boolean | Promise<boolean>): Promise<boolean> => {
  const never = new AbortController().signal;
  const untilMs = performance.now() + SETTLE_MS;
  while (performance.now() < untilMs) {
    if (await isOver()) return true;
    await pause(LOOK_MS, never);
  }
  return false;
};

const faultOfJob = (
  job: KeptJob,
  status: string,
  body: { result?: { text?: string } },
  deliveries: readonly string[],
): string | undefined => {
  if (!['succeeded', 'canceled'].includes(status)) return `a job is ${status}`;
  if (job.status !== undefined && job.status !== status) return `a job was told ${job.status} and is ${status}`;
  if (status === 'succeeded' && !body.result?.text) return 'a job has no result';
  if (deliveries.length === 0) return 'a job was never delivered';
  return new Set(deliveries).size > 1 ? 'a job was delivered under several ids' : undefined;
};

/** Every accepted job is over, has its result and was delivered. */
export const checkJobs = async ({ ledger, asking, stage }: CheckContext): Promise<Check> => {
  const states = new Map<string, { status: string; body: { result?: { text?: string } } }>();
  const read = async (id: string): Promise<void> => {
    const answer = await askSpeech({ client: asking.client, stage }, { what: 'check job', path: `/api/v1/jobs/${id}` });
    if (answer?.status === 200) states.set(id, { status: answer.body.status, body: answer.body });
  };
  await settle(async () => {
    const open = [...ledger.jobs.keys()].filter((id) => !TERMINAL.includes(states.get(id)?.status ?? ''));
    await eachOf(open, read);
    const told = new Set(stage.receiver.received.map(({ job }) => job));
    return [...ledger.jobs.keys()].every((id) => TERMINAL.includes(states.get(id)?.status ?? '') && told.has(id));
  });
  const deliveries = Map.groupBy(stage.receiver.received, ({ job }) => job);
  let faults = 0;
  for (const job of ledger.jobs.values()) {
    const { status, body } = states.get(job.id) ?? { status: 'not found', body: {} };
    const fault = faultOfJob(
      job,
      status,
      body,
      (deliveries.get(job.id) ?? []).map(({ id }) => id),
    );
    if (fault !== undefined) ledger.fault(`jobs: ${fault}`);
    faults += fault === undefined ? 0 : 1;
  }
  const count = (wanted: string): number => [...states.values()].filter(({ status }) => status === wanted).length;
  const followed = [...ledger.jobs.values()].filter(({ isFollowed }) => isFollowed).length;
  const told = `${count('succeeded')} succeeded, ${count('canceled')} cancelled, ${followed} followed to the last event`;
  const repeated = stage.receiver.received.length - new Set(stage.receiver.received.map(({ id }) => id)).size;
  const figures = `${ledger.jobs.size} accepted: ${told}; ${deliveries.size} delivered, ${repeated} more than once; ${faults} lost`;
  return { name: 'jobs and callbacks', isWell: faults === 0, figures };
};

/** Every mail that was promised has arrived. */
export const checkMails = async ({ ledger, stage }: CheckContext): Promise<Check> => {
  const missing = (): string[] => {
    const arrived = new Set(stage.smtp.received.flatMap(({ to }) => to));
    return [...ledger.mails.keys()].filter((address) => !arrived.has(address));
  };
  const isWell = await settle(() => missing().length === 0);
  for (const _ of missing()) ledger.fault('mails: a promised mail never came');
  return { name: 'mails', isWell, figures: `${ledger.mails.size} promised, ${missing().length} missing` };
};
