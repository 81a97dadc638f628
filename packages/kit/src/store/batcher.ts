/**
 * Group commit: what is submitted while a batch runs goes into the next one, so that many writers share one disk sync.
 * One batch runs at a time.
 */

export type Batcher<Request, Outcome> = {
  submit(request: Request): Promise<Outcome>;
  /** Resolves when nothing waits and nothing runs. */
  drained(): Promise<void>;
};

type Waiting<Request, Outcome> = {
  readonly request: Request;
  resolve(outcome: Outcome): void;
  reject(error: unknown): void;
};

/** Requests of one batch; bounds how long the last waits for the first. */
const MAX_BATCH = 256;
/** Longest time an idle batcher waits for companions, and the share of the last batch's time it may take. */
const MAX_GATHER_MS = 3;
const GATHER_SHARE = 0.5;

/** `run` answers one outcome for each request, in order; when it rejects, every request of the batch does. */
export const createBatcher = <Request, Outcome>(
  run: (requests: readonly Request[]) => Promise<readonly Outcome[]>,
): Batcher<Request, Outcome> => {
  let waiting: Waiting<Request, Outcome>[] = [];
  let isBusy = false;
  // What the last round showed: how many writers are about, and what a batch costs.
  let expected = 1;
  let lastMs = 0;
  let onFull: (() => void) | undefined;
  const idle: (() => void)[] = [];

  const runBatch = async (batch: readonly Waiting<Request, Outcome>[]): Promise<void> => {
    const startedAt = performance.now();
    try {
      const outcomes = await run(batch.map((each) => each.request));
      batch.forEach((each, index) => {
        each.resolve(outcomes[index]!);
      });
    } catch (error) {
      for (const each of batch) each.reject(error);
    }
    lastMs = performance.now() - startedAt;
    // All who wrote in this round are likely to come again: those answered now and those who waited meanwhile.
    expected = batch.length + waiting.length;
  };

  /** Lets the writers just answered come back before the next sync begins: one sync for all instead of one and all. */
  const gather = async (): Promise<void> => {
    // One turn of the event loop takes in what has arrived already.
    await new Promise<void>((resolve) => {
      setImmediate(resolve);
    });
    const waitMs = Math.min(MAX_GATHER_MS, Math.round(lastMs * GATHER_SHARE));
    if (waitMs < 1 || waiting.length >= expected) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, waitMs);
      onFull = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    onFull = undefined;
  };

  const work = async (): Promise<void> => {
    isBusy = true;
    while (waiting.length > 0) {
      await gather();
      const batch = waiting.slice(0, MAX_BATCH);
      waiting = waiting.slice(MAX_BATCH);
      await runBatch(batch);
    }
    isBusy = false;
    for (const resolve of idle.splice(0)) resolve();
  };

  return {
    submit: (request) =>
      new Promise((resolve, reject) => {
        waiting.push({ request, resolve, reject });
        if (!isBusy) void work();
        else if (waiting.length >= expected) onFull?.();
      }),
    drained: () =>
      new Promise((resolve) => {
        if (isBusy) idle.push(resolve);
        else resolve();
      }),
  };
};
