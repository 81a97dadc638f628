/** Licences as a vendor issues them: what is taken, what is refused, and limits that hold whatever comes at once. */
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { eachStore, type TestDatabase } from '@parley/kit/testing/each-store.ts';
import { within } from '@parley/kit/testing/wait.ts';
import { CompactEncrypt, CompactSign, importJWK, type JWK, type JWSHeaderParameters } from 'jose';
import { type Addressee, createVendorKey, issueLicence, type VendorKey } from '../src/licence/issue.ts';
import {
  ADMIN_PASSWORD,
  type Answer,
  type Client,
  startTestPlatform,
  type TestPlatform,
} from './start-test-platform.ts';

const PATH = 'master/license';
const encode = (text: string): Uint8Array => new TextEncoder().encode(text);
const base64url = (value: object | string): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');

/** Encrypts any text for an installation, as anybody can who knows its public key. */
const seal = async (text: string, { key }: Addressee, more: { zip?: 'DEF' } = {}): Promise<string> =>
  new CompactEncrypt(encode(text))
    .setProtectedHeader({ alg: 'ECDH-ES+A256KW', enc: 'A256GCM', ...more })
    .encrypt(await importJWK(key, 'ECDH-ES+A256KW'));

const sign = async (claims: object, header: JWSHeaderParameters & { alg: string }, key: JWK): Promise<string> =>
  new CompactSign(encode(JSON.stringify(claims))).setProtectedHeader(header).sign(await importJWK(key, header.alg));

