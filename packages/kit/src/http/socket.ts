/**
 * WebSockets behind the same door as everything else: an upgrade is routed like any request, passes the gate and its
 * guard, and only the endpoint itself turns it into a socket. Refusals are therefore ordinary answers.
 */
import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type WebSocket, WebSocketServer } from 'ws';
import { Problem } from '../problem.ts';
import { linger } from './body.ts';

export type { WebSocket } from 'ws';

export type UpgradeOptions = {
  /** Larger messages close the socket with 1009. */
  readonly maxMessageBytes: number;
  /** The one of these the client offers first is agreed on; without any the answer names none. */
  readonly protocols: readonly string[];
};

export type Sockets = {
  /** True when this request asks for a socket. */
  isUpgrade(request: FastifyRequest): boolean;
  /** Answers 101 and gives the open socket, paused. Nothing may have been sent before. Problem invalid_request (400). */
  upgrade(request: FastifyRequest, reply: FastifyReply, options: UpgradeOptions): Promise<WebSocket>;
};

type Pending = { readonly socket: Socket; readonly head: Buffer };

/** Lets upgrades in on this server; without it `Upgrade` headers are ignored. */
export const acceptSockets = (app: FastifyInstance): Sockets => {
  const pending = new WeakMap<IncomingMessage, Pending>();
  app.server.on('upgrade', (raw: IncomingMessage, socket: Socket, head: Buffer) => {
    const response = new ServerResponse(raw);
    // Node has let go of the connection: after an ordinary answer nobody would read a second request from it.
    response.shouldKeepAlive = false;
    response.assignSocket(socket);
    response.once('finish', () => {
      socket.resume();
      linger(socket);
    });
    socket.on('error', () => socket.destroy());
    pending.set(raw, { socket, head });
    app.routing(raw, response);
  });
  return {
    isUpgrade: ({ raw }) => pending.has(raw),
    upgrade: (request, reply, options) =>
      new Promise((resolve, reject) => {
        checkHandshake(request);
        const { raw } = request;
        const found = pending.get(raw);
        pending.delete(raw);
        if (!found || found.socket.destroyed) {
          reject(new Error('There is no connection to upgrade.'));
          return;
        }
        reply.hijack();
        reply.raw.detachSocket(found.socket);
        const onClose = (): void => reject(new Error('The connection closed during the handshake.'));
        found.socket.once('close', onClose);
        const handshake = createHandshake(options);
        handshake.on('headers', (headers) => headers.push(`X-Request-Id: ${request.id}`));
        handshake.handleUpgrade(raw, found.socket, found.head, (socket) => {
          found.socket.off('close', onClose);
          // Nothing may arrive before somebody listens.
          socket.pause();
          resolve(socket);
        });
      }),
  };
};

const HANDSHAKE_KEY = /^[+/0-9A-Za-z]{22}==$/;
const HANDSHAKE_VERSIONS = ['13', '8'];

/** What ws would refuse in plain text (RFC 6455 §4.2.1). */
const checkHandshake = ({ headers }: FastifyRequest): void => {
  const isKey = HANDSHAKE_KEY.test(headers['sec-websocket-key'] ?? '');
  if (isKey && HANDSHAKE_VERSIONS.includes(headers['sec-websocket-version'] ?? '')) return;
  throw new Problem({ code: 'invalid_request', status: 400, message: 'The WebSocket handshake is not well formed.' });
};

const createHandshake = ({ maxMessageBytes, protocols }: UpgradeOptions): WebSocketServer =>
  new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: maxMessageBytes,
    // Names that are not ours may carry a key: they are never sent back.
    handleProtocols: (offered) => [...offered].find((name) => protocols.includes(name)) ?? false,
  });
