/** Every collection through every verb, every list parameter and both method forms, on both drivers. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { eachStore, type TestDatabase, type TestDriver } from '@parley/kit/testing/each-store.ts';
import { flatten } from '../src/rest/json.ts';
import { createReferences, type References, SAMPLES, type Sample } from './samples.ts';
import {
  ADMIN_PASSWORD,
  type Answer,
  type Client,
  startTestPlatform,
  type TestPlatform,
} from './start-test-platform.ts';

const MISSING = '00000000-0000-7000-8000-000000000001';

/** How a method reaches the server: by itself, or as POST with a suffix. */
const FORMS = ['method', 'suffix'] as const;
type Form = (typeof FORMS)[number];

const send = (client: Client, form: Form, method: string, path: string, body?: unknown): Promise<Answer> => {
  const ask = body === undefined ? {} : { body };
  return form === 'method'
    ? client.call(method, path, ask)
    : client.call('POST', `${path}!${method.toLowerCase()}`, ask);
};

const query = (parameters: Record<string, unknown>): string =>
  new URLSearchParams(
    Object.entries(parameters).map(([name, value]): [string, string] => [
      name,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]),
  ).toString();

/** Everything in memory, and everything that may be in the database there. */
const MEMORY = { 'in memory': {}, 'in the database': { 'platform.memory.max_rows': '5' } };

