/** Writes protocol buffers (protobuf.dev/programming-guides/encoding): as much as an ONNX file needs. */

/** Encoded fields, in pieces so that large ones are never copied. */
export type Message = readonly Uint8Array[];

const WIRE_VARINT = 0;
const WIRE_BYTES = 2;

/** Not negative, below 2^53. */
const varint = (value: number): Uint8Array => {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) | 0x80);
  bytes.push(rest);
  return Uint8Array.from(bytes);
};

const sizeOf = (message: Message): number => message.reduce((sum, piece) => sum + piece.length, 0);

/** A field of one number; negative ones take ten bytes, as int64 does. */
export const int = (field: number, value: number): Message => {
  const key = varint(field * 8 + WIRE_VARINT);
  if (value >= 0) return [key, varint(value)];
  const bytes = new Uint8Array(10);
  let rest = BigInt.asUintN(64, BigInt(value));
  for (let index = 0; index < 10; index += 1) {
    bytes[index] = Number(rest & 0x7fn) | (index < 9 ? 0x80 : 0);
    rest >>= 7n;
  }
  return [key, bytes];
};

/** A field of bytes, which are not copied. */
export const blob = (field: number, bytes: Uint8Array): Message => [
  varint(field * 8 + WIRE_BYTES),
  varint(bytes.length),
  bytes,
];

export const text = (field: number, value: string): Message => blob(field, Buffer.from(value));

/** A field whose value is a message of these fields. */
export const nested = (field: number, ...parts: readonly Message[]): Message => {
  const content = parts.flat();
  return [varint(field * 8 + WIRE_BYTES), varint(sizeOf(content)), ...content];
};
