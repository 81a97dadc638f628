/** Mail against real SMTP servers: obliging ones, and ones that are down, slow, refusing, or not who they say they are. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '@parley/kit/clock.ts';
import { createSilentLog } from '@parley/kit/log.ts';
import type { Store } from '@parley/kit/store/store.ts';
import { eachStore, type TestDatabase } from '@parley/kit/testing/each-store.ts';
import { createSelfSigned } from '@parley/kit/testing/self-signed.ts';
import { within } from '@parley/kit/testing/wait.ts';
import { openSecretBox } from '../src/domains/secrets.ts';
import { SYSTEM_SPACE } from '../src/domains/types.ts';
import { type Outbox, openOutbox } from '../src/mail/outbox.ts';
import { createSendMail, type MailRoute } from '../src/mail/send.ts';
import { createUser, setUpMail } from './mail-set-up.ts';
import { ADMIN_PASSWORD, type Client, startTestPlatform, type TestPlatform } from './start-test-platform.ts';
import { findClosedPort, startSilentServer, startTestSmtp } from './start-test-smtp.ts';

const QUICK = { 'platform.mail.retry_after': '10ms,10ms,10ms', 'platform.mail.timeout': '400ms' };
const ASYNC = { prefer: 'respond-async' };

let lastAddress = 0;
const fresh = (): string => {
  lastAddress += 1;
  return `192.0.2.${lastAddress}`;
};

/** Asks until it is so. */
const until = (isSo: () => Promise<boolean>, what: string): Promise<void> => {
  const ask = async (): Promise<void> => {
    while (!(await isSo())) await sleep(20);
  };
  return within(ask(), what);
};

type Point = Awaited<ReturnType<typeof setUpMail>>;

/** Rows that memory holds, and rows that it holds next to none of. */
const MEMORY = { 'in memory': {}, 'in the database': { 'platform.memory.max_rows': '5' } };

