/** `iam/external` in working domains, and with scenarios of their own: tokens, failures, accounts that went meanwhile. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { signInWithCode } from '../src/scripts/samples/sign-in-with-code.ts';
import { codeIn, fieldValue } from './external-fields.ts';
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

describe('external sign-in in a working domain', () => {
  let platform: TestPlatform;
  let smtp: TestSmtp;
  let branch: Client;
  let script = '';
  before(async () => {
    smtp = await startTestSmtp();
    platform = await startTestPlatform();
    const admin = await platform.signIn('admin', ADMIN_PASSWORD);
    await setUpMail(admin, { port: smtp.port });
    await admin.call('POST', 'service/svcscripts', { body: signInWithCode.body });
    const setting = { body: { value: { value: signInWithCode.body.code } } };
    await admin.call('PATCH', `domain/settings/${signInWithCode.setting}`, setting);
    assert.equal((await admin.call('POST', 'master/domains', { body: { name: 'branch' } })).status, 200);
    branch = await platform.signIn('admin', ADMIN_PASSWORD, 'master');
    await branch.call('PATCH', 'iam/sessions/current', { body: { domain: 'branch' } });
    const body = { login: 'bob', pwd: PASSWORD, ext: { email: 'bob@example.org' } };
    assert.equal((await branch.call('POST', 'iam/users', { body })).status, 200);
  });
  after(async () => {
    await platform?.[Symbol.asyncDispose]();
    await smtp?.[Symbol.asyncDispose]();
  });
  let networks = 0;
  const network = (): { address: string } => {
    networks += 1;
    return { address: `203.0.113.${networks}` };
  };
  const post = (body: object, from: { address: string }): Promise<Answer> =>
    platform.guest.call('POST', EXTERNAL, { body, ...from });
  /** Puts objects to work as the domain's own scenario. */
  const use = async (objects: object[], variables: object[] = []): Promise<void> => {
    const body = {
      code: 'own',
      scriptdata: { objects: [{ oId: 1, oType: 101, transfer: 2 }, ...objects], variables },
    };
    const path = `service/svcscripts${script === '' ? '' : `/${script}`}`;
    const saved = await branch.call(script === '' ? 'POST' : 'PUT', path, { body });
    assert.equal(saved.status, 200, saved.text);
    script = saved.body.id;
    const value = { body: { value: { value: 'own' } } };
    await branch.call('PATCH', 'domain/settings/iam_external_svcscript_code', value);
  };
  const get = (query: string, headers = {}): Promise<Answer> =>
    platform.guest.call('GET', `${EXTERNAL}?domain=branch${query}`, { ...network(), headers });

  it('the master’s scenario serves where there is none of its own', async () => {
    const from = network();
    const { fields } = (await get('')).body;
    assert.equal(fieldValue(fields, 'domain'), 'branch');
    const sent = smtp.received.length;
    const first = { step: 1, ctx: fieldValue(fields, 'ctx'), domain: 'branch', login: 'bob', pwd: PASSWORD };
    const { body } = await post(first, from);
    const code = codeIn((await smtp.mail(sent + 1)).mail.text!);
    const last = await post({ step: 2, ctx: fieldValue(body.fields, 'ctx'), code }, from);
    const cookie = last.headers
      .getSetCookie()
      .find((each) => each.startsWith('RSession='))!
      .split(';')[0]!;
    const session = (await platform.as({ cookie }).call('GET', 'iam/sessions/current')).body;
    assert.deepEqual([session.domain, session.login], ['branch', 'bob']);
  });

  it('a scenario may answer with a token, at once and by its own query', async () => {
    const variables = [{ name: 'who', type: 1, location: 2 }];
    await use(
      [
        { oId: 2, oType: 111, cases: [{ cond: 'who === "bob"', transfer: 3 }], transfer: 5 },
        { oId: 3, oType: 141, login: '{{who}}', kind: 'token', transfer: 4 },
        { oId: 4, oType: 102, result: { location: '"//elsewhere.example"' } },
        { oId: 5, oType: 102 },
      ],
      variables,
    );
    const { body, headers } = await get('&who=bob');
    assert.deepEqual([body.success, body.complete, body.location], [true, true, '/app-root']);
    assert.ok(!headers.getSetCookie().some((each) => each.startsWith('RSession=')));
    const client = platform.as({ authorization: `Bearer ${body.session_token}` });
    assert.equal((await client.call('GET', 'iam/sessions/current')).body.login, 'bob');
    const nobody = await get('&who=eve');
    assert.deepEqual([nobody.status, nobody.body.success, nobody.body.complete], [200, false, true]);
  });

  it('a scenario that fails says so, and why only to its author', async () => {
    await use([{ oId: 2, oType: 110, assign: [{ name: 'x', expr: 'nothing.here' }] }]);
    const failed = await get('');
    assert.deepEqual([failed.status, failed.body.error_code], [503, 1503]);
    assert.ok(!failed.text.includes('nothing'));
    const runs = await branch.call('GET', `service/svcscripts/${script}/runs`);
    assert.ok(runs.text.includes(failed.body.error_details.run), runs.text);
    await use([{ oId: 2, oType: 170, token: 'x', jwks_uri: 'https://127.0.0.1/keys', iss: 'i', aud: 'a', save: 'c' }]);
    assert.equal((await get('')).status, 502);
    await use([{ oId: 2, oType: 141, domain: 'master', login: 'admin' }]);
    assert.equal((await get('')).status, 503, 'scripts of a working domain sign in their own alone');
  });

  it('an account that went while its scenario waited is let in no more', async () => {
    const form = { oId: 2, oType: 150, step: 1, fields: [], transfer: 3 };
    await use([form, { oId: 3, oType: 141, login: 'bob', transfer: 4 }, { oId: 4, oType: 102 }]);
    const { fields } = (await get('')).body;
    const [bob] = (await branch.call('GET', `iam/users?filter=${encodeURIComponent('{"login":"bob"}')}`)).body;
    await branch.call('PATCH', `iam/users/${bob.id}`, { body: { opts: { disabled: true } } });
    const last = await post({ step: 1, ctx: fieldValue(fields, 'ctx') }, network());
    assert.deepEqual([last.status, last.body.error_code], [403, 1401]);
  });
});
