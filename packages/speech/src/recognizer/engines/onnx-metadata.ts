/**
 * Reads the few facts of an ONNX file that decide whether sherpa-onnx can be let near it: sherpa-onnx ends the process
 * on junk and on missing metadata. Only the outer message (onnx.proto, ModelProto) is walked; the graph is skipped by
 * its length, which also shows a truncated file.
 */
import { type FileHandle, open } from 'node:fs/promises';
import { EngineRefusal } from './engine.ts';

export type OnnxFacts = {
  /** metadata_props of the model. */
  readonly metadata: ReadonlyMap<string, string>;
  /** Version of the default operator set. */
  readonly opset: number | undefined;
};

type Field = { readonly number: number; readonly wire: number; readonly at: number; readonly length: number };

const WIRE_VARINT = 0;
const WIRE_FIXED64 = 1;
const WIRE_BYTES = 2;
const WIRE_FIXED32 = 5;

const MODEL_GRAPH = 7;
const MODEL_OPSET_IMPORT = 8;
const MODEL_METADATA_PROPS = 14;
const OPSET_DOMAIN = 1;
const OPSET_VERSION = 2;
const ENTRY_KEY = 1;
const ENTRY_VALUE = 2;

const MAX_OUTER_FIELDS = 10_000;
const MAX_SMALL_FIELD_BYTES = 16 * 2 ** 20;
const MAX_VARINT_BYTES = 10;
const HEAD_BYTES = 2 * MAX_VARINT_BYTES;

const isOwnDomain = (domain: string): boolean => domain === '' || domain === 'ai.onnx';

/** The varint at `at` and where it ends, or undefined when the bytes end first. Values stay below 2^53. */
const readVarint = (bytes: Uint8Array, at: number): { value: number; end: number } | undefined => {
  let value = 0;
  for (let index = 0; index < MAX_VARINT_BYTES && at + index < bytes.length; index += 1) {
    const byte = bytes[at + index]!;
    value += (byte & 0x7f) * 2 ** (7 * index);
    if (byte < 0x80) return { value, end: at + index + 1 };
  }
  return undefined;
};

/** The field whose head lies at the start of `head`; `at` and `length` are of its content, from the head's start. */
const readField = (head: Uint8Array): Field | undefined => {
  const tag = readVarint(head, 0);
  if (!tag || tag.value < 8) return undefined;
  const number = Math.floor(tag.value / 8);
  const wire = tag.value % 8;
  if (wire === WIRE_FIXED64) return { number, wire, at: tag.end, length: 8 };
  if (wire === WIRE_FIXED32) return { number, wire, at: tag.end, length: 4 };
  const next = readVarint(head, tag.end);
  if (!next) return undefined;
  if (wire === WIRE_VARINT) return { number, wire, at: tag.end, length: next.end - tag.end };
  return wire === WIRE_BYTES ? { number, wire, at: next.end, length: next.value } : undefined;
};

/** The fields of a small message that lies in memory. */
const readMessage = (bytes: Uint8Array): { number: number; content: Uint8Array }[] | undefined => {
  const fields: { number: number; content: Uint8Array }[] = [];
  for (let at = 0; at < bytes.length; ) {
    const field = readField(bytes.subarray(at));
    if (!field || at + field.at + field.length > bytes.length) return undefined;
    const start = at + field.at;
    fields.push({ number: field.number, content: bytes.subarray(start, start + field.length) });
    at = start + field.length;
  }
  return fields;
};

const textOf = (fields: readonly { number: number; content: Uint8Array }[], number: number): string => {
  const found = fields.findLast((field) => field.number === number);
  return found ? Buffer.from(found.content).toString('utf8') : '';
};

const readAt = async (file: FileHandle, position: number, length: number): Promise<Uint8Array> => {
  const bytes = Buffer.alloc(length);
  const { bytesRead } = await file.read(bytes, 0, length, position);
  return bytes.subarray(0, bytesRead);
};

type Found = { metadata: Map<string, string>; opset: number | undefined; graphs: number };

const takeSmallField = (found: Found, number: number, content: Uint8Array): boolean => {
  const fields = readMessage(content);
  if (!fields) return false;
  if (number === MODEL_METADATA_PROPS) found.metadata.set(textOf(fields, ENTRY_KEY), textOf(fields, ENTRY_VALUE));
  if (number === MODEL_OPSET_IMPORT && isOwnDomain(textOf(fields, OPSET_DOMAIN))) {
    const version = fields.find((field) => field.number === OPSET_VERSION);
    found.opset = version && readVarint(version.content, 0)?.value;
  }
  return true;
};

/** The outer message's fields one by one, `at` counted from the start of the file. */
async function* outerFields(file: FileHandle, sizeBytes: number, name: string): AsyncGenerator<Field> {
  for (let count = 0, at = 0; at < sizeBytes; count += 1) {
    const field = count < MAX_OUTER_FIELDS ? readField(await readAt(file, at, HEAD_BYTES)) : undefined;
    if (!field) throw new EngineRefusal(`${name} is not an ONNX model`);
    const start = at + field.at;
    // Junk rarely opens with the field every exporter writes first, so a wrong first field is junk, not a stump.
    if (start + field.length > sizeBytes) {
      throw new EngineRefusal(count === 0 ? `${name} is not an ONNX model` : `${name} is truncated`);
    }
    yield { ...field, at: start };
    at = start + field.length;
  }
}

const walk = async (file: FileHandle, sizeBytes: number, name: string): Promise<Found> => {
  const found: Found = { metadata: new Map(), opset: undefined, graphs: 0 };
  for await (const field of outerFields(file, sizeBytes, name)) {
    if (field.number === MODEL_GRAPH) found.graphs += 1;
    if (field.number !== MODEL_METADATA_PROPS && field.number !== MODEL_OPSET_IMPORT) continue;
    const whole = field.wire === WIRE_BYTES && field.length <= MAX_SMALL_FIELD_BYTES;
    if (!whole || !takeSmallField(found, field.number, await readAt(file, field.at, field.length))) {
      throw new EngineRefusal(`${name} is not an ONNX model`);
    }
  }
  return found;
};

/** Reads an ONNX file's metadata. Throws EngineRefusal that names the file when it is missing, junk or truncated. */
export const readOnnxFacts = async (path: string, name: string): Promise<OnnxFacts> => {
  const file = await open(path, 'r').catch((cause: NodeJS.ErrnoException) => {
    throw new EngineRefusal(`${name} cannot be read (${cause.code})`);
  });
  try {
    const { size } = await file.stat();
    if (size === 0) throw new EngineRefusal(`${name} is empty`);
    const found = await walk(file, size, name);
    if (found.graphs === 0) throw new EngineRefusal(`${name} is not an ONNX model`);
    return { metadata: found.metadata, opset: found.opset };
  } finally {
    await file.close();
  }
};
