/** The change journal: its conditions, paging, masks, secrets, and what of it is never shown. */
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

type Entry = {
  cmdtype: string;
  dtutc: string;
  objtype: string;
  objid: string;
  fields?: string;
  obj: Record<string, unknown>;
};

eachStore((driver) => {
  describe('the journal', () => {
    let database: TestDatabase;
    let platform: TestPlatform;
    let admin: Client;
    let id: string;
    before(async () => {
      database = await driver.createDatabase();
      platform = await startTestPlatform(database.place);
      admin = await platform.signIn('admin', ADMIN_PASSWORD);
      const made = await admin.call('POST', 'iam/users', {
        body: { login: 'Watched', pwd: 'first-secret', opts: { roles: ['user'] } },
      });
      id = made.body.id;
      for (const body of [{ name: 'B', opts: { tags: ['x'] } }, { pwd: 'second-secret' }, { ext: { a: { b: 1 } } }]) {
        assert.equal((await admin.call('PATCH', `iam/users/${id}`, { body })).status, 200);
      }
      await admin.call('DELETE', `iam/users/${id}`);
    });
    after(async () => {
      await platform?.[Symbol.asyncDispose]();
      await database?.[Symbol.asyncDispose]();
    });

    const ask = (params: unknown, more = ''): Promise<Answer> =>
      admin.call(
        'GET',
        `journal/changes?params=${encodeURIComponent(typeof params === 'string' ? params : JSON.stringify(params))}${more}`,
      );
    const read = async (params: unknown, more = ''): Promise<Entry[]> => {
      const answer = await ask(params, more);
      assert.equal(answer.status, 200, answer.text);
      return answer.body;
    };

    it('tells each change, newest first, with the names of what changed', async () => {
      const entries = await read({ objtype: 'user', objid: id });
      assert.deepEqual(
        entries.map(({ cmdtype }) => cmdtype),
        ['delete', 'update', 'update', 'update', 'create'],
      );
      assert.deepEqual(
        entries.map(({ fields }) => fields),
        [undefined, 'ext.a', 'pwd', 'name,opts.tags', undefined],
      );
      const [gone, , , renamed, made] = entries as [Entry, Entry, Entry, Entry, Entry];
      assert.deepEqual([made.obj.name, renamed.obj.name, gone.obj.name], ['Watched', 'B', 'B']);
      assert.equal(gone.obj.id, id);
      assert.match(gone.dtutc, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
      assert.deepEqual(Object.keys(renamed).sort(), [
        'cmdtype',
        'dtutc',
        'fields',
        'modifierid',
        'modifiername',
        'obj',
        'objid',
        'objtype',
      ]);
      assert.equal(/secret|argon2/.test(JSON.stringify(entries)), false);
    });

    it('finds by id, by key, by command, by time and by the path of a collection', async () => {
      const all = await read({ objtype: 'user', objid: id });
      assert.deepEqual(await read({ objtype: 'iam/users', objkey: 'Watched' }), all);
      assert.equal((await read({ objtype: 'user', objid: id.toUpperCase(), cmdtype: 'update' })).length, 3);
      const middle = all[2]!.dtutc;
      assert.deepEqual(
        (await read({ objtype: 'user', objid: id, dtstart: middle })).map(({ dtutc }) => dtutc),
        all.slice(0, 3).map(({ dtutc }) => dtutc),
      );
      assert.equal((await read({ objtype: 'user', objid: id, dtstop: middle })).length, 3);
      const today = all[0]!.dtutc.slice(0, 10);
      for (const dtstart of [
        today,
        `${today} 00:00`,
        Math.floor(Date.parse(today) / 1000),
        Date.parse(today),
        `${today}T00:00:00+00:00`,
      ]) {
        assert.equal((await read({ objtype: 'user', objid: id, dtstart })).length, 5, String(dtstart));
      }
      assert.deepEqual(await read({ dtstart: '2120-01-01' }), []);
      assert.ok((await read({ cmdtype: 'create' })).length > 3);
    });

    it('applies outer bounds after inner ones, and the parameters of lists', async () => {
      const wanted = { objtype: 'user', objid: id };
      assert.deepEqual(
        (await read({ ...wanted, offset: 1, limit: 3 }, '&offset=1&limit=5')).map(({ fields }) => fields),
        ['pwd', 'name,opts.tags'],
      );
      assert.deepEqual((await ask(wanted, '&limit=0')).body, { count: 5 });
      assert.deepEqual((await ask({ ...wanted, limit: 2 }, '&countonly=1')).body, { count: 2 });
      assert.deepEqual(await read(wanted, '&mask=obj.login,cmdtype&limit=1'), [
        { obj: { login: 'Watched' }, cmdtype: 'delete' },
      ]);
      const [flat] = await read(wanted, '&flat=true&limit=1');
      assert.deepEqual(flat!.obj['opts.roles'], ['user']);
      assert.equal((await read(wanted, `&filter=${encodeURIComponent('{"fields":"%pwd%"}')}`)).length, 1);
      assert.deepEqual((await read(wanted, '&order=dtutc')).map(({ cmdtype }) => cmdtype)[0], 'create');
      assert.deepEqual(Object.keys((await read(wanted, '&mask=addr&limit=1'))[0]!), ['addr']);
    });

    it('refuses conditions that will not do, and says which would', async () => {
      const required = [['dtstart'], ['dtstop'], ['cmdtype'], ['objtype', 'objid'], ['objtype', 'objkey']];
      for (const bad of [
        '',
        '{}',
        { limit: 5 },
        { objtype: 'user' },
        { objid: id },
        { objkey: 'x' },
        { objtype: 'user', objid: id, objkey: 'x' },
        { objtype: 'dog', objid: id },
        { cmdtype: 'drop' },
        { dtstart: '2026-02-01', dtstop: '2026-01-01' },
      ]) {
        const answer = await ask(bad);
        assert.deepEqual(
          [answer.status, answer.body.error_code, answer.body.error_details.required],
          [400, 1400, required],
          JSON.stringify(bad),
        );
      }
      for (const bad of [
        '{',
        '[]',
        { dtstart: 'yesterday' },
        { cmdtype: 'create', limit: -1 },
        { cmdtype: 'create', offset: 'x' },
      ]) {
        assert.equal((await ask(bad)).status, 400, JSON.stringify(bad));
      }
      assert.equal((await admin.call('GET', 'journal/changes')).status, 400);
      assert.equal((await admin.call('GET', 'journal/changes?filter={"cmdtype":"create"}')).status, 400);
    });
  });
});
