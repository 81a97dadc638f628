/** Random weights that are the same on every machine (Marsaglia 2003, xorshift32). */
export type Random = {
  /** Evenly spread over -limit … limit. */
  floats(count: number, limit: number): Float32Array;
  /** Bytes of 8-bit integers, evenly spread. */
  int8s(count: number): Uint8Array;
};

/** `seed` is not 0. */
export const createRandom = (seed: number): Random => {
  let state = seed | 0;
  const next = (): number => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state;
  };
  return {
    floats: (count, limit) => Float32Array.from({ length: count }, () => (next() / 2 ** 31) * limit),
    int8s: (count) => {
      const words = new Int32Array(Math.ceil(count / 4));
      for (let index = 0; index < words.length; index += 1) words[index] = next();
      return new Uint8Array(words.buffer, 0, count);
    },
  };
};
