/** A streaming decoder, as the @audio/decode-* packages make them. */

/** What the @audio/decode-* packages give back for one piece of input. */
export type Decoded = {
  readonly channelData: readonly Float32Array[];
  readonly sampleRate: number;
  /** Samples that count, where a decoder hands out longer arrays. */
  readonly samplesDecoded?: number;
};

/** A streaming decoder as these packages make it. */
export type Codec = {
  decode(bytes: Uint8Array): Decoded | Promise<Decoded>;
  flush?(): Decoded | Promise<Decoded>;
  /** What the decoder still holds behind `flush`; nothing when it holds nothing. */
  drain?(): Decoded;
  free?(): void;
};
