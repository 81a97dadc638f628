/** The last stretch of a session's audio, by absolute place, so that a turn can begin before it was noticed. */

export type Recent = {
  push(samples: Int16Array): void;
  /** What lies between two places (samples since the session began), as far back as it is kept. */
  between(from: number, to: number): Int16Array;
  /** Place behind the last sample. */
  readonly end: number;
  /** Forgets everything; places go on. */
  clear(): void;
  /** Keeps so many samples from now on. */
  keep(samples: number): void;
};

export const createRecent = (): Recent => {
  let keepSamples = 0;
  let held: Int16Array[] = [];
  let heldSamples = 0;
  let end = 0;
  return {
    push: (samples) => {
      held.push(samples);
      heldSamples += samples.length;
      end += samples.length;
      while (held.length > 0 && heldSamples - held[0]!.length >= keepSamples) heldSamples -= held.shift()!.length;
    },
    between: (from, to) => {
      const last = held.at(-1);
      // Nearly always it is what came last.
      const isLast = last !== undefined && from >= end - last.length;
      const samples = isLast ? last : joinSamples(held);
      const first = end - samples.length;
      return samples.subarray(Math.max(0, from - first), Math.max(0, to - first));
    },
    get end() {
      return end;
    },
    keep: (samples) => {
      keepSamples = samples;
    },
    clear: () => {
      held = [];
      heldSamples = 0;
    },
  };
};

/** One array out of many. */
export const joinSamples = (parts: readonly Int16Array[]): Int16Array => {
  if (parts.length === 1) return parts[0]!;
  const joined = new Int16Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
};
