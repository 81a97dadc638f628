/** Times and counts by which a supervisor watches its nodes. */

export type Limits = {
  readonly heartbeatMs: number;
  /** Heartbeats without an answer after which a node is killed. */
  readonly missedHeartbeats: number;
  readonly firstBackOffMs: number;
  readonly lastBackOffMs: number;
  readonly crashLoopCount: number;
  /** Crashes older than this do not count; a node that crashed too often, or cannot start, rests so long. */
  readonly crashLoopWindowMs: number;
  /** What a node has to end when the supervisor ends or the plan drops it. */
  readonly stopGraceMs: number;
  /** What a node has to end when it shall be started anew. */
  readonly endGraceMs: number;
  readonly startTimeoutMs: number;
};

export const LIMITS: Limits = {
  heartbeatMs: 2000,
  missedHeartbeats: 3,
  firstBackOffMs: 100,
  lastBackOffMs: 10_000,
  crashLoopCount: 10,
  crashLoopWindowMs: 60_000,
  stopGraceMs: 35_000,
  endGraceMs: 10_000,
  // A first start may fetch a model before it serves.
  startTimeoutMs: 600_000,
};

/** Full jitter up to a doubling ceiling. `crashes`: within the window, this one included. */
export const backOffMs = (crashes: number, limits: Limits): number => {
  const ceilingMs = Math.min(limits.lastBackOffMs, limits.firstBackOffMs * 2 ** (crashes - 1));
  return Math.max(limits.firstBackOffMs / 2, Math.random() * ceilingMs);
};
