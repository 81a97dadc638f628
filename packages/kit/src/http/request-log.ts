/** One log line a request, and whoever else wants to know of requests: measures, traces. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Log } from '../log.ts';

/** How a request ended. `route` is the address as declared, or `unknown`; a status of 0 means nothing was answered. */
export type RequestEnd = {
  readonly method: string;
  readonly route: string;
  readonly status: number;
  readonly seconds: number;
  /** False when the client went away before the end of the answer. */
  readonly isComplete: boolean;
};

/** Told of a request before anything is done with it; calls `next` for all that is. Answers who is told of its end. */
export type RequestWatcher = (request: FastifyRequest, next: () => void) => (end: RequestEnd) => void;

type Parts = { readonly log: Log; readonly name: string; readonly watchers?: readonly RequestWatcher[] };

/** Logs each request: never its query, its body or its headers. `onClosed` is called when each is over. */
export const addRequestLog = (
  app: FastifyInstance,
  { log, name, watchers = [] }: Parts,
  onClosed: () => void,
): void => {
  // Looking for what to cut out costs more than the line itself, and these lines hold only what is named below.
  const lines = log.child({}, { level: 'info', redact: [] });
  app.addHook('onRequest', (request, reply, done) => {
    // It comes once; `once` would make two functions more for each request.
    reply.raw.on('close', () => {
      onClosed();
      // A child keeps the level it was made with; that of its parent can be changed.
      if (!log.isLevelEnabled('info')) return;
      const { raw } = reply;
      const { method, route, status, isComplete } = endOf(request, reply);
      const line = {
        server: name,
        requestId: request.id,
        method,
        route,
        status,
        ms: Math.round(reply.elapsedTime),
        bytes: Number(raw.getHeader('content-length') ?? 0) || undefined,
      };
      lines.info(isComplete ? line : { ...line, aborted: true }, 'request');
    });
    done();
  });
  for (const watch of watchers) {
    app.addHook('onRequest', (request, reply, done) => {
      const tell = watch(request, done);
      reply.raw.once('close', () => tell(endOf(request, reply)));
    });
  }
};

const endOf = (request: FastifyRequest, reply: FastifyReply): RequestEnd => ({
  method: request.method,
  route: request.routeOptions.url ?? 'unknown',
  status: reply.raw.headersSent ? reply.raw.statusCode : 0,
  seconds: reply.elapsedTime / 1000,
  isComplete: reply.raw.writableFinished,
});
