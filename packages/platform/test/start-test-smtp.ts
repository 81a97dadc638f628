/** A real SMTP server on a free port, as obliging or as difficult as a test wants it. */
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { within } from '@parley/kit/testing/wait.ts';
import PostalMime, { type Email } from 'postal-mime';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';

/** A mail as it arrived. */
export type Received = {
  readonly from: string;
  readonly to: readonly string[];
  readonly mail: Email;
  /** Whether it came over TLS, and as whom. */
  readonly isSecure: boolean;
  readonly user: string | undefined;
};

export type TestSmtp = AsyncDisposable & {
  readonly port: number;
  readonly received: readonly Received[];
  /** Connections so far. */
  connections(): number;
  /** The nth mail since the start, from 1; waits for it. */
  mail(nth: number): Promise<Received>;
  /** The nth connection since the start, from 1; waits for it. */
  connected(nth: number): Promise<void>;
};

/** Waiting for a count to be reached. */
const createCount = () => {
  let count = 0;
  const waiting = new Set<{ readonly nth: number; resolve(): void }>();
  return {
    get: () => count,
    add: () => {
      count += 1;
      for (const each of waiting) if (each.nth <= count) each.resolve();
    },
    reach: async (nth: number, what: string): Promise<void> => {
      if (count >= nth) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.add({ nth, resolve });
      await within(promise, `${what} ${nth}`);
    },
  };
};

const toError = (status: number) => Object.assign(new Error('as the test wants it'), { responseCode: status });

export type SmtpManners = {
  /** Status by which the nth RCPT is refused; undefined accepts it. */
  readonly refuse?: (nth: number) => number | undefined;
  readonly options?: SMTPServerOptions;
  /** Port to listen on; a free one when absent. */
  readonly port?: number;
};

export const startTestSmtp = async ({ refuse, options = {}, port = 0 }: SmtpManners = {}): Promise<TestSmtp> => {
  const received: Received[] = [];
  const mails = createCount();
  const connections = createCount();
  let recipients = 0;
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    logger: false,
    onConnect: (_session, done) => {
      connections.add();
      done();
    },
    onRcptTo: (_address, _session, done) => {
      recipients += 1;
      const status = refuse?.(recipients);
      done(status === undefined ? null : toError(status));
    },
    onData: (stream, session, done) => {
      const take = async (): Promise<void> => {
        const chunks: Buffer[] = [];
        for await (const chunk of stream) chunks.push(chunk as Buffer);
        const { mailFrom, rcptTo } = session.envelope;
        received.push({
          from: mailFrom === false ? '' : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          mail: await PostalMime.parse(Buffer.concat(chunks)),
          isSecure: session.secure,
          user: session.user === undefined ? undefined : String(session.user),
        });
      };
      take().then(() => {
        done();
        mails.add();
      }, done);
    },
    ...options,
  });
  server.on('error', () => {});
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return {
    port: (server.server.address() as AddressInfo).port,
    received,
    connections: connections.get,
    mail: async (nth) => {
      await mails.reach(nth, 'mail');
      return received[nth - 1]!;
    },
    connected: (nth) => connections.reach(nth, 'connection'),
    [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())),
  };
};

/** A server that takes connections and says nothing, ever. */
export const startSilentServer = async () => {
  const sockets = new Set<Socket>();
  const arrived = createCount();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    arrived.add();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    connected: (nth: number) => arrived.reach(nth, 'connection'),
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};

/** A port on which nobody listens. */
export const findClosedPort = async (): Promise<number> => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
};
