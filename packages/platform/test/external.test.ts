/** `iam/external` with the ready scenario: password, then a code by mail or SMS, against a real SMTP server. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { signInWithCode } from '../src/scripts/samples/sign-in-with-code.ts';
import { codeIn, type Field, fieldValue } from './external-fields.ts';
import { setUpMail } from './mail-set-up.ts';
import {
  ADMIN_PASSWORD,
  type Answer,
  type Client,
  startTestPlatform,
  type TestPlatform,
} from './start-test-platform.ts';
import { startTestSmtp, type TestSmtp } from './start-test-smtp.ts';

const EXTERNAL = 'iam/external';
const PASSWORD = 'Pass-word-1';

/** A telephone exchange that keeps what it is told to send. */
const startSmsService = async () => {
  const messages: { to: string; text: string }[] = [];
  const server: Server = createServer((request, response) => {
    void text(request).then((body) => {
      messages.push(JSON.parse(body));
      response.writeHead(200).end();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    host,
    messages,
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
};

describe('external sign-in', () => {
  let platform: TestPlatform;
  let admin: Client;
  let smtp: TestSmtp;
  let sms: Awaited<ReturnType<typeof startSmsService>>;
  before(async () => {
    [smtp, sms] = await Promise.all([startTestSmtp(), startSmsService()]);
    platform = await startTestPlatform(undefined, { 'platform.scripts.http_hosts': sms.host });
    admin = await platform.signIn('admin', ADMIN_PASSWORD);
    await setUpMail(admin, { port: smtp.port });
    const sms_http = { value: { url: `http://${sms.host}/send`, body: { to: '{to}', text: '{text}' } } };
    assert.equal((await admin.call('PATCH', 'domain/settings/sms_http', { body: sms_http })).status, 200);
  });
  after(async () => {
    await platform?.[Symbol.asyncDispose]();
    await smtp?.[Symbol.asyncDispose]();
    await sms?.[Symbol.asyncDispose]();
  });

  let people = 0;
  const createPerson = async (ext: object = { email: `person${people}@example.org` }): Promise<string> => {
    people += 1;
    const login = `person${people}`;
    const body = { login, pwd: PASSWORD, name: login, ext };
    assert.equal((await admin.call('POST', 'iam/users', { body })).status, 200);
    return login;
  };
  /** A network of its own for each, so that no test meets another's failures. */
  let networks = 0;
  const network = (): { address: string } => {
    networks += 1;
    return { address: `203.0.113.${networks}` };
  };
  const begin = async (from: { address: string }): Promise<Field[]> => {
    const { status, body, text: told } = await platform.guest.call('GET', EXTERNAL, from);
    assert.equal(status, 200, told);
    return body.fields;
  };
  const post = (body: object, more: { address?: string; headers?: Record<string, string> } = {}): Promise<Answer> =>
    platform.guest.call('POST', EXTERNAL, { body, ...more });
  /** The first step with a password; answers what comes back. */
  const givePassword = async (login: string, pwd: string, from: { address: string }): Promise<Answer> => {
    const fields = await begin(from);
    return post({ step: 1, ctx: fieldValue(fields, 'ctx'), login, pwd }, from);
  };
  it('is 404 as long as there is no scenario', async () => {
    for (const method of ['GET', 'POST']) {
      const { status, body } = await platform.guest.call(method, EXTERNAL, method === 'POST' ? { body: {} } : {});
      assert.deepEqual([status, body.error_code], [404, 1401]);
    }
    const { status, text: told } = await admin.call('POST', 'service/svcscripts', { body: signInWithCode.body });
    assert.equal(status, 200, told);
    const setting = { body: { value: { value: signInWithCode.body.code } } };
    assert.equal((await admin.call('PATCH', `domain/settings/${signInWithCode.setting}`, setting)).status, 200);
  });

  it('asks for domain, login and password, sends a code by mail, and lets in with it', async () => {
    const from = network();
    const login = await createPerson({ email: 'ann@example.org' });
    const first = await platform.guest.call('GET', EXTERNAL, from);
    assert.match(
      first.headers.get('set-cookie')!,
      /^RExt=.{22}; Path=\/rest\/v1\/iam\/external; .*HttpOnly; SameSite=Strict$/,
    );
    const fields: Field[] = first.body.fields;
    assert.deepEqual(
      fields.map(({ name, type }) => [name, type]),
      [
        ['step', 'hidden'],
        ['ctx', 'hidden'],
        ['message', 'text'],
        ['domain', 'line'],
        ['login', 'line'],
        ['pwd', 'password'],
      ],
    );
    assert.equal(fieldValue(fields, 'domain'), 'master');
    const second = await post(
      { step: 1, ctx: fieldValue(fields, 'ctx'), domain: 'master', login, pwd: PASSWORD },
      from,
    );
    assert.equal(second.status, 200, second.text);
    const { success, complete, next_step, fields: asked } = second.body;
    assert.deepEqual([success, complete, next_step], [true, false, 2]);
    assert.deepEqual(
      asked.map(({ name, type, from: earlier }: Field) => [name, type, earlier?.step]),
      [
        ['step', 'hidden', undefined],
        ['ctx', 'hidden', undefined],
        ['message', 'text', undefined],
        ['domain', 'hidden', 1],
        ['login', 'hidden', 1],
        ['code', 'code', undefined],
      ],
    );
    assert.ok(!second.text.includes(PASSWORD) && !second.text.includes('ann@example.org'));
    const { mail, to } = await smtp.mail(1);
    assert.deepEqual(to, ['ann@example.org']);
    const code = codeIn(mail.text!);
    // Who asks does not say once more who it is: the server knows.
    const last = await post({ step: 2, ctx: fieldValue(asked, 'ctx'), login: 'admin', code }, from);
    assert.equal(last.status, 200, last.text);
    assert.deepEqual(last.body, { success: true, complete: true, location: '/app-root' });
    const cookie = last.headers.getSetCookie().find((each) => each.startsWith('RSession='))!;
    assert.match(cookie, /HttpOnly; SameSite=Strict$/);
    const session = await platform.as({ cookie: cookie.split(';')[0]! }).call('GET', 'iam/sessions/current');
    assert.equal(session.body.login, login);
    // The code was good once, and so was the step.
    const again = await post({ step: 2, ctx: fieldValue(asked, 'ctx'), code }, from);
    assert.deepEqual([again.body.success, again.body.complete, again.body.next_step], [false, false, 1]);
  });

  it('sends the code by SMS where there is only a number, and redirects browsers', async () => {
    const from = network();
    const login = await createPerson({ phone: '+49 30 1234567' });
    const second = await givePassword(login, PASSWORD, from);
    assert.equal(second.body.next_step, 2, second.text);
    assert.equal(sms.messages.at(-1)?.to, '+49301234567');
    const code = codeIn(sms.messages.at(-1)!.text);
    // By the cookie instead of the field.
    const cookie = second.headers.getSetCookie()[0]!.split(';')[0]!;
    const last = await post({ step: 2, code }, { ...from, headers: { cookie, accept: 'text/html' } });
    assert.deepEqual([last.status, last.headers.get('location')], [302, '/app-root'], last.text);
    assert.ok(last.headers.getSetCookie().some((each) => each.startsWith('RSession=rs1_')));
  });

  it('asks once more after a wrong password or code', async () => {
    const from = network();
    const login = await createPerson();
    const wrong = await givePassword(login, 'wrong', from);
    assert.deepEqual([wrong.body.success, wrong.body.complete, wrong.body.next_step], [false, false, 1]);
    assert.match(String(fieldValue(wrong.body.fields, 'message')), /Wrong combination/);
    const sent = smtp.received.length;
    const right = await post({ step: 1, ctx: fieldValue(wrong.body.fields, 'ctx'), login, pwd: PASSWORD }, from);
    const code = codeIn((await smtp.mail(sent + 1)).mail.text!);
    const other = code === '000000' ? '000001' : '000000';
    const bad = await post({ step: 2, ctx: fieldValue(right.body.fields, 'ctx'), code: other }, from);
    assert.deepEqual([bad.body.success, bad.body.next_step], [false, 2]);
    const good = await post({ step: 2, ctx: fieldValue(bad.body.fields, 'ctx'), code }, from);
    assert.equal(good.body.complete, true, good.text);
  });

  it('turns away who has nothing to send a code to', async () => {
    const from = network();
    const refusal = await givePassword(await createPerson({}), PASSWORD, from);
    assert.equal(refusal.status, 200);
    const { success, complete, error_code, error_message, location } = refusal.body;
    assert.deepEqual([success, complete, error_code, location], [false, true, 1401, undefined]);
    assert.match(error_message, /no mail address/);
    assert.ok(!refusal.headers.getSetCookie().some((each) => each.startsWith('RSession=')));
  });

  it('sends five codes in ten minutes and then none, with a link to try again', async () => {
    const login = await createPerson();
    const sent = smtp.received.length;
    for (let n = 0; n < 5; n++) assert.equal((await givePassword(login, PASSWORD, network())).body.next_step, 2);
    const refusal = await givePassword(login, PASSWORD, network());
    assert.deepEqual([refusal.body.complete, refusal.body.success], [true, false]);
    assert.equal(refusal.body.location, '/rest/v1/iam/external?domain=master');
    await smtp.mail(sent + 5);
    assert.equal(smtp.received.length, sent + 5);
  });

  it('lets no step be skipped, taken twice or taken with a ctx of nobody', async () => {
    const from = network();
    const login = await createPerson();
    const fields = await begin(from);
    const ctx = fieldValue(fields, 'ctx');
    const skipped = await post({ step: 2, ctx, code: '000000' }, from);
    assert.deepEqual([skipped.status, skipped.body.error_code, skipped.body.error_details.field], [400, 1400, 'step']);
    const untexted = await post({ step: { toString: 1, valueOf: 1 }, ctx, login }, from);
    assert.deepEqual([untexted.status, untexted.body.error_details.field], [400, 'step']);
    const none = await post({ ctx, login }, from);
    assert.deepEqual([none.status, none.body.error_details.field], [400, 'step']);
    const both = await Promise.all([1, 2, 3, 4].map(() => post({ step: 1, ctx, login, pwd: PASSWORD }, from)));
    const onward = both.filter(({ body }) => body.next_step === 2);
    assert.deepEqual([onward.length, both.every(({ status }) => status === 200)], [1, true]);
    for (const nobody of ['A'.repeat(22), 'x', '../..', "'"]) {
      const { status, body } = await post({ step: 1, ctx: nobody, login, pwd: PASSWORD }, from);
      assert.deepEqual([status, body.success, body.complete, body.next_step], [200, false, false, 1]);
    }
    for (const body of [[], 'text', 5]) {
      const { status } = await platform.guest.call('POST', EXTERNAL, { body, ...from });
      assert.equal(status, 400);
    }
  });

  it('shows a form again to who comes back to its step', async () => {
    const from = network();
    const login = await createPerson();
    const { fields } = (await givePassword(login, PASSWORD, from)).body;
    const again = await platform.guest.call('GET', `${EXTERNAL}?step=2&ctx=${String(fieldValue(fields, 'ctx'))}`, from);
    assert.deepEqual(again.body.fields, fields);
  });

  it('refuses pages of other sites', async () => {
    const from = network();
    const ctx = fieldValue(await begin(from), 'ctx');
    const headers = { origin: 'https://elsewhere.example' };
    const foreign = await post({ step: 1, ctx, login: 'admin', pwd: 'x' }, { ...from, headers });
    assert.deepEqual([foreign.status, foreign.body.error_code], [403, 1401]);
    assert.equal((await post({ step: 1, ctx, login: 'admin', pwd: 'x' }, from)).body.next_step, 1);
  });

  it('keeps what was entered from who reads the database', async () => {
    await givePassword(await createPerson(), PASSWORD, network());
    const files = (await readdir(platform.folder)).filter((name) => name.startsWith('platform.sqlite'));
    assert.ok(files.length > 0);
    for (const name of files) assert.ok(!(await readFile(join(platform.folder, name))).includes(PASSWORD), name);
  });

  it('looks at five wrong passwords of an account and no more, however many come at once', async () => {
    const from = network();
    const login = await createPerson();
    const forms = await Promise.all(Array.from({ length: 50 }, () => begin(from)));
    const answers = await Promise.all(
      forms.map((fields) => post({ step: 1, ctx: fieldValue(fields, 'ctx'), login, pwd: 'wrong' }, from)),
    );
    const looked = answers.filter(({ status }) => status === 200);
    const banned = answers.filter(({ status, body }) => status === 429 && body.error_code === 1429);
    assert.deepEqual([looked.length, banned.length], [5, 45]);
    assert.ok(Number(banned[0]!.headers.get('retry-after')) > 0);
    // The ban is one for every way in.
    const body = { login, pwd: PASSWORD };
    assert.equal((await platform.guest.call('POST', 'iam/sessions', { body, ...from })).status, 429);
  });

  it('looks at five wrong passwords over sessions and scenario together', async () => {
    const from = network();
    const login = await createPerson();
    const forms = await Promise.all(Array.from({ length: 20 }, () => begin(from)));
    const bySteps = forms.map((fields) =>
      post({ step: 1, ctx: fieldValue(fields, 'ctx'), login: login.toUpperCase(), pwd: 'wrong' }, from),
    );
    const bySessions = forms.map(() =>
      platform.guest.call('POST', 'iam/sessions', { body: { login, pwd: 'wrong' }, ...from }),
    );
    const statuses = (await Promise.all([...bySteps, ...bySessions])).map(({ status }) => status);
    const looked = statuses.filter((each) => each === 200 || each === 401).length;
    assert.deepEqual([looked, statuses.filter((each) => each === 429).length], [5, 35]);
  });

  it('lets twenty right passwords at once through', async () => {
    const from = network();
    const login = await createPerson({});
    const forms = await Promise.all(Array.from({ length: 20 }, () => begin(from)));
    const answers = await Promise.all(
      forms.map((fields) => post({ step: 1, ctx: fieldValue(fields, 'ctx'), login, pwd: PASSWORD }, from)),
    );
    assert.ok(answers.every(({ status, body }) => status === 200 && /no mail address/.test(body.error_message)));
  });

  it('looks at five wrong codes of an account and no more, over all its runs', async () => {
    const login = await createPerson();
    const sent = smtp.received.length;
    const waiting: { ctx: unknown; from: { address: string } }[] = [];
    for (let n = 0; n < 4; n++) {
      const from = network();
      const { body } = await givePassword(login, PASSWORD, from);
      waiting.push({ ctx: fieldValue(body.fields, 'ctx'), from });
    }
    await smtp.mail(sent + 4);
    const codes = smtp.received.slice(sent).map(({ mail }) => codeIn(mail.text!));
    const wrong = ['000000', '111111', '222222', '333333', '444444'].find((each) => !codes.includes(each))!;
    let [looked, banned] = [0, 0];
    for (const { ctx: first, from } of waiting) {
      let ctx = first;
      for (let n = 0; n < 3; n++) {
        const { status, body } = await post({ step: 2, ctx, code: wrong }, from);
        if (status === 429) banned += 1;
        if (status !== 200 || body.next_step !== 2) break;
        looked += 1;
        ctx = fieldValue(body.fields, 'ctx');
      }
    }
    assert.deepEqual([looked, banned], [5, 3]);
  });

  it('looks at no more than five wrong codes that come at once', async () => {
    const login = await createPerson();
    const sent = smtp.received.length;
    const waiting = await Promise.all(
      Array.from({ length: 5 }, async () => {
        const from = network();
        const { body } = await givePassword(login, PASSWORD, from);
        return { ctx: fieldValue(body.fields, 'ctx'), from };
      }),
    );
    await smtp.mail(sent + 5);
    const codes = smtp.received.slice(sent).map(({ mail }) => codeIn(mail.text!));
    const wrong = ['000000', '111111', '222222', '333333', '444444', '555555'].find((each) => !codes.includes(each))!;
    const first = await Promise.all(waiting.map(({ ctx, from }) => post({ step: 2, ctx, code: wrong }, from)));
    assert.deepEqual(
      first.map(({ status, body }) => [status, body.success]),
      Array(5).fill([200, false]),
    );
    const right = await Promise.all(
      first.map(({ body }, n) =>
        post({ step: 2, ctx: fieldValue(body.fields, 'ctx'), code: codes[n] }, waiting[n]!.from),
      ),
    );
    assert.ok(right.every(({ status }) => status === 429));
  });

  it('bars the later steps to who is banned in between', async () => {
    const from = network();
    const login = await createPerson();
    const sent = smtp.received.length;
    const { body } = await givePassword(login, PASSWORD, from);
    const code = codeIn((await smtp.mail(sent + 1)).mail.text!);
    for (let n = 0; n < 5; n++) {
      const credentials = { login, pwd: 'wrong' };
      await platform.guest.call('POST', 'iam/sessions', { body: credentials, ...from });
    }
    const last = await post({ step: 2, ctx: fieldValue(body.fields, 'ctx'), code }, from);
    assert.equal(last.status, 429, last.text);
    assert.ok(!last.headers.getSetCookie().some((each) => each.startsWith('RSession=')));
  });
});
