/**
 * A load generator that costs little itself: raw sockets, one request at a time on each, answers counted by their length.
 * It stands in for a load tool so that nothing has to be installed, and so that the measured service is what limits.
 */
import { connect, type Socket } from 'node:net';

export type LoadResult = {
  readonly requests: number;
  readonly seconds: number;
  /** Answers that were not 2xx. */
  readonly refused: number;
  /** The first of them. */
  readonly firstRefusal: string;
  /** Milliseconds from request to answer, in ascending order. */
  readonly latenciesMs: Float64Array;
};

export type Load = Disposable & {
  /**
   * Asks until the end and waits for the last answers. Rejects when a connection breaks or the signal aborts. `sleeps`:
   * between answers it leaves its processor to others, for what is measured by the clock beside other work.
   */
  run(next: () => Buffer, until: Until, sleeps?: boolean): Promise<LoadResult>;
};

const READ_BYTES = 256 * 1024;
const HEAD_END = Buffer.from('\r\n\r\n');
const LAST_CHUNK = Buffer.from('0\r\n\r\n');
const STATUS_AT = 9;
const TWO_OF_2XX = '2'.charCodeAt(0);
const MAX_SHOWN_BYTES = 1000;
const MAX_KEPT_LATENCIES = 2_000_000;

/** Where the answer at the beginning of the bytes ends, or undefined when more has to come. */
const endOfAnswer = (bytes: Buffer): number | undefined => {
  const headEnd = bytes.indexOf(HEAD_END);
  if (headEnd < 0) return undefined;
  const head = bytes.toString('latin1', 0, headEnd).toLowerCase();
  const at = head.indexOf('content-length: ');
  if (at >= 0) {
    const end = headEnd + HEAD_END.length + Number.parseInt(head.slice(at + 16, at + 28), 10);
    return bytes.length >= end ? end : undefined;
  }
  if (!head.includes('transfer-encoding: chunked')) return headEnd + HEAD_END.length;
  const last = bytes.indexOf(LAST_CHUNK, headEnd);
  return last < 0 ? undefined : last + LAST_CHUNK.length;
};

type Connection = { ask(request: Buffer, answered: (answer: Buffer) => void): void; socket: Socket };

const openConnection = (url: URL, onBroken: (error: Error) => void): Promise<Connection> =>
  new Promise((resolve, reject) => {
    let held: Buffer | undefined;
    let onAnswer: ((answer: Buffer) => void) | undefined;
    const read = (bytes: Buffer): void => {
      const all = held ? Buffer.concat([held, bytes]) : bytes;
      const end = endOfAnswer(all);
      if (end === undefined) {
        // The buffer that was read into is used again.
        held = held ? all : Buffer.from(all);
        return;
      }
      held = undefined;
      const answered = onAnswer;
      onAnswer = undefined;
      answered?.(all.subarray(0, end));
    };
    const socket = connect({
      host: url.hostname,
      port: Number(url.port),
      noDelay: true,
      onread: {
        buffer: Buffer.allocUnsafe(READ_BYTES),
        callback: (count, buffer) => {
          read(Buffer.from(buffer.buffer, buffer.byteOffset, count));
          return true;
        },
      },
    });
    socket.once('error', (error) => {
      reject(error);
      onBroken(error);
    });
    socket.once('close', () => onBroken(new Error(`${url.host} closed a connection.`)));
    socket.once('connect', () =>
      resolve({
        socket,
        ask: (request, answered) => {
          onAnswer = answered;
          socket.write(request);
        },
      }),
    );
  });

/** When to stop asking: after a time, after a number, or when a signal aborts. */
type Until = { readonly seconds: number } | { readonly requests: number } | { readonly signal: AbortSignal };

/** Counts answers. */
const createTally = () => {
  const latencies: number[] = [];
  let [requests, refused, firstRefusal] = [0, 0, ''];
  return {
    add: (answer: Buffer, ms: number): void => {
      requests += 1;
      if (latencies.length < MAX_KEPT_LATENCIES) latencies.push(ms);
      if (answer[STATUS_AT] === TWO_OF_2XX) return;
      if (refused === 0) firstRefusal = answer.toString('utf8', 0, MAX_SHOWN_BYTES);
      refused += 1;
    },
    result: (seconds: number): LoadResult => ({
      requests,
      seconds,
      refused,
      firstRefusal,
      latenciesMs: Float64Array.from(latencies).sort(),
    }),
  };
};

/** Keeps each connection busy with one request until the end. */
const runOn = (
  connections: readonly Connection[],
  next: () => Buffer,
  until: Until,
  sleeps: boolean,
  onEnd: (result: LoadResult) => void,
): void => {
  const startedMs = performance.now();
  const endMs = 'seconds' in until ? startedMs + until.seconds * 1000 : Number.POSITIVE_INFINITY;
  const most = 'requests' in until ? until.requests : Number.POSITIVE_INFINITY;
  const tally = createTally();
  let asked = 0;
  let idle = 0;
  // A generator that sleeps has to be woken by every answer, which on a virtual machine costs the service more than
  // the answer itself; so it looks again without a pause.
  const spin = (): void => {
    if (idle < connections.length) setImmediate(spin);
  };
  const askNext = (connection: Connection): void => {
    const askedMs = performance.now();
    if (askedMs >= endMs || asked >= most || ('signal' in until && until.signal.aborted)) {
      idle += 1;
      if (idle === connections.length) onEnd(tally.result((askedMs - startedMs) / 1000));
      return;
    }
    asked += 1;
    connection.ask(next(), (answer) => {
      tally.add(answer, performance.now() - askedMs);
      askNext(connection);
    });
  };
  for (const connection of connections) askNext(connection);
  if (!sleeps) spin();
};

/** Opens so many connections that stay. */
export const openLoad = async (address: string, connections: number, signal: AbortSignal): Promise<Load> => {
  const url = new URL(address);
  let isClosed = false;
  let broken: Error | undefined;
  let reject: (error: Error) => void = () => undefined;
  const fail = (error: Error): void => {
    if (isClosed) return;
    broken ??= error;
    reject(error);
  };
  const onAbort = (): void => fail(new Error('interrupted', { cause: signal.reason }));
  signal.addEventListener('abort', onAbort, { once: true });
  const all = await Promise.all(Array.from({ length: connections }, () => openConnection(url, fail)));

  const run: Load['run'] = (next, until, sleeps = false) =>
    new Promise((resolve, stop) => {
      reject = stop;
      if (signal.aborted) onAbort();
      if (broken) stop(broken);
      else runOn(all, next, until, sleeps, resolve);
    });
  return {
    run,
    [Symbol.dispose]: () => {
      isClosed = true;
      signal.removeEventListener('abort', onAbort);
      for (const { socket } of all) socket.destroy();
    },
  };
};

/** The value below which this share of the sorted values lies. */
export const quantileOf = (sorted: Float64Array | readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;

export const medianOf = (values: readonly number[]): number =>
  quantileOf(
    values.toSorted((left, right) => left - right),
    0.5,
  );
