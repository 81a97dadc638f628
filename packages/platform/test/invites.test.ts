/** Invitations over the wire, with a real SMTP server: who gets which link, what it opens, and for how long. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { openPostgresDriver } from '@parley/kit/testing/each-store.ts';
import { createUser, setUpMail } from './mail-set-up.ts';
import {
  ADMIN_PASSWORD,
  type Answer,
  type Ask,
  type Client,
  startTestPlatform,
  type TestPlatform,
} from './start-test-platform.ts';
import { startTestSmtp, type TestSmtp } from './start-test-smtp.ts';

const PACE = { 'platform.invite.interval': '0s' };
const LINK = /http[^\s"<]*\/invite\/([0-9a-f-]{36})/;

let lastAddress = 0;
/** An address nobody has used yet, so that no limit of another test counts. */
const fresh = (): string => {
  lastAddress += 1;
  return `198.51.100.${lastAddress}`;
};

const codeOf = ({ status, body }: Answer) => [status, body?.error_code, body?.error_details?.msg_code];

type House = AsyncDisposable & {
  readonly platform: TestPlatform;
  readonly smtp: TestSmtp;
  readonly admin: Client;
  invite(userid: string, ask?: Ask): Promise<Answer>;
  /** Invites and answers the uuid in the mail. */
  linkFor(userid: string): Promise<string>;
  accept(uuid: string, body: unknown, ask?: Ask): Promise<Answer>;
};

