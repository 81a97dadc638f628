/** What a platform needs to send mail: a server and an account, as an administrator would make them. */
import assert from 'node:assert/strict';
import type { Client } from './start-test-platform.ts';

export type MailSetUp = {
  readonly port: number;
  readonly tls?: 'none' | 'starttls' | 'implicit';
  readonly host?: string;
  readonly login?: string;
  readonly pwd?: string;
};

let made = 0;

/** Makes the mail server and the system account of the domain the client is signed in to; answers the server's path. */
export const setUpMail = async (admin: Client, { port, tls = 'none', host = '127.0.0.1', ...who }: MailSetUp) => {
  made += 1;
  const code = `mail-${made}`;
  const server = await admin.call('POST', 'model/system/MailServers', { body: { code, host, port, tls } });
  assert.equal(server.status, 200, server.text);
  const account = await admin.call('POST', 'model/system/MailAccounts', {
    body: { code, server: code, from_address: 'parley@example.org', from_name: 'Parley', isSystem: true, ...who },
  });
  assert.equal(account.status, 200, account.text);
  return {
    server: `model/system/MailServers/${server.body.id}`,
    account: `model/system/MailAccounts/${account.body.id}`,
  };
};

/** Makes a user with an address; answers id and login. */
export const createUser = async (admin: Client, more: Readonly<Record<string, unknown>> = {}) => {
  made += 1;
  const login = `person-${made}`;
  const { status, body, text } = await admin.call('POST', 'iam/users', {
    body: { login, name: `Person ${made}`, ext: { email: `${login}@example.org` }, ...more },
  });
  assert.equal(status, 200, text);
  return { id: body.id as string, login: body.login as string, email: body.ext.email as string };
};
