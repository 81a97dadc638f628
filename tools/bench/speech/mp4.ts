/** Repeats an .m4a file: its sound goes in several times, and the tables of its one track are written anew (ISO 14496-12). */

const CONTAINERS = ['moov', 'trak', 'mdia', 'minf', 'stbl'];
/** Where a duration stands in boxes of version 0, from their start. */
const DURATION_AT: Readonly<Record<string, number>> = { mvhd: 24, tkhd: 28, mdhd: 24 };
/** Edits, tags and groups tell of the short file. */
const DROPPED = ['edts', 'udta', 'sgpd', 'sbgp'];
const HEAD_BYTES = 8;

type Box = { readonly type: string; readonly bytes: Buffer };

function* boxesOf(bytes: Buffer): Generator<Box> {
  for (let at = 0; at + HEAD_BYTES <= bytes.length; ) {
    const size = bytes.readUInt32BE(at);
    if (size < HEAD_BYTES) throw new Error('a box of the m4a file has no length');
    yield { type: bytes.toString('latin1', at + 4, at + 8), bytes: bytes.subarray(at, at + size) };
    at += size;
  }
}

const boxOf = (type: string, ...content: readonly Buffer[]): Buffer => {
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUInt32BE(HEAD_BYTES + content.reduce((sum, part) => sum + part.length, 0));
  head.write(type, 4, 'latin1');
  return Buffer.concat([head, ...content]);
};

const words = (...values: readonly number[]): Buffer => {
  const bytes = Buffer.alloc(4 * values.length);
  for (const [index, value] of values.entries()) bytes.writeUInt32BE(value, 4 * index);
  return bytes;
};

/** What follows the entry count of a table, `times` times; the count stands `at` bytes into the box. */
const repeatTable = ({ type, bytes }: Box, at: number, times: number): Buffer => {
  const entries = bytes.subarray(at + 4);
  const count = bytes.readUInt32BE(at) * times;
  return boxOf(type, bytes.subarray(HEAD_BYTES, at), words(count), ...Array<Buffer>(times).fill(entries));
};

type Sound = { readonly at: number; readonly bytes: number; readonly samples: number; readonly times: number };

const rewrite = (box: Box, sound: Sound): Buffer => {
  const { type, bytes } = box;
  const { times } = sound;
  if (DROPPED.includes(type)) return Buffer.alloc(0);
  if (CONTAINERS.includes(type))
    return boxOf(type, ...[...boxesOf(bytes.subarray(HEAD_BYTES))].map((inner) => rewrite(inner, sound)));
  if (type === 'stts') return repeatTable(box, 12, times);
  if (type === 'stsz') return repeatTable(box, 16, times);
  if (type === 'stsc') return boxOf(type, words(0, 1, 1, sound.samples, 1));
  if (type === 'stco')
    return boxOf(type, words(0, times, ...Array.from({ length: times }, (_, index) => sound.at + index * sound.bytes)));
  const durationAt = DURATION_AT[type];
  if (durationAt === undefined) return bytes;
  const longer = Buffer.from(bytes);
  longer.writeUInt32BE(bytes.readUInt32BE(durationAt) * times, durationAt);
  return longer;
};

const find = (bytes: Buffer, ...path: readonly string[]): Buffer =>
  path.reduce((inside, type, depth) => {
    const found = boxesOf(depth === 0 ? inside : inside.subarray(HEAD_BYTES)).find((box) => box.type === type);
    if (!found) throw new Error(`the m4a file has no ${type}`);
    return found.bytes;
  }, bytes);

/** The file `times` times over, with `moov` last as most programs write it. It has one track, whose sound lies in one piece. */
export const repeatMp4 = (file: Buffer, times: number): Buffer => {
  const table = find(file, 'moov', 'trak', 'mdia', 'minf', 'stbl');
  const sizes = boxesOf(table.subarray(HEAD_BYTES)).find(({ type }) => type === 'stsz')!.bytes;
  const samples = sizes.readUInt32BE(16);
  let length = 0;
  for (let index = 0; index < samples; index += 1) length += sizes.readUInt32BE(20 + 4 * index);
  const from = boxesOf(table.subarray(HEAD_BYTES))
    .find(({ type }) => type === 'stco')!
    .bytes.readUInt32BE(16);
  const type = find(file, 'ftyp');
  const sound = { at: type.length + HEAD_BYTES, bytes: length, samples, times };
  const media = boxOf('mdat', ...Array<Buffer>(times).fill(file.subarray(from, from + length)));
  return Buffer.concat([type, media, rewrite({ type: 'moov', bytes: find(file, 'moov') }, sound)]);
};
