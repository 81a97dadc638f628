/** Repeats an Ogg Opus file: pages of sound again with times, numbers and checksums of their own (RFC 3533 §6, RFC 7845). */

const HEADER_PAGES = 2;
const [TYPE_AT, GRANULE_AT, NUMBER_AT, CHECKSUM_AT, SEGMENTS_AT] = [5, 6, 18, 22, 26];
const LAST_PAGE = 4;

const createChecksum = (): ((bytes: Buffer) => number) => {
  const table = Uint32Array.from({ length: 256 }, (_, byte) => {
    let rest = byte << 24;
    for (let bit = 0; bit < 8; bit += 1) rest = rest & 0x80000000 ? (rest << 1) ^ 0x04c11db7 : rest << 1;
    return rest >>> 0;
  });
  return (bytes) => {
    let sum = 0;
    for (const byte of bytes) sum = ((sum << 8) ^ table[((sum >>> 24) ^ byte) & 0xff]!) >>> 0;
    return sum;
  };
};

function* pagesOf(file: Buffer): Generator<Buffer> {
  for (let at = 0; at + SEGMENTS_AT < file.length; ) {
    const segments = file[at + SEGMENTS_AT]!;
    const table = file.subarray(at + SEGMENTS_AT + 1, at + SEGMENTS_AT + 1 + segments);
    const size = SEGMENTS_AT + 1 + segments + table.reduce((sum, length) => sum + length, 0);
    yield file.subarray(at, at + size);
    at += size;
  }
}

/** The file's sound `times` times over. */
export const repeatOpus = (file: Buffer, times: number): Buffer => {
  const checksum = createChecksum();
  const pages = [...pagesOf(file)];
  const sound = pages.slice(HEADER_PAGES);
  const length = sound.at(-1)!.readBigUInt64LE(GRANULE_AT);
  const written: Buffer[] = pages.slice(0, HEADER_PAGES);
  for (let round = 0; round < times; round += 1) {
    for (const original of sound) {
      const page = Buffer.from(original);
      page.writeBigUInt64LE(original.readBigUInt64LE(GRANULE_AT) + BigInt(round) * length, GRANULE_AT);
      page.writeUInt32LE(written.length, NUMBER_AT);
      if (round < times - 1) page[TYPE_AT] = page[TYPE_AT]! & ~LAST_PAGE;
      page.writeUInt32LE(0, CHECKSUM_AT);
      page.writeUInt32LE(checksum(page), CHECKSUM_AT);
      written.push(page);
    }
  }
  return Buffer.concat(written);
};
