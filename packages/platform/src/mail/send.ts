/** One attempt to hand one mail to one server (RFC 5321), bounded in time from the name lookup to the last answer. */
import { readFileSync } from 'node:fs';
import { rootCertificates } from 'node:tls';
import MailComposer from 'nodemailer/lib/mail-composer';
import SMTPConnection from 'nodemailer/lib/smtp-connection';
import { type MailMessage, oneLine } from './message.ts';

/** How a server is reached, and as whom. */
export type MailRoute = {
  readonly host: string;
  readonly port: number;
  /** `starttls` insists on it; `none` never asks for it; `implicit` is TLS from the first byte. */
  readonly tls: 'none' | 'starttls' | 'implicit';
  /** Absent: the server takes mail from us without a sign-in. */
  readonly login?: string;
  readonly password?: string;
  readonly fromAddress: string;
  readonly fromName: string;
};

/** Why a mail was not taken. The message names no address and no secret. */
export class MailError extends Error {
  override name = 'MailError';
  /** The server said no for good (5xx); asking again changes nothing. */
  readonly isFinal: boolean;
  /** Status of SMTP when the server gave one, else the code of the network or of TLS. */
  readonly reason: string;

  constructor(reason: string, isFinal: boolean, cause?: unknown) {
    super(`The mail server did not take the mail (${reason}).`, cause === undefined ? undefined : { cause });
    this.reason = reason;
    this.isFinal = isFinal;
  }
}

export type SendMail = (route: MailRoute, message: MailMessage, signal?: AbortSignal) => Promise<void>;

export type SendOptions = {
  /** From the first step to the server's last word. */
  readonly timeoutMs: number;
  /** PEM file with certificates that are trusted besides the system's; empty is none. */
  readonly caFile: string;
};

/** Largest answer of a server that is read. */
const MAX_RESPONSE_BYTES = 65_536;

/** Throws when the certificate file cannot be read. */
export const createSendMail = ({ timeoutMs, caFile }: SendOptions): SendMail => {
  const ca = caFile === '' ? undefined : [...rootCertificates, readFileSync(caFile, 'utf8')];
  return async (route, message, signal) => {
    const mail = await compose(route, message);
    const late = AbortSignal.timeout(timeoutMs);
    const ending = signal ? AbortSignal.any([late, signal]) : late;
    const connection = new SMTPConnection({
      host: route.host,
      port: route.port,
      secure: route.tls === 'implicit',
      requireTLS: route.tls === 'starttls',
      ignoreTLS: route.tls === 'none',
      dnsTimeout: timeoutMs,
      connectionTimeout: timeoutMs,
      greetingTimeout: timeoutMs,
      socketTimeout: timeoutMs,
      // Closing must not wait for a server that has stopped answering.
      socketCloseTimeout: 0,
      maxResponseSize: MAX_RESPONSE_BYTES,
      tls: { minVersion: 'TLSv1.2', ...(ca ? { ca } : {}) },
    });
    try {
      await talk(connection, route, mail, ending);
    } catch (thrown) {
      if (signal?.aborted) throw signal.reason;
      throw late.aborted || isLate(thrown) ? new MailError('timeout', false) : toMailError(thrown);
    } finally {
      connection.close();
    }
  };
};

type Mail = { readonly envelope: { from: string; to: string[] }; readonly bytes: Buffer };

const compose = async ({ fromAddress, fromName }: MailRoute, message: MailMessage): Promise<Mail> => {
  const composer = new MailComposer({
    from: { name: oneLine(fromName), address: fromAddress },
    to: { name: '', address: message.to },
    subject: oneLine(message.subject),
    text: message.text,
    ...(message.html === undefined ? {} : { html: message.html }),
    // RFC 3834: nobody's absence notice has to answer this.
    headers: { 'Auto-Submitted': 'auto-generated' },
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return { envelope: { from: fromAddress, to: [message.to] }, bytes: await composer.compile().build() };
};

const talk = async (
  connection: SMTPConnection,
  { login, password }: MailRoute,
  { envelope, bytes }: Mail,
  ending: AbortSignal,
): Promise<void> => {
  const { promise: broken, reject } = Promise.withResolvers<never>();
  broken.catch(() => {});
  // Listens to the end: what fails after the server's last word must not go unheard, which would end the process.
  connection.on('error', reject);
  connection.once('end', () => reject(new Error('closed')));
  const onEnding = () => reject(ending.reason);
  ending.addEventListener('abort', onEnding);
  const step = (run: (done: (error?: Error | null) => void) => void): Promise<unknown> =>
    Promise.race([broken, new Promise<void>((resolve, refuse) => run((error) => (error ? refuse(error) : resolve())))]);
  try {
    ending.throwIfAborted();
    await step((done) => connection.connect(done));
    if (login !== undefined) await step((done) => connection.login({ user: login, pass: password ?? '' }, done));
    await step((done) => connection.send(envelope, bytes, (error) => done(error)));
  } finally {
    ending.removeEventListener('abort', onEnding);
  }
  // The mail is theirs now; whether they hear the goodbye changes nothing.
  connection.quit();
};

/** nodemailer's own clock may be a moment ahead of ours. */
const isLate = (thrown: unknown): boolean => (thrown as { code?: unknown }).code === 'ETIMEDOUT';

const toMailError = (thrown: unknown): MailError => {
  const { responseCode, code } = thrown as { responseCode?: unknown; code?: unknown };
  const status = typeof responseCode === 'number' ? responseCode : undefined;
  const reason = status === undefined ? (typeof code === 'string' ? code : 'closed') : String(status);
  return new MailError(reason, status !== undefined && status >= 500, thrown);
};
