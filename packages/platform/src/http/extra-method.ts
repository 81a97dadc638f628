/**
 * Lets a Node HTTP/1.1 server accept one request method that Node's parser (llhttp) does not know: LOOKUP.
 *
 * Node parses requests in C++ and refuses unknown methods there. This puts one function between a connection's bytes
 * and that parser. Where a new request starts with the extra method, the parser is given a method it knows instead, and
 * the request gets its true name back before anyone sees it. All else stays Node's own: framing, pipelining, limits,
 * timeouts, errors, keep-alive, close. Where a request starts is never guessed from the bytes: each place that reads
 * like the method is fed up to, and the parser then says whether it stands between two requests.
 *
 * It leans on four things of Node that are not documented (`INTERNALS`), checked on each connection; where one is
 * missing the connection is left as it is, so that the extra method gets Node's 400, and `checkExtraMethod` names it.
 */
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { Server as TlsServer } from 'node:tls';

type Incoming = IncomingMessage & { upgrade?: boolean | null };
type Parser = {
  /** The latest request whose head is complete; null once that request is done with. */
  incoming: IncomingMessage | null;
  onIncoming: (request: Incoming, keepAlive: boolean) => number;
  [hook: number]: unknown;
};
type HttpSocket = Socket & { parser?: Parser | null };
type Parse = (this: Socket, bytes: Buffer) => void;
type Words = { readonly method: string; readonly token: Buffer; readonly replacement: Buffer };

/** A method that Node knows and that has no rules of its own in the parser. */
const STAND_IN = 'QUERY';
const SELF_CHECK_TIMEOUT_MS = 2000;
const NOTHING = Buffer.alloc(0);

/** What of Node's insides this needs, by the name shown to operators. */
const INTERNALS = {
  parser: 'socket.parser',
  listener: "the socket's single 'data' listener",
  begin: 'HTTPParser.kOnMessageBegin',
  incoming: 'parser.onIncoming',
} as const;

/** Call once, before the server listens and before other code adds 'data' listeners to its connections. */
export const acceptMethod = (server: Server, method: string): void => {
  const words: Words = {
    method,
    token: Buffer.from(`${method} `, 'latin1'),
    replacement: Buffer.from(`${STAND_IN} `, 'latin1'),
  };
  // Runs after Node's own listener for the same event, which made the parser.
  server.on(server instanceof TlsServer ? 'secureConnection' : 'connection', (socket: HttpSocket) => {
    if (missingInternals(socket).length === 0) tap(socket, words);
  });
};

/** The names of what is not there on this connection; empty when the extra method can be served. */
const missingInternals = (socket: HttpSocket): string[] => {
  const { parser } = socket;
  if (!parser) return [INTERNALS.parser];
  const missing: string[] = [];
  if (socket.listenerCount('data') !== 1) missing.push(INTERNALS.listener);
  if (typeof beginHookOf(parser) !== 'number') missing.push(INTERNALS.begin);
  if (typeof parser.onIncoming !== 'function') missing.push(INTERNALS.incoming);
  return missing;
};

const beginHookOf = (parser: Parser): number | undefined =>
  (parser.constructor as { kOnMessageBegin?: number }).kOnMessageBegin;

/** The first place, from `from` on, where the token stands, or where the chunk ends in a part of it; else -1. */
const findToken = (chunk: Buffer, from: number, token: Buffer): number => {
  const whole = chunk.indexOf(token, from);
  if (whole >= 0) return whole;
  for (let at = Math.max(from, chunk.length - token.length + 1); at < chunk.length; at++) {
    if (chunk[at] === token[0] && token.compare(chunk, at, chunk.length, 0, chunk.length - at) === 0) return at;
  }
  return -1;
};

/** What the parser is doing, as its own hooks tell it. */
type Reading = {
  /** Between the first byte of a request and the end of its head. */
  inHead: boolean;
  /** The latest request offers an upgrade. */
  offered: boolean;
  /** The head being read began with the extra method. */
  renamed: boolean;
};

const followParser = (parser: Parser, method: string): Reading => {
  const reading: Reading = { inHead: false, offered: false, renamed: false };
  parser[beginHookOf(parser)!] = () => {
    reading.inHead = true;
  };
  const onIncoming = parser.onIncoming;
  parser.onIncoming = (request, keepAlive) => {
    reading.inHead = false;
    reading.offered = request.upgrade === true;
    if (reading.renamed) request.method = method;
    reading.renamed = false;
    return onIncoming(request, keepAlive);
  };
  return reading;
};

