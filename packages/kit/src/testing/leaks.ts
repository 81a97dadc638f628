/** Fails the suite that left a server, socket, timer, child process or thread open. */
import { after, before } from 'node:test';

/** Kinds of resources as Node names them; its own for files under way and closing streams are not among them. */
const WATCHED = new Set([
  'TCPServerWrap',
  'TCPSocketWrap',
  'PipeServerWrap',
  'UDPWrap',
  'Timeout',
  'Immediate',
  'ProcessWrap',
  'MessagePort',
  'FSEventWrap',
  'StatWatcher',
  'TLSWrap',
]);
/** What was closed needs some turns of the event loop until it is gone. */
const MAX_TURNS = 200;
/** Time for the report to go out before a process that would not end is ended. */
const EXIT_DELAY_MS = 2000;

const countOpen = (): Map<string, number> => {
  const counts = new Map<string, number>();
  for (const kind of process.getActiveResourcesInfo()) {
    if (WATCHED.has(kind)) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  return counts;
};

/** What is open now beyond `before`, as `kind × count`. */
const findLeaks = (earlier: ReadonlyMap<string, number>): string[] =>
  [...countOpen()].flatMap(([kind, count]) => {
    const more = count - (earlier.get(kind) ?? 0);
    return more > 0 ? [`${kind} × ${more}`] : [];
  });

/**
 * Call once at the top of a test file. Hooks that start and end things belong into a `describe`: hooks of the file
 * itself run in the order they were declared in, and this one has to be the last.
 */
export const failOnLeaks = (): void => {
  let earlier: ReadonlyMap<string, number> = new Map();
  before(() => {
    earlier = countOpen();
  });
  after(async () => {
    let leaks = findLeaks(earlier);
    for (let turn = 0; leaks.length > 0 && turn < MAX_TURNS; turn++) {
      await new Promise<void>((resolve) => {
        setImmediate(resolve);
      });
      leaks = findLeaks(earlier);
    }
    if (leaks.length === 0) return;
    // What was left open may keep this process for ever; the timer itself does not.
    setTimeout(() => process.exit(1), EXIT_DELAY_MS).unref();
    throw new Error(`Left open: ${leaks.join(', ')}`);
  });
};