eachStore((driver) =>
  describe('licences', () => {
    let vendor: VendorKey;
    let database: TestDatabase;
    let platform: TestPlatform;
    let other: TestPlatform | undefined;
    let admin: Client;
    let addressee: Addressee;
    let issued = Math.floor(Date.now() / 1000) - 1000;
    let serial = 0;

    const start = () => startTestPlatform(database.place, { 'platform.license.vendor_keys': vendor.publicKey });
    before(async () => {
      vendor = await createVendorKey();
      database = await driver.createDatabase();
      platform = await start();
      if (driver.name === 'postgres') other = await start();
      admin = await platform.signIn('admin', ADMIN_PASSWORD);
      addressee = (await admin.call('GET', `${PATH}/installation`)).body;
    });
    after(async () => {
      await other?.[Symbol.asyncDispose]();
      await platform?.[Symbol.asyncDispose]();
      await database?.[Symbol.asyncDispose]();
    });

    const issue = (fields: object): Promise<string> =>
      issueLicence(fields as Record<string, unknown>, addressee, vendor.privateKey, ++issued);
    const post = (document: unknown): Promise<Answer> => admin.call('POST', PATH, { body: document });
    const install = async (fields: object): Promise<Answer['body']> => {
      const answer = await post(await issue(fields));
      assert.equal(answer.status, 200, answer.text);
      return answer.body;
    };
    const counters = async (): Promise<Record<string, number>> =>
      (await admin.call('GET', 'domain/settings/license_ownership')).body.value;
    /** What the other node counts comes with the feed. */
    const counted = async (svcscripts: number): Promise<void> => {
      const ask = async (): Promise<void> => {
        while ((await counters()).svcscripts !== svcscripts);
      };
      await within(ask(), `${svcscripts} scripts in the counters`);
    };
    const make = (path: string, body: object = {}, client = admin): Promise<Answer> =>
      client.call('POST', path, { body: { code: `c${++serial}`, ...body } });
    const makePoint = (type: string, client = admin): Promise<Answer> =>
      make('service/integration_points', { type }, client);
    const isAtLimit = ({ status, body }: Answer): boolean =>
      status === 422 && body.error_code === 1405 && body.error_details.reason === 'license';

    it('are none at first: nothing is limited, and the way to one is told', async () => {
      const answer = await admin.call('GET', PATH);
      assert.deepEqual([answer.status, answer.body.error_code], [404, 1401]);
      assert.equal((await make('service/svcscripts')).status, 200);
      assert.match(addressee.installation, /^[0-9a-f-]{36}$/);
      assert.deepEqual(Object.keys(addressee.key).sort(), ['crv', 'kty', 'x']);
      if (other) {
        const same = await (await other.signIn('admin', ADMIN_PASSWORD)).call('GET', `${PATH}/installation`);
        assert.deepEqual(same.body, addressee);
      }
    });

    it('are refused with the reason when they are not ours, and change nothing', async () => {
      const stranger = await createVendorKey();
      const claims = (more: object = {}): object => ({
        sub: addressee.installation,
        iat: issued,
        jti: 'x',
        dql: { svcscripts: 0 },
        ...more,
      });
      const typ = 'parley-licence';
      const strangersKey = { kty: 'OKP', crv: 'Ed25519', x: stranger.publicKey };
      const ofStranger = await sign(claims(), { alg: 'EdDSA', typ }, stranger.privateKey);
      const withKey = await sign(claims(), { alg: 'EdDSA', typ, jwk: strangersKey, kid: '1' }, stranger.privateKey);
      const good = await sign(claims(), { alg: 'EdDSA', typ }, vendor.privateKey);
      const [head, , signature] = good.split('.');
      const unsigned = `${base64url({ alg: 'none', typ })}.${base64url(claims())}.`;
      const hmacInput = `${base64url({ alg: 'HS256', typ })}.${base64url(claims())}`;
      const keyed = (key: Buffer): string =>
        `${hmacInput}.${createHmac('sha256', key).update(hmacInput).digest('base64url')}`;
      const whole = await issue({ dql: { svcscripts: 0 } });
      const parts = whole.split('.');
      const elsewhere = await issueLicence({}, { ...addressee, installation: 'elsewhere' }, vendor.privateKey, issued);
      const { key: foreignKey } = await foreignAddressee();
      const hostile: [string, unknown, string][] = [
        ['signed by a stranger', await seal(ofStranger, addressee), 'bad_signature'],
        ['with the key in the document', await seal(withKey, addressee), 'bad_signature'],
        ['unsigned', await seal(unsigned, addressee), 'bad_signature'],
        [
          'signed with the public key as a secret',
          await seal(keyed(Buffer.from(vendor.publicKey, 'base64url')), addressee),
          'bad_signature',
        ],
        [
          'signed with its text as a secret',
          await seal(keyed(Buffer.from(vendor.publicKey)), addressee),
          'bad_signature',
        ],
        [
          'with other claims',
          await seal(`${head}.${base64url(claims({ dql: {} }))}.${signature}`, addressee),
          'bad_signature',
        ],
        [
          'of another kind',
          await seal(await sign(claims(), { alg: 'EdDSA', typ: 'JWT' }, vendor.privateKey), addressee),
          'bad_signature',
        ],
        ['not encrypted', good, 'not_decryptable'],
        [
          'for another key',
          await issueLicence({}, { ...addressee, key: foreignKey }, vendor.privateKey, issued),
          'not_decryptable',
        ],
        ['for another installation', elsewhere, 'other_installation'],
        ['truncated', whole.slice(0, -10), 'not_decryptable'],
        ['cut in the middle', parts.slice(0, 4).join('.'), 'not_decryptable'],
        ['with a changed tag', [...parts.slice(0, 4), 'AAAAAAAAAAAAAAAAAAAAAA'].join('.'), 'not_decryptable'],
        ['encrypted directly', `${base64url({ alg: 'dir', enc: 'A256GCM' })}...AAAA.AAAA`, 'not_decryptable'],
        [
          'by a password',
          `${base64url({ alg: 'PBES2-HS256+A128KW', enc: 'A256GCM', p2c: 1e9, p2s: 'AA' })}.AA.AA.AA.AA`,
          'not_decryptable',
        ],
        ['compressed', await seal(good, addressee, { zip: 'DEF' }), 'not_decryptable'],
        ['a bomb', await seal('0'.repeat(20_000_000), addressee, { zip: 'DEF' }), 'not_decryptable'],
        ['huge', 'x'.repeat(500_000), 'malformed'],
        ['nonsense', 'licence', 'not_decryptable'],
        ['not yet valid', await issueLicence({}, addressee, vendor.privateKey, issued + 1_000_000), 'not_yet_valid'],
        ['expired', await issue({ exp: issued - 5000 }), 'expired'],
        [
          'of text',
          await seal(
            await sign(claims({ dql: { svcscripts: 'many' } }), { alg: 'EdDSA', typ }, vendor.privateKey),
            addressee,
          ),
          'malformed',
        ],
        [
          'of negative limits',
          await seal(
            await sign(claims({ dql: { svcscripts: -1 } }), { alg: 'EdDSA', typ }, vendor.privateKey),
            addressee,
          ),
          'malformed',
        ],
        [
          'that sets prototypes',
          await seal(
            await sign(
              claims({ conditions: [{ when: {}, set: { 'dql.__proto__': 1 } }] }),
              { alg: 'EdDSA', typ },
              vendor.privateKey,
            ),
            addressee,
          ),
          'malformed',
        ],
        [
          'without a number',
          await seal(await sign(claims({ jti: 7 }), { alg: 'EdDSA', typ }, vendor.privateKey), addressee),
          'malformed',
        ],
      ];
      for (const [name, document, reason] of hostile) {
        const answer = await post(document);
        assert.deepEqual(
          [answer.status, answer.body.error_code, answer.body.error_details.reason],
          [422, 1405, reason],
          name,
        );
      }
      for (const document of [{ license: whole }, 7, null, '', [whole]])
        assert.equal((await post(document)).status, 400);
      assert.equal((await post('x'.repeat(2_000_000))).status, 413);
      assert.equal((await admin.call('GET', PATH)).status, 404);
      assert.equal((await make('service/svcscripts')).status, 200);
    });

    const foreignAddressee = async (): Promise<Addressee> => {
      await using foreign = await startTestPlatform();
      return (await (await foreign.signIn('admin', ADMIN_PASSWORD)).call('GET', `${PATH}/installation`)).body;
    };

    it('are shown as issued and as in force, and journalled without the document', async () => {
      const fields = {
        products: 'pbx',
        topleveldnpolicy: 2,
        dql: { svcscripts: 50, devices: 10 },
        sqf: { rec: true },
        iss: 'vendor',
        conditions: [
          { when: { after: '2020-01-01T00:00:00Z' }, set: { 'dql.devices': 5, 'sqf.cdr': true } },
          { when: { before: '2020-01-01T00:00:00Z' }, set: { 'dql.devices': 0 } },
          { when: { count: { item: 'svcscripts', over: 10_000 } }, set: { 'dql.svcscripts': 0 } },
          { when: { count: { item: 'domains', over: 0 } }, set: { products: 'pbx+' } },
        ],
      };
      const document = await issue(fields);
      const answer = await post(document);
      assert.equal(answer.status, 200, answer.text);
      const { ext, ...terms } = answer.body;
      assert.deepEqual(terms, {
        products: 'pbx+',
        topleveldnpolicy: 2,
        dql: { svcscripts: 50, devices: 5 },
        sqf: { rec: true, cdr: true },
      });
      assert.equal(ext.issuer, 'vendor');
      assert.deepEqual((await admin.call('GET', PATH)).body, answer.body);
      const file = (await admin.call('GET', `${PATH}?file=true`)).body;
      assert.deepEqual([file.products, file.dql, file.sqf], ['pbx', fields.dql, fields.sqf]);
      assert.equal((await post(document)).status, 200, 'again is no fault');
      const params = encodeURIComponent(JSON.stringify({ objtype: 'license', objkey: 'license' }));
      const journal = await admin.call('GET', `journal/changes?params=${params}&limit=1000`);
      const entries = journal.body;
      assert.deepEqual(
        entries.map(({ cmdtype }: { cmdtype: string }) => cmdtype),
        ['create'],
      );
      assert.equal(entries[0].obj.products, 'pbx');
      assert.ok(!journal.text.includes(document.slice(0, 40)));
      const older = await post(await issueLicence({}, addressee, vendor.privateKey, issued - 1));
      assert.deepEqual([older.status, older.body.error_details.reason], [422, 'older']);
      assert.equal((await admin.call('GET', `${PATH}?file=perhaps`)).status, 400);
    });

    it('limit what is made, not what is there, and never a sign-in', async () => {
      const scripts = (await counters()).svcscripts!;
      await install({ dql: { svcscripts: scripts, domains: 0, webservice_public: 1, webservice_subscr: 0 } });
      assert.ok(isAtLimit(await make('service/svcscripts')));
      assert.ok(isAtLimit(await admin.call('POST', 'master/domains', { body: { name: 'over' } })));
      // SQLite lets nobody else in.
      const store = driver.name === 'postgres' ? await database.open() : undefined;
      assert.equal((await store?.count('over', 'role')) ?? 0, 0, 'nothing was made for a domain that may not be');
      assert.ok(isAtLimit(await makePoint('custom')));
      const point = await makePoint('public');
      assert.equal(point.status, 200, point.text);
      assert.ok(isAtLimit(await makePoint('public')));
      assert.ok(
        isAtLimit(
          await admin.call('PATCH', `service/integration_points/${point.body.id}`, { body: { type: 'custom' } }),
        ),
      );
      const renamed = { opts: { title: 'still mine' } };
      assert.equal(
        (await admin.call('PATCH', `service/integration_points/${point.body.id}`, { body: renamed })).status,
        200,
      );
      const [first] = (await admin.call('GET', 'service/svcscripts?limit=1')).body;
      assert.equal((await admin.call('PATCH', `service/svcscripts/${first.id}`, { body: { name: 'N' } })).status, 200);
      assert.equal(
        (await admin.call('PUT', 'service/svcscripts/01a00000-0000-7000-8000-000000000000', { body: { code: 'put' } }))
          .status,
        422,
      );
      assert.equal((await admin.call('DELETE', `service/svcscripts/${first.id}`)).status, 204);
      assert.equal((await make('service/svcscripts')).status, 200);
      await platform.signIn('admin', ADMIN_PASSWORD);
      assert.equal((await admin.call('POST', 'iam/users', { body: { login: 'anyone' } })).status, 200);
      const before = await counters();
      const forged = await admin.call('PATCH', 'domain/settings/license_ownership', {
        body: { value: { svcscripts: 0 } },
      });
      assert.equal(forged.status, 422);
      assert.deepEqual(await counters(), before);
    });

    it('hold at the boundary, whatever comes at once, from all domains and nodes', async () => {
      await install({});
      for (const name of ['left', 'right']) {
        const made = await admin.call('POST', 'master/domains', { body: { name } });
        assert.equal(made.status, 200, made.text);
      }
      const nodes = [platform, ...(other ? [other] : [])];
      const clients = await Promise.all(
        nodes.flatMap((node) =>
          ['master', 'left', 'right'].map(async (domain) => {
            const client = await node.signIn('admin', ADMIN_PASSWORD);
            const moved = await client.call('PATCH', 'iam/sessions/current', { body: { domain } });
            assert.equal(moved.status, 204, moved.text);
            return client;
          }),
        ),
      );
      const now = (await counters()).svcscripts!;
      const free = 5;
      await install({ dql: { svcscripts: now + free } });
      const answers = await Promise.all(
        Array.from({ length: 24 }, (_, n) => make('service/svcscripts', {}, clients[n % clients.length])),
      );
      const made = answers.filter(({ status }) => status === 200);
      assert.equal(made.length, free, answers.map(({ text }) => text).join('\n'));
      assert.ok(answers.every((answer) => answer.status === 200 || isAtLimit(answer)));
      await counted(now + free);
      // What goes makes room, also when it goes at once from several sides.
      const gone = await Promise.all(
        made.map(({ body }) =>
          Promise.all(clients.map((client) => client.call('DELETE', `service/svcscripts/${body.id}`))),
        ),
      );
      assert.ok(gone.every((each) => each.some(({ status }) => status === 204)));
      await counted(now);
      const again = await Promise.all(
        Array.from({ length: 12 }, (_, n) => make('service/svcscripts', {}, clients[n % clients.length])),
      );
      assert.equal(again.filter(({ status }) => status === 200).length, free);
      await counted(now + free);
    });

    it('count anew when a domain goes with all it had', async () => {
      const earlier = (await counters()).svcscripts!;
      const [id] = (await admin.call('LOOKUP', 'master/domains', { body: 'left' })).body;
      const inLeft = await platform.signIn('admin', ADMIN_PASSWORD, 'master');
      await inLeft.call('PATCH', 'iam/sessions/current', { body: { domain: 'left' } });
      const there = (await inLeft.call('GET', 'service/svcscripts?limit=0')).body.count;
      assert.ok(there > 0);
      assert.equal((await admin.call('DELETE', `master/domains/${id}`, { body: { force: true } })).status, 204);
      await counted(earlier - there);
    });

    it('are those of all nodes, and of the next start', async () => {
      const { body } = await admin.call('GET', PATH);
      if (other)
        assert.deepEqual((await (await other.signIn('admin', ADMIN_PASSWORD, 'master')).call('GET', PATH)).body, body);
      else {
        await platform[Symbol.asyncDispose]();
        platform = await start();
        admin = await platform.signIn('admin', ADMIN_PASSWORD, 'master');
        assert.deepEqual((await admin.call('GET', PATH)).body, body);
      }
    });

    it('exist in the master only, for those with a route', async () => {
      const inRight = await platform.signIn('admin', ADMIN_PASSWORD, 'master');
      await inRight.call('PATCH', 'iam/sessions/current', { body: { domain: 'right' } });
      const answer = await inRight.call('GET', PATH);
      assert.deepEqual([answer.status, answer.body.error_details.domain_type], [403, 'master']);
      await admin.call('POST', 'iam/users', { body: { login: 'plain', pwd: 'plain-user-1' } });
      const plain = await platform.signIn('plain', 'plain-user-1', 'master');
      assert.equal((await plain.call('POST', PATH, { body: await issue({}) })).status, 403);
    });
  }),
);