for (const [where, memory] of Object.entries(MEMORY)) {
  describe(`an invitation by a mail server, users ${where}`, () => {
    let platform: TestPlatform;
    let admin: Client;
    let point: Point;
    before(async () => {
      platform = await startTestPlatform(undefined, { ...QUICK, ...memory });
      admin = await platform.signIn('admin', ADMIN_PASSWORD);
      point = await setUpMail(admin, { port: 1 });
    });
    after(() => platform?.[Symbol.asyncDispose]());

    const useServer = async (body: Record<string, unknown>) => {
      const answer = await admin.call('PATCH', point.server, { body });
      assert.equal(answer.status, 200, answer.text);
    };
    const invite = (userid: string, headers: Record<string, string> = {}) =>
      admin.call('POST', 'iam/invites', { body: { userid }, headers, address: fresh() });
    const invitesOf = async (userid: string): Promise<unknown[]> => {
      const filter = encodeURIComponent(JSON.stringify({ userid }));
      return (await admin.call('GET', `model/system/Invites?filter=${filter}`)).body;
    };
    /** The invitation fails by this reason, nothing is left of it, and another may be asked for at once. */
    const failsBy = async (reason: string): Promise<void> => {
      const { id } = await createUser(admin);
      const { status, body } = await invite(id);
      const { field, msg_code } = body.error_details;
      assert.deepEqual([status, body.error_code, msg_code, field], [412, 1418, 10018, 'userid']);
      assert.equal(body.error_details.reason, reason);
      assert.deepEqual(await invitesOf(id), []);
      await using smtp = await startTestSmtp();
      await useServer({ port: smtp.port, host: '127.0.0.1', tls: 'none' });
      assert.equal((await invite(id)).status, 200);
      await smtp.mail(1);
    };

    it('that is down: told after a second try', async () => {
      await useServer({ port: await findClosedPort() });
      await failsBy('ESOCKET');
    });

    it('that says nothing: given up in time, twice', async () => {
      await using silent = await startSilentServer();
      await useServer({ port: silent.port });
      await failsBy('timeout');
      await silent.connected(2);
    });

    it('that refuses for good: told at once, without a second try', async () => {
      await using smtp = await startTestSmtp({ refuse: () => 550 });
      await useServer({ port: smtp.port });
      await failsBy('550');
      assert.equal(smtp.connections(), 1);
    });

    it('that refuses for the moment: sent by the second try', async () => {
      await using smtp = await startTestSmtp({ refuse: (nth) => (nth === 1 ? 451 : undefined) });
      await useServer({ port: smtp.port });
      const { id } = await createUser(admin);
      assert.equal((await invite(id)).status, 200);
      assert.deepEqual([smtp.connections(), smtp.received.length], [2, 1]);
      assert.equal((await invitesOf(id)).length, 1);
    });

    it('that refuses for longer, when nobody waits: sent by the fourth', async () => {
      await using smtp = await startTestSmtp({ refuse: (nth) => (nth < 4 ? 451 : undefined) });
      await useServer({ port: smtp.port });
      const { id } = await createUser(admin);
      const answer = await invite(id, ASYNC);
      assert.deepEqual([answer.status, answer.headers.get('preference-applied')], [200, 'respond-async']);
      await smtp.mail(1);
      assert.equal(smtp.connections(), 4);
      assert.equal((await invitesOf(id)).length, 1);
    });

    it('that refuses four times: the invitation is removed, and the next user’s mail goes out', async () => {
      await using smtp = await startTestSmtp({ refuse: (nth) => (nth <= 4 ? 451 : undefined) });
      await useServer({ port: smtp.port });
      const { id } = await createUser(admin);
      assert.equal((await invite(id, ASYNC)).status, 200);
      await smtp.connected(4);
      await until(async () => (await invitesOf(id)).length === 0, 'the invitation to be removed');
      assert.equal((await invite((await createUser(admin)).id)).status, 200);
      assert.equal(smtp.received.length, 1);
    });

    it('that comes back when the client has left: sent', async () => {
      await using silent = await startSilentServer();
      await useServer({ port: silent.port });
      const user = await createUser(admin);
      const leaving = new AbortController();
      const asking = fetch(`${platform.url}/rest/v1/iam/invites`, {
        method: 'POST',
        headers: { ...admin.headers, 'content-type': 'application/json', 'x-forwarded-for': fresh() },
        body: JSON.stringify({ userid: user.id }),
        signal: leaving.signal,
      });
      await silent.connected(1);
      leaving.abort();
      await assert.rejects(asking);
      await silent[Symbol.asyncDispose]();
      await using smtp = await startTestSmtp();
      await useServer({ port: smtp.port });
      assert.deepEqual((await smtp.mail(1)).to, [user.email]);
    });

    it('does not get a mail whose invitation is no more', async () => {
      await using silent = await startSilentServer();
      await useServer({ port: silent.port });
      const { id } = await createUser(admin);
      assert.equal((await invite(id, ASYNC)).status, 200);
      await silent.connected(1);
      const [row] = (await invitesOf(id)) as { id: string }[];
      await admin.call('DELETE', `model/system/Invites/${row!.id}`);
      await using smtp = await startTestSmtp();
      await useServer({ port: smtp.port });
      const other = await createUser(admin);
      assert.equal((await invite(other.id)).status, 200);
      assert.deepEqual((await smtp.mail(1)).to, [other.email]);
      assert.equal(smtp.received.length, 1);
    });
  });
}

describe('a mail that waits', () => {
  it('goes out after a restart', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'parley-mail-'));
    await using stack = new AsyncDisposableStack();
    stack.defer(() => rm(folder, { recursive: true, force: true }));
    const place = join(folder, 'platform.sqlite');
    const silent = stack.use(await startSilentServer());
    const first = stack.use(await startTestPlatform(place));
    const admin = await first.signIn('admin', ADMIN_PASSWORD);
    await setUpMail(admin, { port: silent.port });
    const user = await createUser(admin);
    const answer = await admin.call('POST', 'iam/invites', { body: { userid: user.id }, headers: ASYNC });
    assert.equal(answer.status, 200);
    await silent.connected(1);
    await first[Symbol.asyncDispose]();
    await silent[Symbol.asyncDispose]();
    const smtp = stack.use(await startTestSmtp({ port: silent.port }));
    stack.use(await startTestPlatform(place));
    assert.deepEqual((await smtp.mail(1)).to, [user.email]);
  });
});