const suite = (driver: TestDriver, where: string, settings: Readonly<Record<string, string>>): void => {
  describe(`collections ${where}`, () => {
    let database: TestDatabase;
    let platform: TestPlatform;
    let admin: Client;
    let refs: References;
    let serial = 0;

    before(async () => {
      database = await driver.createDatabase();
      platform = await startTestPlatform(database.place, settings);
      admin = await platform.signIn('admin', ADMIN_PASSWORD);
      refs = await createReferences(admin);
    });
    after(async () => {
      await platform?.[Symbol.asyncDispose]();
      await database?.[Symbol.asyncDispose]();
    });

    const make = async (sample: Sample): Promise<Answer> => {
      serial += 1;
      return admin.call('POST', sample.path, { body: sample.body(serial, refs) });
    };
    const drop = async (sample: Sample, id: string) => {
      await sample.release?.(admin);
      return admin.call('DELETE', `${sample.path}/${id}`, { body: { force: true } });
    };

    for (const sample of SAMPLES) {
      describe(sample.path, () => {
        it('creates with generated fields and keeps what was sent', async () => {
          const made = await make(sample);
          assert.equal(made.status, 200, made.text);
          assert.match(made.body.id, /^[0-9a-f]{8}-[0-9a-f]{4}-7/);
          assert.match(made.body.ext.ct, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
          assert.equal(made.headers.get('etag'), `W/"${made.body.ext.lwt}"`);
          const read = await admin.call('GET', `${sample.path}/${made.body.id}`);
          assert.deepEqual(read.body, made.body);
          await drop(sample, made.body.id);
        });

        it('takes an id of the caller, in lower case, once', async () => {
          serial += 1;
          const id = `AAAAAAAA-0000-4000-8000-${String(serial).padStart(12, '0')}`;
          const made = await admin.call('POST', sample.path, { body: { ...sample.body(serial, refs), id } });
          assert.equal(made.body.id, id.toLowerCase());
          const again = await admin.call('POST', sample.path, { body: { ...sample.body(serial, refs), id } });
          assert.deepEqual([again.status, again.body.error_code], [409, 1402]);
          await drop(sample, made.body.id);
        });

        it('lists its own fields only, and all with mask=*', async () => {
          const made = await make(sample);
          const filter = { id: made.body.id };
          const listed = await admin.call('GET', `${sample.path}?${query({ filter })}`);
          assert.equal(listed.body.length, 1);
          assert.deepEqual(Object.keys(flatten(listed.body[0])).sort(), [...sample.list].sort());
          const full = await admin.call('GET', `${sample.path}?${query({ filter, mask: '*' })}`);
          assert.deepEqual(full.body[0], made.body);
          await drop(sample, made.body.id);
        });

        it('masks, flattens, orders, cuts and counts lists', async () => {
          const made = [];
          for (let n = 0; n < 3; n++) made.push((await make(sample)).body);
          const ids = made.map(({ id }) => id).sort();
          const filter = { id: ids };
          const list = async (parameters: object) =>
            (await admin.call('GET', `${sample.path}?${query({ filter, ...parameters })}`)).body;
          assert.deepEqual(
            await list({ mask: 'id' }),
            ids.map((id) => ({ id })),
          );
          assert.deepEqual(
            await list({ mask: 'id', order: [{ id: 'desc' }] }),
            ids.toReversed().map((id) => ({ id })),
          );
          assert.deepEqual(
            await list({ mask: 'id', order: '-ext.ct' }),
            made.toReversed().map(({ id }) => ({ id })),
          );
          assert.deepEqual(await list({ mask: 'id', offset: 1, limit: 1 }), [{ id: ids[1] }]);
          assert.deepEqual(await list({ limit: 0, offset: 2 }), { count: 3 });
          assert.deepEqual(await list({ countonly: 'TRUE' }), { count: 3 });
          assert.deepEqual(
            Object.keys((await list({ mask: 'ext', flat: true, limit: 1 }))[0]).filter(
              (key) => !key.startsWith('ext.'),
            ),
            [],
          );
          assert.deepEqual(await list({ filter: ['in', 'id', [ids[0]]], mask: 'id' }), [{ id: ids[0] }]);
          assert.deepEqual(await list({ filter: { 'ext.ct': `${made[1].ext.ct}~` }, countonly: true }), { count: 2 });
          for (const { id } of made) await drop(sample, id);
        });

        it('reads one with mask and flat', async () => {
          const { body } = await make(sample);
          const masked = await admin.call('GET', `${sample.path}/${body.id}?mask=id,ext.ct&flat=true`);
          assert.deepEqual(masked.body, { id: body.id, 'ext.ct': body.ext.ct });
          const flat = await admin.call('GET', `${sample.path}/${body.id}?flat=1`);
          assert.deepEqual(flat.body, flatten(body));
          await drop(sample, body.id);
        });

        it('exports what can be posted again', async () => {
          const { body } = await make(sample);
          const exported = await admin.call(
            'GET',
            `${sample.path}?${query({ filter: { id: body.id }, export: true })}`,
          );
          await drop(sample, body.id);
          const again = await admin.call('POST', sample.path, { body: exported.body[0] });
          assert.equal(again.status, 200, again.text);
          const without = ({
            ext: _ext,
            autokey: _a,
            token_local: _t,
            lwt: _l,
            params: _p,
            ...rest
          }: Record<string, unknown>) => rest;
          assert.deepEqual(without(again.body), without(body));
          await drop(sample, body.id);
        });

        for (const form of FORMS) {
          it(`patches, replaces, looks up and deletes (${form})`, async () => {
            const { body } = await make(sample);
            const path = `${sample.path}/${body.id}`;
            const patched = await send(admin, form, 'PATCH', path, sample.patch);
            assert.equal(patched.status, 200, patched.text);
            assert.ok(patched.body.ext.lwt > body.ext.lwt);
            assert.equal(patched.body.ext.ct, body.ext.ct);
            const unchanged = await send(admin, form, 'PATCH', path, patched.body);
            assert.deepEqual(unchanged.body, patched.body, 'what was read changes nothing');
            assert.deepEqual((await send(admin, form, 'PATCH', path, {})).body, patched.body);
            const replaced = await send(admin, form, 'PUT', path, patched.body);
            assert.deepEqual(replaced.body, patched.body, 'a PUT of what was read changes nothing');
            if (sample.lookup) {
              const found = await send(admin, form, 'LOOKUP', sample.path, body[sample.lookup]);
              assert.deepEqual(found.body, [body.id]);
            }
            assert.deepEqual((await send(admin, form, 'LOOKUP', sample.path, body.id.toUpperCase())).body, [body.id]);
            const failed = await send(admin, form, 'LOOKUP', sample.path, 'nobody');
            assert.deepEqual(
              [failed.status, failed.body.error_code, failed.body.error_message],
              [404, 1404, 'Lookup failed'],
            );
            await sample.release?.(admin);
            const gone = await send(admin, form, 'DELETE', path);
            assert.deepEqual([gone.status, gone.text], [204, '']);
            assert.equal((await send(admin, form, 'DELETE', path)).status, 404);
            assert.equal((await admin.call('GET', path)).status, 404);
          });
        }

        it('refuses a taken key, a changed id, an unknown id and wrong types', async () => {
          const { body } = await make(sample);
          const path = `${sample.path}/${body.id}`;
          if (sample.unique) {
            const { id: _id, ...rest } = body;
            const again = await admin.call('POST', sample.path, { body: rest });
            assert.deepEqual(
              [again.status, again.body.error_code, again.body.error_details.field],
              [409, 1402, sample.unique],
            );
          }
          const moved = await admin.call('PATCH', path, { body: { id: MISSING } });
          assert.deepEqual([moved.status, moved.body.error_code], [422, 1405]);
          const other = await admin.call('PUT', path, { body: { ...body, id: MISSING } });
          assert.equal(other.status, 422);
          for (const [method, wrong] of [
            ['PATCH', {}],
            ['DELETE', undefined],
            ['GET', undefined],
          ] as const) {
            for (const id of [MISSING, 'no-uuid']) {
              const missing = await admin.call(
                method,
                `${sample.path}/${id}`,
                wrong === undefined ? {} : { body: wrong },
              );
              assert.deepEqual([missing.status, missing.body.error_code], [404, 1401], `${method} ${id}`);
            }
          }
          for (const wrong of [[], 'text', 5, { opts: 'text' }, { ext: [] }]) {
            const refused = await admin.call('PATCH', path, { body: wrong });
            assert.deepEqual([refused.status, refused.body.error_code], [400, 1400], JSON.stringify(wrong));
          }
          const zero = await admin.call('POST', sample.path, {
            body: { ...sample.body(++serial, refs), id: '00000000-0000-0000-0000-000000000000' },
          });
          assert.equal(zero.status, 422);
          await drop(sample, body.id);
        });

        it('honours If-Match', async () => {
          const { body, headers } = await make(sample);
          const path = `${sample.path}/${body.id}`;
          const stale = await admin.call('PATCH', path, {
            body: sample.patch,
            headers: { 'if-match': 'W/"2000-01-01T00:00:00.000000Z"' },
          });
          assert.deepEqual([stale.status, stale.body.error_code], [412, 1412]);
          const fresh = await admin.call('PATCH', path, {
            body: sample.patch,
            headers: { 'if-match': headers.get('etag')! },
          });
          assert.equal(fresh.status, 200);
          assert.equal(
            (await admin.call('DELETE', path, { headers: { 'if-match': headers.get('etag')! } })).status,
            412,
          );
          await drop(sample, body.id);
        });

        it('names unknown fields and ignores them', async () => {
          serial += 1;
          const made = await admin.call('POST', sample.path, {
            body: { ...sample.body(serial, refs), no_such_field: 1 },
          });
          assert.equal(made.headers.get('x-ignored-fields'), 'no_such_field');
          assert.equal('no_such_field' in made.body, false);
          await drop(sample, made.body.id);
        });

        it('answers 405 with Allow, and 400 for parameters that cannot be', async () => {
          const wrong = await admin.call('PUT', sample.path, { body: {} });
          assert.deepEqual([wrong.status, wrong.headers.get('allow')], [405, 'GET, HEAD, LOOKUP, POST']);
          for (const bad of [
            'limit=-1',
            'offset=x',
            'flat=maybe',
            'filter={',
            'filter={"nope":1}',
            'order=nope',
            'order=[{"id":"up"}]',
            'filter={"$or":5}',
          ]) {
            const refused = await admin.call('GET', `${sample.path}?${bad}`);
            assert.deepEqual([refused.status, refused.body.error_code], [400, 1400], bad);
          }
          const clamped = await admin.call('GET', `${sample.path}?limit=99999999&mask=id`);
          assert.equal(clamped.headers.get('x-limit-applied'), '10000');
        });

        it('writes a journal record for each change, and none for none', async () => {
          const { body } = await make(sample);
          await admin.call('PATCH', `${sample.path}/${body.id}`, { body: sample.patch });
          await admin.call('PATCH', `${sample.path}/${body.id}`, { body: sample.patch });
          await drop(sample, body.id);
          const params = { objtype: sample.objtype, objid: body.id };
          const found = await admin.call('GET', `journal/changes?${query({ params })}`);
          assert.deepEqual(
            found.body.map(({ cmdtype }: { cmdtype: string }) => cmdtype),
            ['delete', 'update', 'create'],
            found.text,
          );
          assert.equal(found.body[2].obj.id, body.id);
          assert.equal(found.body[1].fields.length > 0, true);
          assert.equal(JSON.stringify(found.body).includes('argon2'), false);
        });
      });
    }
  });
};

eachStore((driver) => {
  for (const [where, settings] of Object.entries(MEMORY)) suite(driver, where, settings);
});
