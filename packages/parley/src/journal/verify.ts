/**
 * Whether a store's journal can be trusted, as far as the store itself can tell: every sequence number was used once, and
 * what the newest entry of each object says is how its row is.
 */
import type { StoreSnapshot } from '@parley/kit/store/snapshot.ts';

export type JournalReport = {
  readonly domains: number;
  readonly entries: number;
  /** Objects whose newest entry was held against their row. */
  readonly objects: number;
  /** Sentences; empty when all is well. At most `MAX_FAULTS`. */
  readonly faults: readonly string[];
};

const MAX_FAULTS = 100;
/** Told of in the journal, but kept in a row of another kind. */
const WITHOUT_ROW: ReadonlySet<string> = new Set(['license']);
const STAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;

const NUMBERS = `
  SELECT domain, seq, dtutc FROM journal UNION ALL SELECT domain, seq, NULL FROM feed ORDER BY domain, seq`;
const COUNTERS = `
  SELECT d.domain, d.seq, d.feed_gone, (SELECT min(seq) FROM journal j WHERE j.domain = d.domain) FROM domains d`;
/** Rows of a domain that was removed went with it; its journal stays. */
const OBJECTS = `
  SELECT j.domain, j.seq, j.objtype, j.objid, j.cmdtype, j.obj, r.version, r.data
  FROM journal j LEFT JOIN rows r ON r.domain = j.domain AND r.kind = j.objtype AND r.id = j.objid
  WHERE j.objid IS NOT NULL AND EXISTS (SELECT 1 FROM rows x WHERE x.domain = j.domain)
  ORDER BY j.domain, j.objtype, j.objid, j.seq`;
const LOST_KEYS = `
  SELECT u.domain, u.kind, u.id, u.name FROM uniques u
  LEFT JOIN rows r ON r.domain = u.domain AND r.kind = u.kind AND r.id = u.id WHERE r.id IS NULL`;

type Tell = (fault: string) => void;

/** Reads the whole journal once, in order, without holding it. */
export const verifyJournal = async (snapshot: StoreSnapshot): Promise<JournalReport> => {
  const faults: string[] = [];
  const tell: Tell = (fault) => {
    if (faults.length < MAX_FAULTS) faults.push(fault);
  };
  const { domains, entries } = await verifyNumbers(snapshot, tell);
  const objects = await verifyObjects(snapshot, tell);
  for await (const [domain, kind, id, name] of snapshot.rows(LOST_KEYS)) {
    tell(`${domain}: the key ${name} belongs to ${kind} ${id}, which is not there.`);
  }
  return { domains, entries, objects, faults };
};

type Counter = {
  readonly seq: number;
  /** Numbers up to here may be missing. */
  readonly kept: number;
  /** The number read last. */
  last: number;
};

/**
 * Each change that is told and each entry of the journal takes one number. Below what the feed still holds, and below
 * the oldest entry that retention left, numbers may be missing.
 */
const verifyNumbers = async (snapshot: StoreSnapshot, tell: Tell): Promise<{ domains: number; entries: number }> => {
  const counters = await readCounters(snapshot);
  let entries = 0;
  for await (const [name, number, dtutc] of snapshot.rows(NUMBERS)) {
    const [domain, seq] = [String(name), Number(number)];
    if (dtutc !== null) {
      entries += 1;
      if (!STAMP.test(String(dtutc))) tell(`${domain}: entry ${seq} has the time ${dtutc}.`);
    }
    const counter = counters.get(domain);
    if (counter) follow(domain, counter, seq, tell);
    else tell(`${domain}: entry ${seq} is of a domain that never was.`);
  }
  for (const [domain, { seq, kept, last }] of counters) {
    if (Math.max(last, kept) < seq) tell(`${domain}: ends with number ${last}; ${seq} was the last one given.`);
  }
  return { domains: counters.size, entries };
};

const readCounters = async (snapshot: StoreSnapshot): Promise<Map<string, Counter>> => {
  const counters = new Map<string, Counter>();
  for await (const [domain, seq, gone, oldest] of snapshot.rows(COUNTERS)) {
    const kept = Math.max(Number(gone), Number(oldest ?? 1) - 1);
    counters.set(String(domain), { seq: Number(seq), kept, last: 0 });
  }
  return counters;
};

const follow = (domain: string, counter: Counter, seq: number, tell: Tell): void => {
  const expected = Math.max(counter.last, counter.kept) + 1;
  if (seq > counter.seq) tell(`${domain}: number ${seq} was never given; ${counter.seq} was the last.`);
  else if (seq === counter.last) tell(`${domain}: number ${seq} stands twice.`);
  else if (seq > expected) tell(`${domain}: numbers ${expected} to ${seq - 1} are missing.`);
  counter.last = seq;
};

type Newest = {
  readonly what: string;
  readonly key: string;
  readonly objtype: string;
  readonly cmdtype: string;
  readonly obj: string;
  readonly version: unknown;
  readonly data: unknown;
};

const verifyObjects = async (snapshot: StoreSnapshot, tell: Tell): Promise<number> => {
  let objects = 0;
  let newest: Newest | undefined;
  const close = (): void => {
    if (newest === undefined) return;
    objects += 1;
    const fault = faultOf(newest);
    if (fault !== undefined) tell(`${newest.what}: ${fault}`);
  };
  for await (const [domain, seq, objtype, objid, cmdtype, obj, version, data] of snapshot.rows(OBJECTS)) {
    const key = `${domain}\n${objtype}\n${objid}`;
    if (newest?.key !== key) close();
    const what = `${domain}: ${objtype} ${objid} by entry ${seq}`;
    newest = { what, key, objtype: String(objtype), cmdtype: String(cmdtype), obj: String(obj), version, data };
  }
  close();
  return objects;
};

const faultOf = ({ objtype, cmdtype, obj, version, data }: Newest): string | undefined => {
  const told = parse(obj);
  if (told === undefined) return 'cannot be read.';
  if (WITHOUT_ROW.has(objtype)) return undefined;
  if (cmdtype === 'delete') return version === null ? undefined : 'was removed and is there.';
  if (version === null) return 'is not there.';
  const row = parse(String(data));
  if (row === undefined) return 'has a row that cannot be read.';
  const [told_, kept] = [lastWriteOf(told), lastWriteOf(row)];
  return told_ === undefined || told_ === kept ? undefined : `was written at ${told_}, its row at ${kept}.`;
};

const parse = (text: string): Record<string, unknown> | undefined => {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return undefined;
  }
};

const lastWriteOf = ({ ext }: Record<string, unknown>): unknown => (ext as { lwt?: unknown } | undefined)?.lwt;