describe('a way to send', () => {
  const certificate = createSelfSigned();
  let folder: string;
  let caFile: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-ca-'));
    caFile = join(folder, 'ca.pem');
    await writeFile(caFile, certificate.cert);
  });
  after(() => rm(folder, { recursive: true, force: true }));

  const route = (port: number, tls: MailRoute['tls'], more: Partial<MailRoute> = {}): MailRoute => ({
    host: 'localhost',
    port,
    tls,
    fromAddress: 'parley@example.org',
    fromName: 'Parley\r\nBcc: victim@example.org',
    ...more,
  });
  const message = { to: 'ann@example.org', subject: 'One\r\nX-Injected: yes', text: 'Hello' };
  const send = (wanted: MailRoute, file = caFile) => createSendMail({ timeoutMs: 5000, caFile: file })(wanted, message);
  const failure = async (sending: Promise<void>) => {
    const thrown = await sending.then(
      () => assert.fail('it was sent'),
      (error: { reason: string; isFinal: boolean; message: string }) => error,
    );
    return [thrown.reason, thrown.isFinal];
  };
  const tls = { key: certificate.key, cert: certificate.cert, disabledCommands: [] };

  it('is STARTTLS where it is asked for', async () => {
    await using smtp = await startTestSmtp({ options: tls });
    await send(route(smtp.port, 'starttls'));
    const { isSecure, mail, to } = await smtp.mail(1);
    assert.equal(isSecure, true);
    assert.deepEqual(to, ['ann@example.org']);
    assert.equal(mail.subject, 'One X-Injected: yes');
    assert.deepEqual(
      mail.headers.filter(({ key }) => key === 'x-injected' || key === 'bcc'),
      [],
    );
  });

  it('is TLS from the first byte where it is asked for', async () => {
    await using smtp = await startTestSmtp({ options: { ...tls, secure: true } });
    await send(route(smtp.port, 'implicit'));
    assert.equal((await smtp.mail(1)).isSecure, true);
  });

  it('is never in clear where TLS was asked for', async () => {
    await using smtp = await startTestSmtp();
    assert.match(String((await failure(send(route(smtp.port, 'starttls'))))[0]), /^(?:ETLS|5..)$/);
    assert.equal((await failure(send(route(smtp.port, 'implicit'))))[1], false);
    assert.equal(smtp.received.length, 0);
  });

  it('trusts nobody who cannot show a certificate it knows', async () => {
    for (const [kind, options] of [
      ['starttls', tls],
      ['implicit', { ...tls, secure: true }],
    ] as const) {
      await using smtp = await startTestSmtp({ options });
      const [reason, isFinal] = await failure(send(route(smtp.port, kind), ''));
      assert.match(String(reason), /^E(?:TLS|SOCKET)$/);
      assert.equal(isFinal, false);
      assert.match(
        String((await failure(send(route(smtp.port, kind, { host: '127.0.0.1' }))))[0]),
        /^E(?:TLS|SOCKET)$/,
      );
      assert.equal(smtp.received.length, 0);
    }
  });

  it('signs in, and knows a wrong password for good', async () => {
    await using smtp = await startTestSmtp({
      options: {
        ...tls,
        authOptional: false,
        onAuth: ({ username, password }, _session, done) =>
          username === 'mailer' && password === 'Mail-Pass-1'
            ? done(null, { user: username })
            : done(Object.assign(new Error('no'), { responseCode: 535 })),
      },
    });
    const who = { login: 'mailer', password: 'Mail-Pass-1' };
    await send(route(smtp.port, 'starttls', who));
    assert.equal((await smtp.mail(1)).user, 'mailer');
    const wrong = send(route(smtp.port, 'starttls', { ...who, password: 'x' }));
    assert.deepEqual(await failure(wrong), ['535', true]);
    assert.deepEqual(await failure(send(route(smtp.port, 'starttls'))), ['530', true]);
  });

  it('keeps the password of its account sealed, and sends by it', async () => {
    await using smtp = await startTestSmtp({
      options: {
        ...tls,
        authOptional: false,
        onAuth: ({ username, password }, _session, done) =>
          done(password === 'Mail-Pass-1' ? null : new Error('no'), { user: String(username) }),
      },
    });
    await using platform = await startTestPlatform(undefined, { 'platform.mail.ca_file': caFile });
    const admin = await platform.signIn('admin', ADMIN_PASSWORD);
    const who = { login: 'mailer', pwd: 'Mail-Pass-1' };
    const { account } = await setUpMail(admin, { port: smtp.port, tls: 'starttls', host: 'localhost', ...who });
    assert.equal((await admin.call('GET', account)).body.pwd, '*****');
    const { id } = await createUser(admin);
    assert.equal((await admin.call('POST', 'iam/invites', { body: { userid: id } })).status, 200);
    assert.deepEqual([smtp.received[0]!.user, smtp.received[0]!.isSecure], ['mailer', true]);
  });
});

