/**
 * Reads and writes on one server while it cannot reach what it needs, and what comes of them. Run as a program of its own,
 * so that it can stand in the network of that server.
 */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

export type Outage = {
  reads: number;
  readFaults: number;
  refused: number;
  withoutRetryAfter: number;
  otherwise: number;
  /** Longest time to an answer, ms. */
  readMs: number;
  refusedMs: number;
};

type Target = { readonly url: string; readonly token: string; readonly name: string; readonly ms: number };

const NONE: Outage = {
  reads: 0,
  readFaults: 0,
  refused: 0,
  withoutRetryAfter: 0,
  otherwise: 0,
  readMs: 0,
  refusedMs: 0,
};
/** A write may wait for a connection that says nothing any more: see the times of the store. */
const PATIENCE_MS = 40_000;

/** Runs it for so long. `before`: the words that lead into the network of the server. */
export const insist = async ({ url, token, name, ms }: Target, before: readonly string[]): Promise<Outage> => {
  const [program, ...words] = [...before, process.execPath, fileURLToPath(import.meta.url), url, name, String(ms)];
  const run = promisify(execFile)(program!, words);
  run.child.stdin!.end(token);
  return JSON.parse((await run).stdout);
};

/** All of them together. */
export const sum = (all: readonly Outage[]): Outage => {
  const total = { ...NONE };
  for (const each of all) {
    for (const key of ['reads', 'readFaults', 'refused', 'withoutRetryAfter', 'otherwise'] as const) {
      total[key] += each[key];
    }
    total.readMs = Math.max(total.readMs, each.readMs);
    total.refusedMs = Math.max(total.refusedMs, each.refusedMs);
  }
  return total;
};

const timed = async (asked: Promise<Response>): Promise<{ answer: Response | undefined; ms: number }> => {
  const sinceMs = performance.now();
  const answer = await asked.catch(() => undefined);
  await answer?.arrayBuffer().catch(() => undefined);
  return { answer, ms: Math.ceil(performance.now() - sinceMs) };
};

const probe = async ({ url, token, name, ms }: Target): Promise<Outage> => {
  const counts = { ...NONE };
  const untilMs = Date.now() + ms;
  const ask = (path: string, body?: object) =>
    timed(
      fetch(`${url}/rest/v1/${path}`, {
        headers: { authorization: token, ...(body ? { 'content-type': 'application/json' } : {}) },
        signal: AbortSignal.timeout(PATIENCE_MS),
        ...(body ? { method: 'POST', body: JSON.stringify(body) } : {}),
      }),
    );
  const read = async (): Promise<void> => {
    while (Date.now() < untilMs) {
      const { answer, ms: tookMs } = await ask('iam/users?limit=10');
      counts[answer?.status === 200 ? 'reads' : 'readFaults'] += 1;
      counts.readMs = Math.max(counts.readMs, tookMs);
      await pause();
    }
  };
  const write = async (): Promise<void> => {
    for (let n = 0; Date.now() < untilMs; n++) {
      const { answer, ms: tookMs } = await ask('iam/users', { login: `gone-${name}-${untilMs}-${n}` });
      counts[answer?.status === 503 ? 'refused' : 'otherwise'] += 1;
      if (answer?.status === 503 && !answer.headers.has('retry-after')) counts.withoutRetryAfter += 1;
      counts.refusedMs = Math.max(counts.refusedMs, tookMs);
      await pause();
    }
  };
  await Promise.all([read(), write()]);
  return counts;
};

/** The machine is to be measured, not to be filled. */
const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5));

const main = async ([url, name, ms]: readonly string[]): Promise<void> => {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
  const token = Buffer.concat(chunks).toString('utf8');
  const told = await probe({ url: url!, token, name: name!, ms: Number(ms) });
  process.stdout.write(JSON.stringify(told));
};

if (import.meta.main) await main(process.argv.slice(2));
