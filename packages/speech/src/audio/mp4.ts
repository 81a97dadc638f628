/**
 * MP4 and its kin as the streaming decoder wants them: a view of the file with `moov` in front of the samples. Nothing
 * is copied to disk: only `moov` is held, its chunk offsets moved (stco, co64: ISO/IEC 14496-12 §8.7.5). Tables that
 * promise more than they hold are refused before the decoder would allocate for them.
 */
import { problem } from '../core/codes.ts';
import type { ByteSource } from './source.ts';

/** A four-hour recording needs about 3 MB of tables; films with many tracks some more. */
const MAX_MOOV_BYTES = 48 * 1024 * 1024;
const MAX_BOXES = 100_000;
/** Samples of one track; frames of 1024 at 48 kHz for 24 hours, and PCM that counts each sample for a quarter hour. */
const MAX_TRACK_SAMPLES = 40_000_000;
const CONTAINERS = new Set(['moov', 'trak', 'mdia', 'minf', 'stbl']);

const invalid = (message: string) => problem('invalid_audio', message, { param: 'file' });

type Box = { readonly type: string; readonly at: number; readonly size: number; readonly header: number };

const boxAt = (view: DataView, at: number, fileAt: number, end: number): Box | undefined => {
  if (at + 8 > view.byteLength) return undefined;
  const type = String.fromCharCode(...new Uint8Array(view.buffer, view.byteOffset + at + 4, 4));
  const small = view.getUint32(at);
  if (small === 0) return { type, at: fileAt, size: end - fileAt, header: 8 };
  if (small !== 1) return { type, at: fileAt, size: small, header: 8 };
  if (at + 16 > view.byteLength) return undefined;
  return { type, at: fileAt, size: Number(view.getBigUint64(at + 8)), header: 16 };
};

/** The top-level boxes in order; a last one that the file cuts short is among them. */
const topBoxes = async (source: ByteSource): Promise<Box[]> => {
  const boxes: Box[] = [];
  for (let at = 0; at + 8 <= source.sizeBytes && boxes.length < MAX_BOXES; ) {
    const bytes = await source.read(at, 16);
    const box = boxAt(new DataView(bytes.buffer), 0, at, source.sizeBytes);
    if (box === undefined || box.size < box.header) break;
    boxes.push(box);
    at += box.size;
  }
  return boxes;
};

/** Calls back for each box inside moov's containers, with the place of its body. */
const walk = (
  view: DataView,
  from: number,
  to: number,
  visit: (type: string, at: number, end: number) => void,
): void => {
  for (let at = from; at + 8 <= to; ) {
    const box = boxAt(view, at, at, to);
    if (box === undefined || box.size < box.header || at + box.size > to) return;
    visit(box.type, at + box.header, at + box.size);
    if (CONTAINERS.has(box.type)) walk(view, at + box.header, at + box.size, visit);
    at += box.size;
  }
};

/** Bytes of one entry, by table; `stsz` has none when all samples are of one size. */
const ENTRY_BYTES: Readonly<Record<string, number>> = { stco: 4, co64: 8, stsc: 12, stts: 8, stsz: 4 };

const checkTable = (view: DataView, type: string, at: number, end: number): void => {
  const entry = ENTRY_BYTES[type];
  if (entry === undefined) return;
  const lead = type === 'stsz' ? 12 : 8;
  if (at + lead > end) throw invalid(`The ${type} table of the file is too short.`);
  const count = view.getUint32(at + lead - 4);
  if (type === 'stsz' && view.getUint32(at + 4) !== 0) {
    if (count > MAX_TRACK_SAMPLES) throw invalid(`The file says a track has ${count} samples.`);
  } else if (at + lead + count * entry > end) throw invalid(`The ${type} table of the file is cut short.`);
};

const moveOffsets = (view: DataView, type: string, at: number, moved: (place: number) => number): void => {
  const count = view.getUint32(at + 4);
  for (let i = 0; i < count; i++) {
    if (type === 'stco') view.setUint32(at + 8 + 4 * i, moved(view.getUint32(at + 8 + 4 * i)));
    else view.setBigUint64(at + 8 + 8 * i, BigInt(moved(Number(view.getBigUint64(at + 8 + 8 * i)))));
  }
};

/** `first` in front of the file's bytes, which lack `first.length` bytes from `cutAt` on. */
const spliced = (source: ByteSource, first: Uint8Array, cutAt: number): ByteSource => ({
  sizeBytes: source.sizeBytes,
  async read(at, length) {
    if (at < first.length) return first.slice(at, at + length);
    const place = at - first.length;
    if (place < cutAt) return source.read(place, Math.min(length, cutAt - place));
    return source.read(at, length);
  },
});

export type StreamableMp4 = {
  readonly source: ByteSource;
  /** The first piece a decoder should be fed: up to the end of `moov`. */
  readonly headBytes: number;
  /** True when the file ends before its last box does. */
  readonly truncated: boolean;
};

/** A view of an MP4 file that can be decoded from front to back. Problems: invalid_audio. */
export const streamableMp4 = async (source: ByteSource): Promise<StreamableMp4> => {
  const boxes = await topBoxes(source);
  const moov = boxes.find((box) => box.type === 'moov');
  const last = boxes.at(-1);
  const truncated = last !== undefined && last.at + last.size > source.sizeBytes;
  if (moov === undefined || moov.at + moov.size > source.sizeBytes)
    throw invalid('The file broke off before its index (moov); nothing in it can be decoded.');
  if (moov.size > MAX_MOOV_BYTES) throw invalid(`The index (moov) of the file is larger than ${MAX_MOOV_BYTES} bytes.`);
  const bytes = await source.read(moov.at, moov.size);
  const view = new DataView(bytes.buffer);
  walk(view, 0, bytes.length, (type, at, end) => checkTable(view, type, at, end));
  const mdat = boxes.find((box) => box.type === 'mdat');
  if (mdat === undefined || mdat.at > moov.at)
    // fits already
    return { source, headBytes: moov.at + moov.size, truncated };
  // What lay before moov moves back by its length; what lay behind it stays.
  const moved = (place: number): number => (place < moov.at ? place + moov.size : place);
  walk(view, 0, bytes.length, (type, at) => {
    if (type === 'stco' || type === 'co64') moveOffsets(view, type, at, moved);
  });
  return { source: spliced(source, bytes, moov.at), headBytes: moov.size, truncated };
};