const startHouse = async (settings: Readonly<Record<string, string>> = PACE): Promise<House> => {
  await using stack = new AsyncDisposableStack();
  const smtp = stack.use(await startTestSmtp());
  const platform = stack.use(await startTestPlatform(undefined, settings));
  const admin = await platform.signIn('admin', ADMIN_PASSWORD);
  await setUpMail(admin, smtp);
  const owned = stack.move();
  const invite = (userid: string, ask: Ask = {}) =>
    admin.call('POST', 'iam/invites', { body: { userid }, address: fresh(), ...ask });
  return {
    platform,
    smtp,
    admin,
    invite,
    linkFor: async (userid) => {
      const answer = await invite(userid);
      assert.equal(answer.status, 200, answer.text);
      // The answer comes after the mail.
      return smtp.received.map(({ mail }) => LINK.exec(mail.text ?? '')?.[1]).findLast((uuid) => uuid !== undefined)!;
    },
    accept: (uuid, body, ask = {}) =>
      platform.guest.call('PATCH', `iam/invites/${uuid}`, { body, address: fresh(), ...ask }),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
};

describe('an invitation', () => {
  let house: House;
  before(async () => {
    house = await startHouse();
  });
  after(() => house?.[Symbol.asyncDispose]());

  it('goes to the user as text and HTML with a link of this platform, whatever the request calls it', async () => {
    const { smtp, platform } = house;
    const user = await createUser(house.admin, { name: 'Ann <b>{domain}</b> & "Co"' });
    const answer = await house.invite(user.id, { headers: { 'x-forwarded-host': 'evil.example' } });
    assert.deepEqual([answer.status, answer.body.error_code, answer.body.result], [200, 0, true]);
    assert.equal(typeof answer.body.result_msg, 'string');
    const { to, from, mail } = await smtp.mail(1);
    assert.deepEqual([to, from], [[user.email], 'parley@example.org']);
    assert.equal(mail.from?.name, 'Parley');
    const [link] = LINK.exec(mail.text!)!;
    assert.ok(link.startsWith(`${platform.url}/invite/`), link);
    assert.ok(mail.text!.includes('Ann <b>{domain}</b> & "Co"'));
    assert.ok(mail.html!.includes(`href="${link}"`));
    assert.ok(mail.html!.includes('Ann &#60;b&#62;{domain}&#60;/b&#62; &#38; &#34;Co&#34;'));
    const rows = (await house.admin.call('GET', 'model/system/Invites')).body;
    assert.deepEqual([rows.length, rows[0].userid, rows[0].domain], [1, user.id, 'master']);
    assert.ok(!JSON.stringify(rows).includes(LINK.exec(mail.text!)![1]!), 'the row does not give the link away');
  });

  it('sets the password once, ends every session, and tells the user', async () => {
    const user = await createUser(house.admin, { pwd: 'First-Password-1', opts: { roles: ['user'] } });
    const session = await house.platform.signIn(user.login, 'First-Password-1');
    const uuid = await house.linkFor(user.id);
    const sent = house.smtp.received.length;
    const set = await house.accept(uuid, { pwd: 'Second-Password.2' });
    assert.deepEqual(set.body, {
      error_code: 0,
      result: true,
      result_msg: set.body.result_msg,
      user: { domain: 'master', login: user.login },
    });
    assert.equal((await session.call('GET', 'user/info')).status, 401);
    await house.platform.signIn(user.login, 'Second-Password.2');
    await assert.rejects(house.platform.signIn(user.login, 'First-Password-1'), /401/);
    const { to, mail } = await house.smtp.mail(sent + 1);
    assert.deepEqual(to, [user.email]);
    assert.match(mail.subject!, /changed/);
    assert.ok(!LINK.test(mail.text!) && !mail.text!.includes('Second-Password.2'));
    assert.deepEqual(codeOf(await house.accept(uuid, { pwd: 'Third-Password-3' })), [412, 1451, 10001]);
    await house.platform.signIn(user.login, 'Second-Password.2');
    const params = encodeURIComponent(JSON.stringify({ objtype: 'user', objid: user.id, limit: 1 }));
    const [entry] = (await house.admin.call('GET', `journal/changes?params=${params}`)).body;
    assert.deepEqual([entry.cmdtype, entry.fields, entry.modifierid], ['update', 'pwd', user.id]);
  });

  it('may change login and name, under the older name of the path and with the fallback of the method', async () => {
    const user = await createUser(house.admin);
    const uuid = await house.linkFor(user.id);
    const answer = await house.platform.guest.call('POST', `iam/pwd_reset_requests/${uuid.toUpperCase()}!patch`, {
      body: { pwd: 'Good-Password-1', login: `${user.login}-new`, name: 'New Name' },
      address: fresh(),
    });
    assert.deepEqual(answer.body.user, { domain: 'master', login: `${user.login}-new` });
    const info = await (await house.platform.signIn(`${user.login}-new`, 'Good-Password-1')).call('GET', 'user/info');
    assert.equal(info.body.name, 'New Name');
  });

  it('is refused by its codes, in their order, and stays good', async () => {
    const other = await createUser(house.admin);
    const user = await createUser(house.admin, { pwd: 'Present-Password-1' });
    const uuid = await house.linkFor(user.id);
    const rows: [body: unknown, status: number, code: number, msgCode: number | undefined, field: string][] = [
      [{}, 400, 1400, undefined, 'pwd'],
      [{ pwd: 5 }, 400, 1400, undefined, 'pwd'],
      [{ pwd: 'Good-Password-1', login: 7 }, 400, 1400, undefined, 'login'],
      [{ pwd: '#', login: 'x'.repeat(129), name: 'x'.repeat(129) }, 412, 1511, 10101, 'login'],
      [{ pwd: '#', login: other.login.toUpperCase(), name: 'x'.repeat(129) }, 412, 1511, 10102, 'login'],
      [{ pwd: '#', name: 'x'.repeat(129) }, 412, 1521, 10201, 'name'],
      [{ pwd: 'short#' }, 412, 1501, 15101, 'pwd'],
      [{ pwd: 'With space 1' }, 412, 1501, 15101, 'pwd'],
      [{ pwd: '' }, 412, 1502, 15102, 'pwd'],
      [{ pwd: 'Short-1' }, 412, 1502, 15102, 'pwd'],
      [{ pwd: 'a'.repeat(129) }, 412, 1503, 15103, 'pwd'],
      [{ pwd: 'password123' }, 412, 1504, 15104, 'pwd'],
      [{ pwd: user.login.toUpperCase() }, 412, 1504, 15104, 'pwd'],
      [{ pwd: 'brand-new-login', login: 'brand-new-login' }, 412, 1504, 15104, 'pwd'],
      [{ pwd: 'Present-Password-1' }, 412, 1505, 15105, 'pwd'],
    ];
    for (const [body, status, code, msgCode, field] of rows) {
      const answer = await house.accept(uuid, body);
      assert.deepEqual(
        [...codeOf(answer), answer.body.error_details.field],
        [status, code, msgCode, field],
        answer.text,
      );
      if (status === 412) assert.equal(answer.body.error_details.msg, answer.body.error_message);
    }
    assert.equal((await house.accept(uuid, { pwd: 'Good-Password-1', login: '', name: null })).status, 200);
  });

  it('follows the password policy of its domain', async () => {
    await house.admin.call('PATCH', 'domain/settings/iam_password_policy', { body: { value: { min_length: 12 } } });
    const uuid = await house.linkFor((await createUser(house.admin)).id);
    assert.deepEqual(codeOf(await house.accept(uuid, { pwd: 'Elevenchars' })), [412, 1502, 15102]);
    await house.admin.call('PATCH', 'domain/settings/iam_password_policy', { body: { value: { min_length: 8 } } });
    assert.equal((await house.accept(uuid, { pwd: 'Elevenchars' })).status, 200);
  });

  it('is ended by a newer one, by its removal, and by what becomes of the account', async () => {
    const user = await createUser(house.admin);
    const older = await house.linkFor(user.id);
    const newer = await house.linkFor(user.id);
    assert.deepEqual(codeOf(await house.accept(older, { pwd: 'Good-Password-1' })), [412, 1451, 10001]);
    const filter = encodeURIComponent(JSON.stringify({ userid: user.id }));
    const rows = (await house.admin.call('GET', `model/system/Invites?filter=${filter}`)).body;
    assert.equal(rows.length, 1);
    await house.admin.call('DELETE', `model/system/Invites/${rows[0].id}`);
    assert.deepEqual(codeOf(await house.accept(newer, { pwd: 'Good-Password-1' })), [412, 1451, 10001]);

    const moved = await house.linkFor(user.id);
    await house.admin.call('PATCH', `iam/users/${user.id}`, { body: { ext: { email: 'elsewhere@example.org' } } });
    assert.deepEqual(codeOf(await house.accept(moved, { pwd: 'Good-Password-1' })), [412, 1451, 10001]);

    const removed = await house.linkFor(user.id);
    await house.admin.call('DELETE', `iam/users/${user.id}`);
    await house.admin.call('POST', 'iam/users', {
      body: { id: user.id, login: user.login, ext: { email: 'elsewhere@example.org' } },
    });
    assert.deepEqual(codeOf(await house.accept(removed, { pwd: 'Good-Password-1' })), [412, 1451, 10001]);
  });

  it('opens nothing that was written into its row by hand', async () => {
    const user = await createUser(house.admin);
    const uuid = await house.linkFor(user.id);
    const [admin] = (await house.admin.call('GET', 'iam/users?filter={"login":"admin"}&mask=id')).body;
    const filter = encodeURIComponent(JSON.stringify({ userid: user.id }));
    const [row] = (await house.admin.call('GET', `model/system/Invites?filter=${filter}`)).body;
    await house.admin.call('PATCH', `model/system/Invites/${row.id}`, { body: { userid: admin.id } });
    const { body } = await house.accept(uuid, { pwd: 'Good-Password-1' });
    assert.equal(body.user.login, user.login);
    await house.platform.signIn('admin', ADMIN_PASSWORD);
  });

  it('sets one password, however many come at once', async () => {
    const user = await createUser(house.admin);
    const uuid = await house.linkFor(user.id);
    const tries = Array.from({ length: 20 }, (_, i) => house.accept(uuid, { pwd: `Parallel-Password-${i}` }));
    const answers = await Promise.all(tries);
    assert.equal(answers.filter(({ status }) => status === 200).length, 1);
    assert.equal(answers.filter(({ body }) => body.error_code === 1451).length, 19);
  });

  it('cannot be guessed: five wrong links from an address, in parallel too, and the next is not heard', async () => {
    const uuid = await house.linkFor((await createUser(house.admin)).id);
    const address = fresh();
    const guesses = Array.from({ length: 40 }, () => house.accept(crypto.randomUUID(), { pwd: 'x' }, { address }));
    const statuses = (await Promise.all(guesses)).map(({ status }) => status);
    assert.deepEqual([statuses.filter((s) => s === 412).length, statuses.filter((s) => s === 429).length], [5, 35]);
    const right = await house.accept(uuid, { pwd: 'Good-Password-1' }, { address });
    assert.deepEqual([right.status, right.body.error_code], [429, 1429]);
    assert.ok(Number(right.headers.get('retry-after')) > 0);
    assert.equal((await house.accept(uuid, { pwd: 'Good-Password-1' })).status, 200);
    assert.deepEqual(codeOf(await house.accept('no-uuid', { pwd: 'x' })), [412, 1451, 10001]);
  });

  it('counts no guess for a link that was issued once', async () => {
    const uuid = await house.linkFor((await createUser(house.admin)).id);
    await house.accept(uuid, { pwd: 'Good-Password-1' });
    const address = fresh();
    for (let i = 0; i < 7; i++) {
      assert.deepEqual(codeOf(await house.accept(uuid, { pwd: 'Good-Password-1' }, { address })), [412, 1451, 10001]);
    }
  });

  it('is refused from another site before anything is counted', async () => {
    const uuid = await house.linkFor((await createUser(house.admin)).id);
    const headers = { origin: 'https://evil.example' };
    const address = fresh();
    for (let i = 0; i < 7; i++) {
      const answer = await house.accept(crypto.randomUUID(), { pwd: 'x' }, { headers, address });
      assert.deepEqual([answer.status, answer.body.error_code], [403, 1401]);
    }
    assert.equal((await house.accept(uuid, { pwd: 'Good-Password-1' }, { headers })).status, 403);
    const own = { origin: house.platform.url };
    assert.equal((await house.accept(uuid, { pwd: 'Good-Password-1' }, { headers: own, address })).status, 200);
  });
});

describe('asking for an invitation', () => {
  let house: House;
  before(async () => {
    house = await startHouse({});
  });
  after(() => house?.[Symbol.asyncDispose]());

  it('needs a route, a user, and an address', async () => {
    assert.equal((await house.platform.guest.call('POST', 'iam/invites', { body: {} })).status, 401);
    const plain = await createUser(house.admin, { pwd: 'Some-Password-1', opts: { roles: ['user'] } });
    const session = await house.platform.signIn(plain.login, 'Some-Password-1');
    assert.equal((await session.call('POST', 'iam/invites', { body: { userid: plain.id } })).status, 403);
    const ask = (body: unknown, path = 'iam/invites') =>
      house.admin.call('POST', path, { body, address: fresh() }).then(codeOf);
    assert.deepEqual(await ask({}), [400, 1400, undefined]);
    assert.deepEqual(await ask({ userid: 5 }), [400, 1400, undefined]);
    assert.deepEqual(await ask([]), [400, 1400, undefined]);
    assert.deepEqual(await ask({ userid: 'x' }), [412, 1413, 10013]);
    assert.deepEqual(await ask({ userid: crypto.randomUUID() }, 'iam/pwd_reset_requests'), [412, 1413, 10013]);
    const nowhere = await createUser(house.admin, { ext: {} });
    assert.deepEqual(await ask({ userid: nowhere.id }), [412, 1414, 10014]);
    const crooked = await createUser(house.admin, { ext: { email: 'a@b.c, d@e.f' } });
    assert.deepEqual(await ask({ userid: crooked.id }), [412, 1414, 10014]);
    const byLogin = await createUser(house.admin, { login: 'someone@example.org', ext: {} });
    assert.deepEqual(await ask({ userid: byLogin.id.toUpperCase() }), [200, 0, undefined]);
    assert.deepEqual((await house.smtp.mail(1)).to, ['someone@example.org']);
  });

  it('is done once in two minutes for an e-mail and once from an address', async () => {
    const user = await createUser(house.admin);
    const twin = await createUser(house.admin, { ext: { email: user.email.toUpperCase() } });
    const others = await Promise.all([createUser(house.admin), createUser(house.admin)]);
    const address = fresh();
    const first = await house.invite(user.id, { address });
    assert.equal(first.status, 200, first.text);
    const again = await house.invite(twin.id);
    assert.deepEqual(codeOf(again), [412, 1416, 10016]);
    const wait = Number(again.headers.get('retry-after'));
    assert.ok(wait > 100 && wait <= 120, String(wait));
    assert.equal(again.body.error_details.retry_after, wait);
    assert.deepEqual(codeOf(await house.invite(others[0]!.id, { address })), [412, 1416, 10016]);
    const shared = fresh();
    const parallel = await Promise.all(others.map(({ id }) => house.invite(id, { address: shared })));
    assert.deepEqual(parallel.map(({ status }) => status).sort(), [200, 412]);
  });

  it('tells when nobody set up mail', async () => {
    await using platform = await startTestPlatform();
    const admin = await platform.signIn('admin', ADMIN_PASSWORD);
    const user = await createUser(admin);
    const ask = async () => codeOf(await admin.call('POST', 'iam/invites', { body: { userid: user.id } }));
    assert.deepEqual(await ask(), [412, 1417, 10017]);
    const { server } = await setUpMail(admin, house.smtp);
    await admin.call('PATCH', server, { body: { enabled: false } });
    assert.deepEqual(await ask(), [412, 1417, 10017]);
    await admin.call('PATCH', server, { body: { enabled: true } });
    assert.deepEqual(await ask(), [200, 0, undefined]);
  });
});

describe('an invitation that is over', () => {
  it('says so, and sets nothing', async () => {
    await using house = await startHouse({ ...PACE, 'platform.invite.lifetime': '1ms' });
    const user = await createUser(house.admin, { pwd: 'Present-Password-1' });
    const uuid = await house.linkFor(user.id);
    assert.deepEqual(codeOf(await house.accept(uuid, { pwd: 'Good-Password-1' })), [412, 1452, 10002]);
    await house.platform.signIn(user.login, 'Present-Password-1');
  });
});

describe('invitations of a working domain', () => {
  let house: House;
  let admin: Client;
  let own: TestSmtp;
  before(async () => {
    own = await startTestSmtp();
    house = await startHouse();
    await house.admin.call('POST', 'master/domains', { body: { name: 'work' } });
    const cookie = await house.platform.cookieOf('admin', ADMIN_PASSWORD, 'master');
    const moved = await house.platform
      .as({ cookie })
      .call('PATCH', 'iam/sessions/current', { body: { domain: 'work' } });
    admin = house.platform.as({ cookie: moved.headers.getSetCookie()[0]!.split(';')[0]! });
  });
  after(async () => {
    await house?.[Symbol.asyncDispose]();
    await own?.[Symbol.asyncDispose]();
  });
  const invite = (userid: string) => admin.call('POST', 'iam/invites', { body: { userid }, address: fresh() });

  it('go out by its own mail server, else by the master’s, and open its own users', async () => {
    const user = await createUser(admin);
    assert.equal((await invite(user.id)).status, 200);
    const { mail } = await house.smtp.mail(1);
    const answer = await house.accept(LINK.exec(mail.text!)![1]!, { pwd: 'Good-Password-1' });
    assert.deepEqual(answer.body.user, { domain: 'work', login: user.login });
    await house.platform.signIn(user.login, 'Good-Password-1', 'work');

    await setUpMail(admin, own);
    assert.equal((await invite((await createUser(admin)).id)).status, 200);
    assert.match((await own.mail(1)).mail.text!, /\bwork\b/);
  });

  it('do not know users of other domains', async () => {
    const stranger = await createUser(house.admin);
    assert.deepEqual(codeOf(await invite(stranger.id)), [412, 1413, 10013]);
  });

  it('lead to the public address, and read as the domain wants', async () => {
    const set = (key: string, value: unknown) => admin.call('PATCH', `domain/settings/${key}`, { body: { value } });
    await set('public_url', { value: 'https://work.example/' });
    await set('iam_invite_mail', { subject: 'Hi {name}', text: 'Go to {domain}', html: '<p>{name}</p>' });
    const user = await createUser(admin, { name: 'A & B' });
    assert.equal((await invite(user.id)).status, 200);
    const { mail } = own.received.at(-1)!;
    assert.equal(mail.subject, 'Hi A & B');
    assert.match(mail.text!, /^Go to work\s+https:\/\/work\.example\/invite\/[0-9a-f-]{36}\s*$/);
    assert.match(mail.html!, /^<p>A &#38; B<\/p><p><a href="https:\/\/work\.example\/invite\/[0-9a-f-]{36}">/);
  });
});

describe('invitations of two processes on one database', () => {
  let driver: Awaited<ReturnType<typeof openPostgresDriver>>;
  let smtp: TestSmtp;
  let nodes: TestPlatform[];
  let admins: Client[];
  const stack = new AsyncDisposableStack();
  before(async () => {
    driver = stack.use(await openPostgresDriver());
    const { place } = stack.use(await driver.createDatabase());
    smtp = stack.use(await startTestSmtp());
    nodes = [stack.use(await startTestPlatform(place)), stack.use(await startTestPlatform(place))];
    admins = await Promise.all(nodes.map((node) => node.signIn('admin', ADMIN_PASSWORD)));
    await setUpMail(admins[0]!, smtp);
  });
  after(() => stack.disposeAsync());

  const invite = (node: number, userid: string, address = fresh()) =>
    admins[node]!.call('POST', 'iam/invites', { body: { userid }, address });
  const accept = (node: number, uuid: string, pwd: string, address = fresh()) =>
    nodes[node]!.guest.call('PATCH', `iam/invites/${uuid}`, { body: { pwd }, address });
  const linkIn = (at: number): string => LINK.exec(smtp.received[at]!.mail.text!)![1]!;

  it('keep one pace, open on either, once, and are guessed five times in all', async () => {
    const user = await createUser(admins[0]!);
    const seen = async () => (await admins[1]!.call('GET', `iam/users/${user.id}`)).status === 200;
    while (!(await seen()));
    const asked = await Promise.all([0, 1, 0, 1, 0, 1].map((node) => invite(node, user.id)));
    assert.deepEqual(asked.map(({ status }) => status).sort(), [200, 412, 412, 412, 412, 412]);
    assert.equal(smtp.received.length, 1);

    const address = fresh();
    const guesses = await Promise.all(
      Array.from({ length: 30 }, (_, i) => accept(i % 2, crypto.randomUUID(), 'x', address)),
    );
    const count = (status: number) => guesses.filter((answer) => answer.status === status).length;
    assert.deepEqual([count(412), count(429)], [5, 25]);

    const uses = await Promise.all(Array.from({ length: 8 }, (_, i) => accept(i % 2, linkIn(0), `Parallel-Pass-${i}`)));
    assert.equal(uses.filter(({ status }) => status === 200).length, 1);
    assert.equal(uses.filter(({ body }) => body.error_code === 1451).length, 7);
  });
});

describe('who may decide where links lead', () => {
  it('is who may do everything', async () => {
    await using platform = await startTestPlatform();
    const admin = await platform.signIn('admin', ADMIN_PASSWORD);
    await admin.call('POST', 'domain/roles', {
      body: {
        name: 'helper',
        routes: [
          { methods: ['*'], url: '/rest/v1/model/*' },
          { methods: ['*'], url: '/domain/*' },
        ],
      },
    });
    const user = await createUser(admin, { pwd: 'Some-Password-1', opts: { roles: ['helper'] } });
    const helper = await platform.signIn(user.login, 'Some-Password-1');
    const body = { code: 'mine', host: 'evil.example', port: 25 };
    assert.equal((await helper.call('POST', 'model/system/MailServers', { body })).status, 403);
    assert.equal((await helper.call('GET', 'model/system/MailServers')).status, 200);
    for (const key of ['public_url', 'iam_invite_mail', 'sms_http']) {
      const value = { value: 'https://evil.example' };
      assert.equal((await helper.call('PATCH', `domain/settings/${key}`, { body: { value } })).status, 403, key);
    }
    assert.equal((await helper.call('PATCH', 'domain/settings/journal', { body: { value: { days: 1 } } })).status, 200);
  });
});
