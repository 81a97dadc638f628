/**
 * Fastify as we want it: request ids, security headers, limits whose breach is answered in the service's own shape, one
 * log line a request, 405 with `Allow`, answers that survive an unread body, and a close that lets work finish.
 */
import type { IncomingMessage, ServerOptions as NodeServerOptions, Server } from 'node:http';
import type { ServerOptions as TlsServerOptions } from 'node:https';
import type { Socket } from 'node:net';
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify, LogController } from 'fastify';
import type { Log } from '../log.ts';
import { ANSWER_HEADERS } from './answer-headers.ts';
import { hasBody, isWorthClosing, lingerOnClose, watchBody } from './body.ts';
import { addBodyParsers, isStreamed } from './body-parsers.ts';
import { answerParseErrors } from './client-error.ts';
import { addCors, type CorsOptions } from './cors.ts';
import {
  createErrorHandler,
  DEFAULT_CODES,
  type ErrorParts,
  type HttpCodes,
  httpProblem,
  type Render,
  sendProblem,
  toHttpProblem,
} from './errors.ts';
import { takeOneByOne } from './pipelining.ts';
import { goBehind, type ListenAt, type Opened, openPort } from './place.ts';
import { createProblemLog } from './problem-log.ts';
import { createRequestId } from './request-id.ts';
import { addRequestLog, type RequestWatcher } from './request-log.ts';
import { createRouteTable } from './route-table.ts';

type ServerLimits = {
  /** Largest body that is read into memory (JSON); uploads have a limit of their own. */
  readonly maxBodyBytes: number;
  readonly maxUriBytes: number;
  readonly maxHeaderBytes: number;
  readonly maxPathParameterChars: number;
  readonly maxJsonDepth: number;
  readonly maxJsonKeys: number;
  /** Time for the head of a request, from its first byte or from the connection. */
  readonly headersTimeoutMs: number;
  readonly keepAliveTimeoutMs: number;
  /** Longest pause within a body. */
  readonly bodyIdleMs: number;
  /** Time that running requests have to end when the server closes. */
  readonly shutdownGraceMs: number;
};

const DEFAULT_LIMITS: ServerLimits = {
  maxBodyBytes: 2 ** 20,
  maxUriBytes: 16 * 1024,
  maxHeaderBytes: 16 * 1024,
  maxPathParameterChars: 1024,
  maxJsonDepth: 32,
  maxJsonKeys: 10_000,
  headersTimeoutMs: 10_000,
  // Longer than the minute that load balancers keep a connection, so that they close first.
  keepAliveTimeoutMs: 65_000,
  bodyIdleMs: 60_000,
  shutdownGraceMs: 30_000,
};

export type ServerOptions = {
  readonly log: Log;
  /** Stands in the log lines. */
  readonly name: string;
  readonly render: Render;
  readonly codes?: Partial<HttpCodes>;
  readonly limits?: Partial<ServerLimits>;
  readonly tls?: { readonly cert: string | Buffer; readonly key: string | Buffer };
  /** Addresses or networks whose `X-Forwarded-*` headers are believed. */
  readonly trustProxies?: readonly string[];
  readonly cors?: CorsOptions;
  /** May give a request another address, and change its method, before it is routed. */
  readonly rewriteUrl?: (request: IncomingMessage) => string;
  /** Told of every request and its end. */
  readonly watchers?: readonly RequestWatcher[];
};

/** What `createServer` and those who serve through it share; kept on the app as the decorator `draining`. */
export type Draining = { readonly signal: AbortSignal; start(): void; readonly graceMs: number };

/** How often Node looks for connections whose head did not come in time. */
const CONNECTION_CHECK_MS = 1000;