/** The way from the tap to Node's own listener, and back onto the socket. */
type Outlet = {
  /** Gives bytes to Node. Answers whether the connection takes more of them now. */
  give(bytes: Buffer): boolean;
  /** Puts back what the connection does not take now: to be read again when it resumes, or by its new owner. */
  putBack(rest: Buffer): void;
};

const createOutlet = (socket: HttpSocket, parser: Parser, parse: Parse, onUpgraded: () => void): Outlet => ({
  give: (bytes) => {
    if (bytes.length > 0) parse.call(socket, bytes);
    if (socket.parser !== parser) onUpgraded(); // no longer HTTP
    return socket.parser === parser && !socket.isPaused() && !socket.destroyed;
  },
  putBack: (rest) => {
    if (socket.destroyed) return;
    if (socket.parser === parser) socket.unshift(rest);
    else socket.push(rest); // an 'upgrade' listener has put back the bytes before these
  },
});

/** Gives a chunk to Node with the extra method replaced wherever a request begins with it. Answers what to hold back. */
const feed = (chunk: Buffer, words: Words, parser: Parser, reading: Reading, outlet: Outlet): Buffer => {
  const { token, replacement } = words;
  /** The next byte is the first of a request. */
  const between = () => !reading.inHead && parser.incoming?.complete !== false;
  let given = 0;
  // Node drops what follows a request whose offer to upgrade it declined, to the end of the chunk. So from that
  // request's head on, the chunk is not cut.
  if (reading.offered && between()) reading.offered = false;
  for (let at = findToken(chunk, 0, token); at >= 0; at = findToken(chunk, at + 1, token)) {
    if (!outlet.give(chunk.subarray(given, at))) {
      outlet.putBack(chunk.subarray(at));
      return NOTHING;
    }
    given = at;
    if (reading.offered) break;
    if (!between()) continue;
    if (at + token.length > chunk.length) return Buffer.from(chunk.subarray(at));
    reading.renamed = true;
    outlet.give(replacement);
    given = at + token.length;
  }
  outlet.give(chunk.subarray(given));
  return NOTHING;
};

const tap = (socket: HttpSocket, words: Words): void => {
  const parser = socket.parser!;
  const parse = socket.listeners('data')[0] as Parse;
  const reading = followParser(parser, words.method);
  /** The start of what may be the extra method, its rest not here yet. */
  let held: Buffer = NOTHING;
  const onData = (data: Buffer) => {
    const chunk = held.length > 0 ? Buffer.concat([held, data]) : data;
    held = NOTHING;
    held = feed(chunk, words, parser, reading, outlet);
  };
  const outlet = createOutlet(socket, parser, parse, () => socket.off('data', onData));
  socket.on('data', onData); // this also makes Node hand the bytes to JavaScript
  socket.off('data', parse);
  socket.prependListener('end', () => {
    if (held.length > 0) outlet.give(held); // half a method, then the end: Node's answer to that
    held = NOTHING;
  });
};

/**
 * Sends one LOOKUP, byte by byte, through a server of its own that listens nowhere. Answers undefined when it came
 * out right, else what stands in the way, by name (for /readyz).
 */
export const checkExtraMethod = async (method = 'LOOKUP'): Promise<string | undefined> => {
  const server = createServer();
  acceptMethod(server, method);
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const timer = setTimeout(resolve, SELF_CHECK_TIMEOUT_MS, `${method} did not come out of Node's parser`);
  const socket = new Duplex({ read: () => {}, write: (_bytes, _encoding, done) => done() });
  server.on('request', (request, response) => {
    response.end();
    resolve(request.method === method ? undefined : `${method} came out as ${request.method}`);
  });
  server.on('clientError', () => resolve(`Node's parser refused ${method}`));
  try {
    server.emit('connection', socket);
    // By now the tap stands in place of Node's listener, so the count is still one.
    const missing = missingInternals(socket as HttpSocket);
    if (missing.length > 0) return `Node ${process.version} lacks ${missing.join(', ')}`;
    for (const byte of Buffer.from(`${method} / HTTP/1.1\r\nHost: self-check\r\n\r\n`)) socket.push(Buffer.of(byte));
    return await promise;
  } finally {
    clearTimeout(timer);
    socket.destroy();
    server.close();
  }
};
