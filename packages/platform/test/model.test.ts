/** Classes and their data: definitions, inheritance, the model API, modes, files, expiry; on both drivers. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { eachStore, type TestDatabase } from '@parley/kit/testing/each-store.ts';
import {
  ADMIN_PASSWORD,
  type Answer,
  type Client,
  startTestPlatform,
  type TestPlatform,
} from './start-test-platform.ts';

const OCTETS = { 'content-type': 'application/octet-stream' };

eachStore((driver) => {
  describe('classes', () => {
    let database: TestDatabase;
    let platform: TestPlatform;
    let admin: Client;
    let serial = 0;
    before(async () => {
      database = await driver.createDatabase();
      platform = await startTestPlatform(database.place);
      admin = await platform.signIn('admin', ADMIN_PASSWORD);
    });
    after(async () => {
      await platform?.[Symbol.asyncDispose]();
      await database?.[Symbol.asyncDispose]();
    });

    const define = async (
      properties: object[],
      more: object = {},
    ): Promise<{ id: string; path: string; classname: string }> => {
      serial += 1;
      const classname = `t/Class${serial}`;
      const answer = await admin.call('POST', 'design/classes', { body: { classname, properties, ...more } });
      assert.equal(answer.status, 200, answer.text);
      return { id: answer.body.id, path: `model/${classname}`, classname };
    };
    const refuse = async (body: object, field?: string): Promise<void> => {
      serial += 1;
      const answer = await admin.call('POST', 'design/classes', { body: { classname: `t/Bad${serial}`, ...body } });
      assert.equal(answer.status, 422, `${JSON.stringify(body)}: ${answer.text}`);
      if (field) assert.equal(answer.body.error_details.field, field);
    };
    const post = async (path: string, body: object): Promise<Answer['body']> => {
      const answer = await admin.call('POST', path, { body });
      assert.equal(answer.status, 200, answer.text);
      return answer.body;
    };
    const rows = async (path: string, filter: unknown, more = ''): Promise<Answer['body']> =>
      (await admin.call('GET', `${path}?filter=${encodeURIComponent(JSON.stringify(filter))}${more}`)).body;

    it('refuse definitions that break a rule', async () => {
      for (const property of [
        { name: 'id', data_type: 'string' },
        { name: 'Ext', data_type: 'string' },
        { name: '1a', data_type: 'string' },
        { name: 'a', data_type: 'text' },
        { name: 'a', data_type: 'enum' },
        { name: 'a', data_type: 'enum', items: ['x', 'x'] },
        { name: 'a', data_type: 'integer', default: 'x' },
        { name: 'a', data_type: 'attachment', multi: true },
        { name: 'a', data_type: 'integer', secret: true },
      ])
        await refuse({ properties: [property] }, 'properties');
      await refuse(
        {
          properties: [
            { name: 'a', data_type: 'string' },
            { name: 'A', data_type: 'string' },
          ],
        },
        'properties',
      );
      await refuse({ classname: '1/x' }, 'classname');
      for (const [name, value] of Object.entries({ storage_mode: 'x', integrity_mode: 'x', cache_mode: 'x' }))
        await refuse({ [name]: value }, name);
      await refuse({ opts: { lookup_properties: ['nope'] } }, 'opts');
      await refuse({ opts: { storage_instance: 'nope' } }, 'opts.storage_instance');
      await refuse({ opts: { expires_mode: 'x' } }, 'opts.expires_mode');
    });

    it('take every type of value, in its own and in textual form', async () => {
      const types: readonly [type: string, given: unknown, kept: unknown, wrong: unknown][] = [
        ['string', 'x', 'x', 5],
        ['integer', '7', 7, 1.5],
        ['int', -7, -7, 2 ** 31],
        ['long', '9007199254740993', '9007199254740993', 'x'],
        ['float', '1.5', 1.5, 'NaN'],
        ['boolean', 'true', true, 'yes'],
        ['datetime', '2026-01-02T03:04:05+02:00', '2026-01-02T01:04:05.000000Z', '2026-13-01'],
        ['date', '2026-01-02', '2026-01-02', '2026-02-30'],
        ['time', '12:30', '12:30:00', '25:00'],
        ['uuid', 'AAAAAAAA-0000-4000-8000-000000000000', 'aaaaaaaa-0000-4000-8000-000000000000', 'x'],
        ['any', { a: [1] }, { a: [1] }, 'x'.repeat(70_000)],
      ];
      const properties = types.flatMap(([data_type]) => [
        { name: `p_${data_type}`, data_type },
        { name: `m_${data_type}`, data_type, multi: true },
      ]);
      const { path } = await define([
        ...properties,
        { name: 'e', data_type: 'enum', items: ['a', { code: 'b', caption: 'B' }] },
      ]);
      for (const [type, given, kept, wrong] of types) {
        const item = await post(path, { [`p_${type}`]: given, [`m_${type}`]: [given, given] });
        assert.deepEqual([item[`p_${type}`], item[`m_${type}`]], [kept, [kept, kept]], type);
        for (const body of [{ [`p_${type}`]: wrong }, { [`m_${type}`]: [wrong] }, { [`m_${type}`]: given }]) {
          if (type === 'any' && `m_${type}` in body && !Array.isArray(body[`m_${type}`])) continue;
          assert.equal(
            (await admin.call('POST', path, { body })).status,
            400,
            `${type} ${JSON.stringify(body).slice(0, 80)}`,
          );
        }
      }
      assert.equal((await post(path, { e: 'b' })).e, 'b');
      assert.equal((await admin.call('POST', path, { body: { e: 'c' } })).status, 400);
    });

    it('give their children what these do not override', async () => {
      const parent = await define(
        [
          { name: 'a', data_type: 'integer', default: 1 },
          { name: 'b', data_type: 'string', required: true },
        ],
        { storage_mode: 'abstract' },
      );
      const child = await define(
        [
          { name: 'b', data_type: 'string' },
          { name: 'c', data_type: 'boolean' },
        ],
        { parent_id: parent.id },
      );
      const item = await post(child.path, { c: true });
      assert.deepEqual([item.a, item.b, item.c], [1, undefined, true]);
      assert.equal((await admin.call('GET', parent.path)).status, 404, 'an abstract class has no data');
      await refuse({ parent_id: parent.id, properties: [{ name: 'a', data_type: 'boolean' }] }, 'properties');
      const circle = await admin.call('PATCH', `design/classes/${parent.id}`, { body: { parent_id: child.id } });
      assert.equal(circle.status, 422);
      assert.equal((await admin.call('DELETE', `design/classes/${parent.id}`)).status, 422);
      await admin.call('PATCH', `design/classes/${parent.id}`, {
        body: { properties: [{ name: 'a', data_type: 'integer', default: 2 }] },
      });
      assert.equal((await post(child.path, {})).a, 2, 'the parent changed');
    });

    it('ask for required values unless defaults may fill them', async () => {
      const properties = [{ name: 'a', data_type: 'string', required: true, default: 'x' }];
      const strict = await define(properties);
      assert.equal((await admin.call('POST', strict.path, { body: {} })).status, 422);
      const filling = await define(properties, { opts: { check_required_fill_defaults: true } });
      const item = await post(filling.path, {});
      assert.equal(item.a, 'x');
      assert.equal((await admin.call('PATCH', `${strict.path}/${item.id}`, { body: {} })).status, 404);
    });

    it('filter, order, count, mask and cut their data', async () => {
      const { path } = await define([
        { name: 'n', data_type: 'integer' },
        { name: 's', data_type: 'string' },
        { name: 'at', data_type: 'datetime' },
        { name: 'tags', data_type: 'string', multi: true },
        { name: 'data', data_type: 'any' },
      ]);
      for (let n = 0; n < 30; n++) {
        await post(path, {
          n: n % 10,
          s: `s${n}`,
          at: `2026-01-${String((n % 28) + 1).padStart(2, '0')}`,
          tags: [`t${n % 3}`, 'all'],
          data: { deep: { n } },
        });
      }
      const count = async (filter: unknown): Promise<number> => {
        const { count: counted } = await rows(path, filter, '&limit=0');
        assert.equal((await rows(path, filter)).length, counted, JSON.stringify(filter));
        return counted;
      };
      assert.equal(await count({ n: 3 }), 3);
      assert.equal(await count({ n: '2~4' }), 9);
      assert.equal(await count({ s: 's1%' }), 11);
      assert.equal(await count({ s: ['s1', 's2', 'nope'] }), 2);
      assert.equal(await count({ at: '2026-01-05' }), 1);
      assert.equal(await count({ at: '~2026-01-05' }), 7);
      assert.equal(await count({ tags: ['t1', 'all'] }), 10);
      assert.equal(await count({ data: { deep: { n: '5~' } } }), 25);
      assert.equal(await count({ 'data.deep.n': 7 }), 1);
      assert.equal(await count({ s: '/reg/^s2[0-4]$', n: '0~2' }), 3);
      assert.equal(await count(['and', ['>=', 'n', 8], ['not', ['=', 's', 's8']]]), 5);
      const ordered = await rows(
        path,
        {},
        `&order=${encodeURIComponent('[{"n":"desc"},"s"]')}&mask=n,s&limit=4&offset=1`,
      );
      assert.deepEqual(ordered, [
        { n: 9, s: 's29' },
        { n: 9, s: 's9' },
        { n: 8, s: 's18' },
        { n: 8, s: 's28' },
      ]);
      const here = await rows(path, {}, '&order=-data.deep.n&mask=s&limit=2');
      assert.deepEqual(here, [{ s: 's29' }, { s: 's28' }]);
      const matched = await rows(path, { s: '%9' }, '&order=-s&mask=s&limit=2&offset=1');
      assert.deepEqual(
        matched,
        [{ s: 's29' }, { s: 's19' }]
          .slice(0, 2)
          .filter(({ s }) => s !== 's9')
          .slice(0, 2),
      );
      assert.equal((await admin.call('GET', `${path}?filter={"nope":1}`)).status, 400);
      assert.equal((await admin.call('GET', `${path}?filter={"opts":{"a":1}}`)).status, 400);
    });

    it('look up by the properties they name', async () => {
      const { path } = await define(
        [
          { name: 'code', data_type: 'string' },
          { name: 'no', data_type: 'integer' },
        ],
        { opts: { lookup_properties: ['code', 'no'] } },
      );
      const [a, b] = [await post(path, { code: 'x', no: 1 }), await post(path, { code: 'x', no: 2 })];
      assert.deepEqual((await admin.call('LOOKUP', path, { body: 'x' })).body, [a.id, b.id].sort());
      assert.deepEqual((await admin.call('LOOKUP', path, { body: 2 })).body, [b.id]);
      assert.deepEqual((await admin.call('POST', `${path}!lookup`, { body: a.id })).body, [a.id]);
      const missed = await admin.call('LOOKUP', path, { body: '%' });
      assert.deepEqual([missed.status, missed.body.error_code], [404, 1404]);
    });

    it('keep what a transaction log was told', async () => {
      const { path } = await define([{ name: 'a', data_type: 'string' }], { storage_mode: 'transactionlog' });
      const { id } = await post(path, { a: 'x' });
      for (const method of ['PATCH', 'PUT', 'DELETE']) {
        const answer = await admin.call(method, `${path}/${id}`, { body: {} });
        assert.deepEqual([answer.status, answer.headers.get('allow')], [405, 'GET, HEAD'], method);
      }
      assert.equal((await admin.call('GET', `${path}/${id}`)).status, 200);
    });

    it('serve runtime classes from memory', async () => {
      const { path } = await define([{ name: 'a', data_type: 'integer' }], {
        storage_mode: 'runtime',
        opts: { lookup_properties: ['a'] },
      });
      const ids = [];
      for (const a of [3, 1, 2]) ids.push((await post(path, { a })).id);
      assert.deepEqual(await rows(path, { a: '2~' }, '&order=a&mask=a'), [{ a: 2 }, { a: 3 }]);
      assert.deepEqual((await admin.call('LOOKUP', path, { body: 1 })).body, [ids[1]]);
      assert.equal((await admin.call('PATCH', `${path}/${ids[0]}`, { body: { a: 9 } })).body.a, 9);
      assert.equal((await admin.call('DELETE', `${path}/${ids[0]}`)).status, 204);
      assert.deepEqual(await rows(path, {}, '&limit=0'), { count: 2 });
    });

    it('hide at once what expired', async () => {
      const custom = await define([{ name: 'until', data_type: 'datetime' }], {
        opts: { expires_mode: 'custom', expires_ts_property: 'until' },
      });
      const over = await post(custom.path, { until: '2020-01-01T00:00:00Z' });
      const live = await post(custom.path, { until: '2120-01-01T00:00:00Z' });
      const ever = await post(custom.path, {});
      assert.deepEqual(
        (await rows(custom.path, {}, '&mask=id')).map(({ id }: { id: string }) => id),
        [live.id, ever.id].sort(),
      );
      assert.deepEqual(await rows(custom.path, {}, '&limit=0'), { count: 2 });
      assert.equal((await admin.call('GET', `${custom.path}/${over.id}`)).status, 404);
      assert.equal((await admin.call('PATCH', `${custom.path}/${over.id}`, { body: {} })).status, 404);
      assert.equal('_expires' in live, false);
      const ttl = await define([{ name: 'ttl', data_type: 'integer' }], {
        opts: { expires_mode: 'create', expires_ttl_property: 'ttl' },
      });
      const brief = await post(ttl.path, { ttl: 0 });
      assert.equal((await admin.call('GET', `${ttl.path}/${brief.id}`)).status, 404);
    });

    it('keep secrets sealed and masked', async () => {
      const { path } = await define([
        { name: 's', data_type: 'string', secret: true },
        { name: 'a', data_type: 'string' },
      ]);
      const item = await post(path, { s: 'hidden', a: 'x' });
      assert.equal(item.s, '*****');
      const same = await admin.call('PATCH', `${path}/${item.id}`, { body: { s: '*****', a: 'x' } });
      assert.deepEqual(same.body, item);
      assert.equal((await admin.call('GET', `${path}?filter={"s":"%"}`)).status, 400);
      assert.equal((await admin.call('GET', path)).text.includes('hidden'), false);
    });

    it('refuse a change of type that rows would not survive, and rows going unasked', async () => {
      const { id, path } = await define([{ name: 'a', data_type: 'string' }]);
      await post(path, { a: 'x' });
      const class_ = `design/classes/${id}`;
      const refused = await admin.call('PATCH', class_, {
        body: { properties: [{ name: 'a', data_type: 'integer' }] },
      });
      assert.deepEqual([refused.status, refused.body.error_details.count], [422, 1]);
      assert.equal(
        (
          await admin.call('PATCH', class_, {
            body: {
              properties: [
                { name: 'a', data_type: 'any' },
                { name: 'b', data_type: 'date' },
              ],
            },
          })
        ).status,
        200,
      );
      assert.equal((await admin.call('DELETE', class_)).status, 422);
      assert.equal((await admin.call('DELETE', class_, { body: { force: true } })).status, 204);
      assert.equal((await admin.call('GET', path)).status, 404);
    });

    it('limit lists and items as their options say', async () => {
      const { path } = await define(
        [
          { name: 'a', data_type: 'string' },
          { name: 'b', data_type: 'string' },
        ],
        { opts: { max_limit: 2, max_mask: ['id', 'a'], max_size: 400 } },
      );
      for (const a of ['x', 'y', 'z']) await post(path, { a, b: 'hidden' });
      const listed = await admin.call('GET', `${path}?limit=100&order=a`);
      assert.equal(listed.headers.get('x-limit-applied'), '2');
      assert.deepEqual(
        listed.body.map((item: object) => Object.keys(item)),
        [
          ['id', 'a'],
          ['id', 'a'],
        ],
      );
      assert.deepEqual((await admin.call('GET', `${path}?mask=a,b&limit=1&order=a`)).body, [{ a: 'x' }]);
      assert.equal((await admin.call('POST', path, { body: { a: 'x'.repeat(500) } })).status, 422);
    });

    it('attach files, serve them harmless, and drop them', async () => {
      const { path } = await define([
        { name: 'doc', data_type: 'attachment' },
        { name: 'a', data_type: 'string' },
      ]);
      const { id } = await post(path, { a: 'x', doc: { name: 'forged' } });
      const file = `${path}/${id}/doc`;
      const raw = (method: string, body?: string | FormData, headers: Record<string, string> = OCTETS, query = '') =>
        fetch(`${platform.url}/rest/v1/${file}${query}`, {
          method,
          headers: { ...admin.headers, ...(body ? headers : {}) },
          ...(body ? { body } : {}),
        });
      assert.equal((await raw('GET')).status, 404);
      const put = await raw('PUT', '<script>1</script>', OCTETS, '?name=page.html');
      assert.equal(put.status, 200);
      const { doc } = (await put.json()) as { doc: Record<string, unknown> };
      assert.deepEqual([doc.name, doc.size], ['page.html', 18]);
      const shown = await raw('GET');
      assert.equal(shown.headers.get('content-type'), 'text/html; charset=utf-8');
      assert.match(shown.headers.get('content-security-policy')!, /^sandbox; default-src 'none'/);
      assert.equal(shown.headers.get('x-content-type-options'), 'nosniff');
      assert.equal(await shown.text(), '<script>1</script>');
      const saved = await raw('GET', undefined, {}, '?attachment=1');
      assert.equal(saved.headers.get('content-type'), 'application/octet-stream');
      assert.match(saved.headers.get('content-disposition')!, /^attachment; filename="page.html"/);
      await saved.text();
      const form = new FormData();
      form.set('file', new Blob(['second']), 'b.txt');
      assert.equal((await raw('PUT', form, {})).status, 200);
      assert.equal(await (await raw('GET')).text(), 'second');
      assert.equal(
        (await admin.call('PATCH', `${path}/${id}`, { body: { a: 'y' } })).body.doc.name,
        'b.txt',
        'other writes leave it',
      );
      const exported = (await admin.call('GET', `${path}/${id}?export=1`)).body;
      assert.equal(exported.doc.href, `/rest/v1/${file}`);
      assert.equal((await raw('DELETE')).status, 204);
      assert.equal((await raw('GET')).status, 404);
      assert.equal(
        (await admin.call('PUT', `${path}/${id}/a`, { body: 'x' })).status,
        404,
        'only attachments are files',
      );
    });

    it('that are built in keep their definition', async () => {
      const [id] = (await admin.call('LOOKUP', 'design/classes', { body: 'oauth/Providers' })).body;
      assert.equal((await admin.call('PATCH', `design/classes/${id}`, { body: { properties: [] } })).status, 422);
      assert.equal((await admin.call('DELETE', `design/classes/${id}`, { body: { force: true } })).status, 422);
      const provider = await post('model/oauth/Providers', { code: 'p', client_secret: 's' });
      assert.deepEqual([provider.client_secret, provider.enabled, provider.type], ['*****', true, 'oidc']);
    });
  });
});
