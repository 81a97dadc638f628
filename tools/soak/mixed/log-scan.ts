/** Reads what the services log: nothing in it may be a secret or a text that was heard; errors are counted by their message. */

export type LogScan = {
  take(line: string): void;
  /** From now on, and in the newest lines, this is a leak. */
  forbid(text: string): void;
  lines(): number;
  /** Lines with something forbidden in them, by what that is; never the line itself. */
  leaks(): readonly string[];
  /** Lines of level error and above: how many by service and message. */
  errors(): ReadonlyMap<string, number>;
  /** The newest lines. */
  last(): readonly string[];
};

/** Tokens by their shape. */
const SHAPES: readonly (readonly [string, RegExp])[] = [
  ['a session token', /\brt1_[\w-]{20,}/],
  ['an API key', /\bsk-(?:soak|parley)-[\w-]{12,}/],
  ['a signing secret', /\bwhsec_/],
  ['a link of an invitation', /\/invite\/[0-9a-f-]{36}/],
];
/** What the supervisor says when it starts a node anew. */
const RESTARTS = /^parley: node (gives no sign of life|ended|uses too much memory)/;
const LEVEL_ERROR = 50;
const LAST_LINES = 40;

const messageOf = (line: string): string | undefined => {
  if (!line.startsWith('{')) return undefined;
  try {
    const { level, name, msg, err } = JSON.parse(line) as Record<string, unknown>;
    if (Number(level) < LEVEL_ERROR) return undefined;
    const why = (err as { message?: string } | undefined)?.message;
    return `${name}: ${msg}${why === undefined || why === msg ? '' : ` (${why})`}`.slice(0, 160);
  } catch {
    return undefined;
  }
};

/** A scan for these texts and for tokens of known shapes; told of each node that is started anew. */
export const createLogScan = (secrets: readonly string[], onRestart: () => void): LogScan => {
  const forbidden = new Set(secrets);
  const leaks = new Set<string>();
  const errors = new Map<string, number>();
  const last: string[] = [];
  let count = 0;
  const look = (line: string): void => {
    for (const text of forbidden) if (line.includes(text)) leaks.add(`"${text.slice(0, 8)}…"`);
    for (const [name, shape] of SHAPES) if (shape.test(line)) leaks.add(name);
  };
  return {
    take: (line) => {
      count += 1;
      last.push(line);
      if (last.length > LAST_LINES) last.shift();
      look(line);
      const message = messageOf(line);
      if (message !== undefined && RESTARTS.test(message)) onRestart();
      if (message !== undefined) errors.set(message, (errors.get(message) ?? 0) + 1);
    },
    forbid: (text) => {
      if (forbidden.has(text)) return;
      forbidden.add(text);
      last.forEach(look);
    },
    lines: () => count,
    leaks: () => [...leaks],
    errors: () => errors,
    last: () => last,
  };
};