/** A server without endpoints. It opens nothing until `listen`; `app.inject` works without. */
export const createServer = (options: ServerOptions): FastifyInstance => {
  const { log } = options;
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const codes = { ...DEFAULT_CODES, ...options.codes };
  const parts: ErrorParts = { log, codes, render: options.render, tell: createProblemLog(log) };
  const app = fastify({
    ...nodeOptions(options, limits),
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true }),
    // A log of its own costs each request more than its line does; who logs a request names its id.
    childLoggerFactory: (logger) => logger,
    genReqId: createRequestId,
    requestIdHeader: false,
    trustProxy: options.trustProxies ? [...options.trustProxies] : false,
    bodyLimit: limits.maxBodyBytes,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    return503OnClosing: false,
    schemaController: { compilersFactory: { buildValidator: refuseSchema, buildSerializer: refuseSchema } },
    routerOptions: { maxParamLength: limits.maxPathParameterChars },
    rewriteUrl: (request) => options.rewriteUrl?.(toOriginForm(request)) ?? toOriginForm(request).url ?? '/',
    clientErrorHandler: answerParseErrors(parts, limits.maxUriBytes),
    frameworkErrors: (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
      setCommonHeaders(request, reply);
      sendProblem(parts, toHttpProblem(error, codes), request, reply);
    },
  }) as unknown as FastifyInstance;

  takeOneByOne(app.server);
  app.decorate('draining', createDraining(limits.shutdownGraceMs));
  app.setErrorHandler(createErrorHandler(parts));
  app.addHook('onRequest', (request, reply, done) => {
    setCommonHeaders(request, reply);
    done();
  });
  addRequestLog(app, options, () => closeWhenDraining(app));
  if (options.cors) addCors(app, options.cors);
  addGate(app, codes, limits);
  addBodyCare(app, parts, limits);
  addBodyParsers(app, codes, limits);
  return app;
};

/** Our routes check and write for themselves; so nothing of ajv, a quarter of all modules, is ever loaded. */
const refuseSchema = (): never => {
  throw new Error('a route must not have a schema of fastify');
};

const createDraining = (graceMs: number): Draining => {
  const controller = new AbortController();
  return { signal: controller.signal, start: () => controller.abort(), graceMs };
};

