/** Stamps of writes: RFC 3339 UTC with six fractional digits, growing with every write of a row. */

/** A source of stamps; two calls never give the same one. Unix microseconds from the given clock. */
export const createStamper = (nowMs: () => number): ((after?: string) => string) => {
  let lastMicros = 0;
  return (after) => {
    const floor = Math.max(lastMicros, after === undefined ? 0 : toMicros(after));
    lastMicros = Math.max(Math.floor(nowMs() * 1000), floor + 1);
    return toStamp(lastMicros);
  };
};

const toMicros = (stamp: string): number => {
  const millis = Date.parse(stamp);
  return Number.isNaN(millis) ? 0 : Math.floor(millis / 1000) * 1_000_000 + Number(stamp.slice(20, 26).padEnd(6, '0'));
};

const toStamp = (micros: number): string => {
  const seconds = Math.floor(micros / 1_000_000);
  const fraction = String(micros - seconds * 1_000_000).padStart(6, '0');
  return `${new Date(seconds * 1000).toISOString().slice(0, 19)}.${fraction}Z`;
};
