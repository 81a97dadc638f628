/** Which files the rows of a snapshot name, so that a backup can be held against them. */
import type { SnapshotRow, StoreSnapshot } from '@parley/kit/store/snapshot.ts';
import { isTerminal, type JobRow } from '@parley/speech/jobs/job.ts';
import { DOMAIN, KIND } from '@parley/speech/jobs/records.ts';

export type References = {
  /** Jobs whose uploads must still be there. */
  readonly uploads: readonly string[];
  /** Of whatever storage. */
  readonly attached: readonly Attached[];
};

export type Attached = {
  readonly domain: string;
  readonly classId: string;
  /** `DOMAIN/CLASS/ITEM/PROPERTY/MD5`. */
  readonly path: string;
  /** Bytes. */
  readonly size: number;
};

/** Rows of items of model classes, as platform/model/model-class.ts names their kind. */
const ITEM_KIND = 'model:';

const UPLOADS = `SELECT data FROM rows WHERE domain = '${DOMAIN}' AND kind = '${KIND.job}'`;
const ATTACHED = `
  SELECT domain, kind, id, data FROM rows
  WHERE kind LIKE '${ITEM_KIND}%' AND CAST(data AS text) LIKE '%"md5"%'`;

/** Reads them; takes time in proportion to the jobs and the items with files. */
export const readReferences = async (snapshot: StoreSnapshot): Promise<References> => {
  const uploads: string[] = [];
  for await (const [data] of snapshot.rows(UPLOADS)) {
    const job = JSON.parse(String(data)) as JobRow;
    if (!isTerminal(job.status)) uploads.push(job.id);
  }
  const attached: Attached[] = [];
  for await (const row of snapshot.rows(ATTACHED)) attached.push(...attachedOf(row));
  return { uploads, attached };
};

const attachedOf = ([domain, kind, id, data]: SnapshotRow): Attached[] => {
  const item = JSON.parse(String(data)) as Record<string, unknown>;
  const classId = String(kind).slice(ITEM_KIND.length);
  const folder = `${domain}/${classId}/${id}`;
  return Object.entries(item).flatMap(([property, value]) => {
    const { md5, size } = (value ?? {}) as { md5?: unknown; size?: unknown };
    const isFile = typeof md5 === 'string' && typeof size === 'number';
    return isFile ? [{ domain: String(domain), classId, path: `${folder}/${property}/${md5}`, size }] : [];
  });
};

/** The newest sequence number of each domain. */
export const readSeqs = async (snapshot: StoreSnapshot): Promise<Record<string, number>> => {
  const seqs: Record<string, number> = {};
  for await (const [domain, seq] of snapshot.rows('SELECT domain, seq FROM domains ORDER BY domain')) {
    seqs[String(domain)] = Number(seq);
  }
  return seqs;
};
