/**
 * From Changes to Ops: what a driver writes, checked once for both. Documents travel as JSON text, because that is
 * what both databases keep and what is cheapest to hand to another thread. Text must be well-formed Unicode without
 * NUL: PostgreSQL cannot keep anything else, and both drivers have to agree.
 */
import { createHash } from 'node:crypto';
import { Problem } from '../problem.ts';
import type { Change, DomainChanges, JournalEntry } from './store.ts';

/** PostgreSQL refuses an index row over 2,704 bytes; the parts of one key stay well below it together. */
const MAX_NAME_BYTES = 512;
/** Unique values longer than this are kept as their digest. */
const MAX_PLAIN_VALUE_BYTES = 512;
/** One document or journal object, as JSON text. */
const MAX_DOCUMENT_BYTES = 32 * 1024 * 1024;
/** Changes of one commit. */
const MAX_CHANGES = 100_000;

const DIGEST_MARK = 'sha256=';
const ESCAPED_UNSTORABLE = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f][0-9a-f]{2})/;

export type JournalText = Omit<JournalEntry, 'obj'> & { readonly obj: string };

export type PutOp = {
  readonly op: 'put';
  readonly kind: string;
  readonly id: string;
  readonly json: string;
  readonly unique: readonly (readonly [name: string, value: string])[];
  readonly expect: number | undefined;
  readonly quiet: boolean;
};
export type DropOp = Omit<PutOp, 'op' | 'json' | 'unique'> & { readonly op: 'drop' };
export type GuardOp = Extract<Change, { op: 'check' | 'still' }>;
export type Op = PutOp | DropOp | GuardOp | { readonly op: 'journal'; readonly entry: JournalText } | WorkOp;
export type WorkOp = Extract<Change, { op: 'enqueue' | 'dequeue' | 'renew' }>;

/** The Problem of anything that cannot be kept; `param` names the part at fault. */
export const unstorable = (param: string, message: string, status = 400): Problem =>
  new Problem({ code: 'invalid_request', status, message, param });

/** Passes text that both databases can keep: well-formed Unicode, no NUL, at most `maxBytes` in UTF-8. */
export const checkText = (value: unknown, param: string, maxBytes = MAX_NAME_BYTES): string => {
  if (typeof value !== 'string') throw unstorable(param, `${param} must be text.`);
  if (value.includes('\0')) throw unstorable(param, `${param} must not contain the character U+0000.`);
  if (!value.isWellFormed()) throw unstorable(param, `${param} is not well-formed Unicode.`);
  // A UTF-16 unit is at most three bytes of UTF-8.
  if (value.length * 3 > maxBytes && Buffer.byteLength(value) > maxBytes) {
    throw unstorable(param, `${param} must be at most ${maxBytes} bytes long.`);
  }
  return value;
};

/** Whether text can be in the store at all; what cannot is simply not found. */
export const isStorable = (...texts: readonly string[]): boolean =>
  texts.every((text) => !text.includes('\0') && text.isWellFormed());

/** A safe whole number; anything else is a fault of the program or of input that was not checked. */
const checkNumber = (value: number, param: string): number => {
  if (!Number.isSafeInteger(value)) throw unstorable(param, `${param} must be a whole number.`);
  return value;
};

/** JSON text of a document. `undefined` members vanish and numbers that JSON does not know become null, as always. */
const toJsonText = (data: object, param: string): string => {
  const json = JSON.stringify(data);
  if (json === undefined || json[0] !== '{') throw unstorable(param, `${param} must be an object.`);
  if (json.includes('\\u') && ESCAPED_UNSTORABLE.test(json)) {
    throw unstorable(param, `${param} contains the character U+0000 or text that is not well-formed Unicode.`);
  }
  if (json.length * 3 > MAX_DOCUMENT_BYTES && Buffer.byteLength(json) > MAX_DOCUMENT_BYTES) {
    throw unstorable(param, `${param} must be at most ${MAX_DOCUMENT_BYTES} bytes of JSON.`, 413);
  }
  return json;
};

/** What is kept of a unique value: itself, or its digest when it is too long for an index. */
export const toKeyValue = (value: string, param: string): string => {
  checkText(value, param, MAX_DOCUMENT_BYTES);
  const isShort = value.length <= MAX_PLAIN_VALUE_BYTES / 3 || Buffer.byteLength(value) <= MAX_PLAIN_VALUE_BYTES;
  if (isShort && !value.startsWith(DIGEST_MARK)) return value;
  return `${DIGEST_MARK}${createHash('sha256').update(value).digest('base64url')}`;
};