eachStore((driver) => {
  describe('the outbox', () => {
    let database: TestDatabase;
    let store: Store;
    before(async () => {
      database = await driver.createDatabase();
      store = await database.open();
    });
    after(() => database?.[Symbol.asyncDispose]());

    const secrets = openSecretBox('00'.repeat(32), tmpdir());
    const open = (on: Store, port: number): Outbox => {
      const route: MailRoute = { host: '127.0.0.1', port, tls: 'none', fromAddress: 'p@example.org', fromName: '' };
      return openOutbox({
        store: on,
        clock: systemClock,
        log: createSilentLog(),
        secrets,
        routes: { find: async () => route },
        send: createSendMail({ timeoutMs: 5000, caFile: '' }),
        retryAfterMs: [10],
        timeoutMs: 5000,
      });
    };
    const mailTo = (name: string) => ({
      domain: 'master',
      to: `${name}@example.org`,
      subject: 'S',
      text: `https://parley.example/invite/secret-of-${name}`,
    });

    it('keeps what it holds sealed, and forgets what was sent', async () => {
      await using silent = await startSilentServer();
      {
        await using outbox = open(store, silent.port);
        await outbox.post([mailTo('ann')]);
        await silent.connected(1);
        const rows = JSON.stringify(await store.query(SYSTEM_SPACE, 'mail', {}));
        assert.ok(rows.includes('sealed') && !rows.includes('secret-of') && !rows.includes('ann@'));
      }
      await using smtp = await startTestSmtp();
      await using outbox = open(store, smtp.port);
      await smtp.mail(1);
      await until(async () => (await store.count(SYSTEM_SPACE, 'mail')) === 0, 'the mail to be forgotten');
      assert.deepEqual(await outbox.deliver(mailTo('bob')), { state: 'sent' });
      assert.equal(await store.count(SYSTEM_SPACE, 'mail'), 0);
    });

    it('sends each mail once, however many processes share it', async () => {
      await using smtp = await startTestSmtp();
      const others = driver.name === 'postgres' ? [await database.open(), await database.open()] : [];
      await using stack = new AsyncDisposableStack();
      const outboxes = [store, ...others].map((on) => stack.use(open(on, smtp.port)));
      const names = Array.from({ length: 30 }, (_, i) => `many-${i}`);
      await Promise.all(
        names.map((name, i) => {
          const outbox = outboxes[i % outboxes.length]!;
          return i % 3 === 0 ? outbox.deliver(mailTo(name)) : outbox.post([mailTo(name)]);
        }),
      );
      await smtp.mail(names.length);
      await until(async () => (await store.count(SYSTEM_SPACE, 'mail')) === 0, 'the outbox to be empty');
      const sent = smtp.received.flatMap(({ to }) => to);
      assert.deepEqual(sent.sort(), names.map((name) => `${name}@example.org`).sort());
    });

    it('sends what a process that died had taken', async () => {
      await using silent = await startSilentServer();
      await using dying = open(store, silent.port);
      await dying.post([mailTo('orphan')]);
      await silent.connected(1);
      // Its lease is over, as it would be some time after its death.
      const [row] = await store.query(SYSTEM_SPACE, 'mail', {});
      const again = { queue: 'mail', id: row!.id, priority: 0, share: 'master', readyAtMs: Date.now() };
      await store.commit(SYSTEM_SPACE, [{ op: 'enqueue', ...again }]);
      await using smtp = await startTestSmtp();
      await using _alive = open(store, smtp.port);
      assert.deepEqual((await smtp.mail(1)).to, ['orphan@example.org']);
    });
  });
});