/** A client that takes us for a proxy sends the whole URL; we must read it all the same (RFC 9112 §3.2.2). */
const toOriginForm = (request: IncomingMessage): IncomingMessage => {
  const { url } = request;
  if (url !== undefined && /^https?:\/\//i.test(url)) request.url = url.replace(/^[a-z]+:\/\/[^/?#]*\/?/i, '/');
  return request;
};

/** The draining signal of the server that serves this request; aborted when it begins to close. */
export const drainingOf = (app: FastifyInstance): Draining => app.getDecorator<Draining>('draining');

const nodeOptions = (options: ServerOptions, limits: ServerLimits): Record<string, unknown> => {
  const http: NodeServerOptions = {
    // Node counts the request target among the headers.
    maxHeaderSize: limits.maxUriBytes + limits.maxHeaderBytes,
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: 0,
    connectionsCheckingInterval: CONNECTION_CHECK_MS,
    // Node's own 400 would carry no request id.
    requireHostHeader: false,
    // Java's client offers h2c on every request; only a websocket is an upgrade (contract §0.12).
    shouldUpgradeCallback(this: Server, request) {
      const isHandshake = request.method === 'GET' && request.headers.upgrade?.toLowerCase() === 'websocket';
      return isHandshake && this.listenerCount('upgrade') > 0;
    },
  };
  if (!options.tls) return { http };
  const https: TlsServerOptions = { ...http, ...options.tls, minVersion: 'TLSv1.2' };
  return { https };
};

/** A year (RFC 6797). Not for subdomains: what runs under them is not ours. */
const HSTS = 'max-age=31536000';

const COMMON_HEADERS = Object.entries(ANSWER_HEADERS);

const setCommonHeaders = (request: FastifyRequest, { raw }: FastifyReply): void => {
  // On the raw response, so that answers which bypass Fastify carry them too.
  raw.setHeader('x-request-id', request.id);
  for (const [name, value] of COMMON_HEADERS) raw.setHeader(name, value);
  if (request.protocol === 'https') raw.setHeader('strict-transport-security', HSTS);
};

/** An answer that began before the server closed promised to keep its connection. */
const closeWhenDraining = (app: FastifyInstance): void => {
  if (drainingOf(app).signal.aborted) app.server.closeIdleConnections();
};

/** What every request must pass before its guard: shutdown, limits, a known address. */
const addGate = (app: FastifyInstance, codes: HttpCodes, limits: ServerLimits): void => {
  const draining = drainingOf(app);
  const routes = createRouteTable(limits.maxPathParameterChars);
  app.addHook('onRoute', ({ method, url }) => routes.add(method, url));
  app.addHook('onRequest', (request, reply, done) => {
    done(gateFault(request, reply) ?? undefined);
  });

  const gateFault = (request: FastifyRequest, reply: FastifyReply): Error | undefined => {
    const { raw } = request;
    if (draining.signal.aborted) return httpProblem(codes, 'draining');
    if (request.originalUrl.length > limits.maxUriBytes) return httpProblem(codes, 'uriTooLong');
    if (raw.httpVersion === '1.1' && raw.headers.host === undefined && raw.headers[':authority'] === undefined) {
      return httpProblem(codes, 'badRequest', 'The Host header is missing.');
    }
    if (raw.headers.expect !== undefined && raw.headers.expect.toLowerCase() !== '100-continue') {
      return httpProblem(codes, 'expectationFailed');
    }
    if (!request.is404) return undefined;
    const allowed = routes.methodsAt(request.url);
    if (allowed.length === 0) return httpProblem(codes, 'notFound');
    reply.header('allow', allowed.join(', '));
    return httpProblem(codes, 'methodNotAllowed');
  };
};

/** Bodies that stall, that wait for a `100 Continue`, or that nobody read. */
const addBodyCare = (app: FastifyInstance, parts: ErrorParts, limits: ServerLimits): void => {
  const draining = drainingOf(app);
  // Only after the guards: a client that asks first must not send what would be refused.
  for (const event of ['checkContinue', 'checkExpectation']) {
    app.server.on(event, (request, response) => app.server.emit('request', request, response));
  }
  app.addHook('preParsing', (request, reply, payload, done) => {
    if (request.headers.expect?.toLowerCase() === '100-continue' && hasBody(request.raw)) reply.raw.writeContinue();
    if (hasBody(request.raw) && !isStreamed(request.headers['content-type'])) {
      const end = watchBody(request.raw, limits.bodyIdleMs, () => {
        if (!reply.sent) sendProblem(parts, httpProblem(parts.codes, 'timeout'), request, reply);
      });
      reply.raw.once('close', end);
    }
    done(null, payload);
  });
  app.addHook('onSend', (request, reply, payload, done) => {
    const isLate = reply.statusCode === 408 && !request.raw.complete;
    if (isLate || isWorthClosing(request.raw) || draining.signal.aborted) reply.header('connection', 'close');
    if (!request.raw.complete && reply.getHeader('connection') === 'close') lingerOnClose(request.raw, reply.raw);
    done(null, payload);
  });
};

export type Listening = { readonly url: string; readonly port: number; close(): Promise<void> };

/**
 * Listens. `close` refuses new requests with 503, lets running ones end within the grace of the limits, then cuts
 * what is left; it is idempotent.
 */
export const listen = async (app: FastifyInstance, at: ListenAt): Promise<Listening> => {
  const sockets = new Set<Socket>();
  app.server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  const { socket } = at;
  const opened = socket && 'front' in socket ? await goBehind(app, socket.front, sockets) : await openPort(app, at);
  let closing: Promise<void> | undefined;
  return {
    url: urlOf(app, at.host, opened.port),
    port: opened.port,
    close: () => {
      closing ??= closeGently(app, sockets, opened.leave);
      return closing;
    },
  };
};

const closeGently = async (
  app: FastifyInstance,
  sockets: ReadonlySet<Socket>,
  leave?: Opened['leave'],
): Promise<void> => {
  const draining = drainingOf(app);
  draining.start();
  const timer = setTimeout(() => {
    for (const socket of sockets) socket.destroy();
  }, draining.graceMs);
  try {
    await leave?.();
    await app.close();
  } finally {
    clearTimeout(timer);
  }
};

const urlOf = (app: FastifyInstance, host: string, port: number): string => {
  const scheme = app.initialConfig.https ? 'https' : 'http';
  // A wildcard address is where we listen, not where we are.
  const name = host === '0.0.0.0' || host === '::' ? 'localhost' : host.includes(':') ? `[${host}]` : host;
  return `${scheme}://${name}:${port}`;
};