const toRowOp = (change: Extract<Change, { op: 'put' | 'drop' }>): Op => {
  const kind = checkText(change.kind, 'kind');
  const id = checkText(change.id, 'id');
  const expect = change.expect === undefined ? undefined : checkNumber(change.expect, 'expect');
  const quiet = change.quiet === true;
  if (change.op === 'drop') return { op: 'drop', kind, id, expect, quiet };
  // In one order, so that the same keys make the same text.
  const names = Object.keys(change.unique ?? {}).sort();
  const unique = names.map((name) => [checkText(name, 'unique'), toKeyValue(change.unique![name]!, name)] as const);
  return { op: 'put', kind, id, json: toJsonText(change.data, 'data'), unique, expect, quiet };
};

const toGuardOp = (change: GuardOp): Op => {
  if (change.op === 'check') {
    const { kind, id, expect } = change;
    return {
      op: 'check',
      kind: checkText(kind, 'kind'),
      id: checkText(id, 'id'),
      expect: checkNumber(expect, 'expect'),
    };
  }
  return {
    op: 'still',
    kinds: change.kinds.map((kind) => checkText(kind, 'kind')),
    since: checkNumber(change.since, 'since'),
  };
};

const checkOptional = (value: string | null, param: string): string | null =>
  value === null ? null : checkText(value, param, MAX_DOCUMENT_BYTES);

const toJournalOp = (entry: JournalEntry): Op => ({
  op: 'journal',
  entry: {
    cmdtype: entry.cmdtype,
    dtutc: checkText(entry.dtutc, 'dtutc'),
    modifierid: checkText(entry.modifierid, 'modifierid'),
    modifiername: checkText(entry.modifiername, 'modifiername', MAX_DOCUMENT_BYTES),
    objtype: checkText(entry.objtype, 'objtype'),
    objid: entry.objid === null ? null : checkText(entry.objid, 'objid'),
    objkey: checkOptional(entry.objkey, 'objkey'),
    fields: checkOptional(entry.fields, 'fields'),
    obj: toJsonText(entry.obj, 'obj'),
    addr: checkOptional(entry.addr, 'addr'),
  },
});

const toWorkOp = (change: WorkOp): Op => {
  checkText(change.queue, 'queue');
  checkText(change.id, 'id');
  if (change.owner !== undefined) checkText(change.owner, 'owner');
  if (change.op === 'enqueue') {
    checkText(change.share, 'share');
    checkNumber(change.priority, 'priority');
    checkNumber(change.readyAtMs, 'readyAtMs');
  }
  if (change.op === 'renew') checkNumber(change.untilMs, 'untilMs');
  return change;
};

/** Checks and flattens the changes of one commit. Throws a Problem naming the part that cannot be kept. */
export const toOps = (domain: string, changes: readonly Change[]): Op[] => {
  checkText(domain, 'domain');
  if (changes.length > MAX_CHANGES) {
    throw unstorable('changes', `A commit may hold at most ${MAX_CHANGES} changes.`, 413);
  }
  return changes.map((change) => {
    if (change.op === 'put' || change.op === 'drop') return toRowOp(change);
    if (change.op === 'check' || change.op === 'still') return toGuardOp(change);
    if (change.op === 'journal') return toJournalOp(change.entry);
    return toWorkOp(change);
  });
};

export type DomainOps = { readonly domain: string; readonly ops: readonly Op[] };

/** The same for further domains of the commit. No domain may stand in one commit twice. */
export const toAlsoOps = (domain: string, also: readonly DomainChanges[]): DomainOps[] => {
  const names = new Set([domain, ...also.map((part) => part.domain)]);
  if (names.size !== also.length + 1) throw new Error('a domain stands in one commit twice');
  return also.map((part) => ({ domain: part.domain, ops: toOps(part.domain, part.changes) }));
};

/** The last write of every row in a commit: it alone says which unique keys the row holds afterwards. */
export const lastWrites = (ops: readonly Op[]): Map<string, PutOp | DropOp> => {
  const last = new Map<string, PutOp | DropOp>();
  for (const op of ops) if (op.op === 'put' || op.op === 'drop') last.set(`${op.kind}\0${op.id}`, op);
  return last;
};
