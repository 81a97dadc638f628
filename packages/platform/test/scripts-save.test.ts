/** What a script must be to be saved: every refusal is a 422 that names the object. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { chain, createScripts, type Scripts } from './run-script.ts';
import { ADMIN_PASSWORD, type Client, startTestPlatform, type TestPlatform } from './start-test-platform.ts';

describe('scripts: saving', () => {
  let platform: TestPlatform;
  let admin: Client;
  let scripts: Scripts;
  before(async () => {
    platform = await startTestPlatform();
    admin = await platform.signIn('admin', ADMIN_PASSWORD);
    scripts = createScripts(admin);
  });
  after(() => platform?.[Symbol.asyncDispose]());

  const refused = async (objects: readonly object[], oId: unknown, key?: string): Promise<string> => {
    const { status, body, text } = await scripts.trySave(objects);
    assert.deepEqual([status, body.error_code], [422, 1405], text);
    assert.equal(body.error_details.field, 'scriptdata.objects');
    assert.deepEqual([body.error_details.oId, body.error_details.key], [oId, key], text);
    return body.error_message;
  };

  it('wants numbered objects of known types', async () => {
    await refused([{ oType: 101 }], null, 'oId');
    await refused([{ oId: 'a', oType: 101 }], 'a', 'oId');
    await refused([{ oId: 0, oType: 101 }], 0, 'oId');
    await refused(['text' as unknown as object], null);
    await refused(
      [
        { oId: 1, oType: 101 },
        { oId: 2, oType: 999 },
      ],
      2,
      'oType',
    );
    await refused([{ oId: 1, oType: 101 }, { oId: 2 }], 2, 'oType');
    await refused(
      [
        { oId: 1, oType: 101 },
        { oId: 1, oType: 103 },
      ],
      1,
      'oId',
    );
  });

  it('wants exactly one start', async () => {
    await refused([{ oId: 4, oType: 103 }], 4, 'oType');
    await refused(
      [
        { oId: 1, oType: 101 },
        { oId: 2, oType: 101 },
      ],
      2,
      'oType',
    );
    await refused([{ oId: 1, oType: 101, inputs: ['good', 'not good'] }], 1, 'inputs');
    assert.equal((await scripts.trySave([])).status, 200, 'a draft has none yet');
  });

  it('wants every transfer to lead to an object, or to the end', async () => {
    await refused([{ oId: 1, oType: 101, transfer: 7 }], 1, 'transfer');
    await refused(
      [
        { oId: 1, oType: 101, transfer: '2' },
        { oId: 2, oType: 103 },
      ],
      1,
      'transfer',
    );
    await refused(
      chain({
        oType: 111,
        cases: [
          { cond: 'true', transfer: 0 },
          { cond: 'true', transfer: 9 },
        ],
      }),
      2,
      'cases[1].transfer',
    );
    await refused(chain({ oType: 112, list: '[]', item: 'x', body: 9 }), 2, 'body');
    await refused(chain({ oType: 131, collection: 'c', fields: {}, transfer_conflict: 9 }), 2, 'transfer_conflict');
    assert.equal((await scripts.trySave([{ oId: 1, oType: 101, transfer: 0 }])).status, 200);
  });

  it('wants the keys of each element', async () => {
    for (const [object, key] of [
      [{ oType: 110 }, 'assign'],
      [{ oType: 110, assign: 'x = 1' }, 'assign'],
      [{ oType: 110, assign: [{ name: 'x' }] }, 'assign[0].expr'],
      [{ oType: 110, assign: [{ name: '1x', expr: '1' }] }, 'assign[0].name'],
      [{ oType: 111, cases: [{ cond: '1' }] }, 'cases[0].transfer'],
      [{ oType: 112, list: '[]', body: 1 }, 'item'],
      [{ oType: 113 }, 'code'],
      [{ oType: 113, code: 'x', in: { 'no name': '1' } }, 'in'],
      [{ oType: 114, ms: 5001 }, 'ms'],
      [{ oType: 130, collection: 'iam/users' }, 'save'],
      [{ oType: 130, collection: 'iam/users', save: 'x', limit: 101 }, 'limit'],
      [{ oType: 132, collection: 'iam/users', fields: {} }, 'id'],
      [{ oType: 180, level: 'loud', text: 'x' }, 'level'],
      [{ oType: 190 }, 'source'],
    ] as const) {
      await refused(chain(object), 2, key);
    }
  });

  it('compiles expressions, templates and code, and runs none of them', async () => {
    for (const [object, key] of [
      [{ oType: 110, assign: [{ name: 'x', expr: '1 +' }] }, 'assign[0].expr'],
      [{ oType: 110, assign: [{ name: 'x', expr: '1; 2' }] }, 'assign[0].expr'],
      [{ oType: 110, assign: [{ name: 'x', expr: '1) + (2' }] }, 'assign[0].expr'],
      [
        { oType: 110, assign: [{ name: 'x', expr: '})}}); for(;;); (function(){with({}){return (1' }] },
        'assign[0].expr',
      ],
      [{ oType: 102, result: { ok: '1', bad: 'if' } }, 'result.bad'],
      [{ oType: 180, text: 'a {{ 1 + }} b' }, 'text'],
      [{ oType: 131, collection: 'c', fields: { deep: [{ text: '{{}}' }] } }, 'fields'],
      [{ oType: 190, source: 'return (' }, 'source'],
      [{ oType: 190, source: '}}); for(;;); (function(){{' }, 'source'],
    ] as const) {
      assert.match(await refused(chain(object), 2, key), /compile/);
    }
    await refused(chain({ oType: 180, text: 'a {{ b' }), 2, 'text');
    const looping = chain({ oType: 110, assign: [{ name: 'x', expr: '(() => { for (;;); })()' }] });
    assert.equal((await scripts.trySave(looping)).status, 200);
  });

  it('wants variables with names, types, places and defaults that fit', async () => {
    const variable = async (variables: readonly object[], defaults: object, field: string): Promise<void> => {
      const { status, body } = await scripts.trySave([], { variables, opts: { variables: defaults } });
      assert.deepEqual([status, body.error_details?.field], [422, field]);
    };
    await variable([{ type: 1 }], {}, 'scriptdata.variables[0]');
    await variable([{ name: 'a' }, { name: 'a' }], {}, 'scriptdata.variables[1]');
    await variable([{ name: 'a', type: 7 }], {}, 'scriptdata.variables[0]');
    await variable([{ name: 'a', location: 5 }], {}, 'scriptdata.variables[0]');
    await variable([{ name: '__proto__' }], {}, 'scriptdata.variables[0]');
    await variable([{ name: 'a', type: 2 }], { a: 'one' }, 'opts.variables.a');
  });

  it('warns of what cannot be reached, and takes it', async () => {
    const objects = [
      { oId: 1, oType: 101, transfer: 2 },
      { oId: 2, oType: 102, transfer: 3 },
      { oId: 3, oType: 180, text: 'never', transfer: 5 },
      { oId: 4, oType: 103, text: 'a note' },
      { oId: 5, oType: 103, text: 'another' },
    ];
    const saved = await scripts.save(objects);
    const get = async () => (await admin.call('GET', `service/svcscripts/${saved.id}`)).body;
    assert.equal((await get()).ext.warnings, 'unreachable objects: 3');
    await admin.call('PATCH', `service/svcscripts/${saved.id}`, { body: { scriptdata: { objects: chain() } } });
    const { ext, scriptdata } = await get();
    assert.deepEqual([ext.warnings, scriptdata.objects.length], [undefined, 1]);
    const forged = { ext: { warnings: 'none', own: 1 } };
    await admin.call('PATCH', `service/svcscripts/${saved.id}`, { body: forged });
    assert.deepEqual([(await get()).ext.warnings, (await get()).ext.own], [undefined, 1]);
  });

  it('checks PATCH and PUT like POST', async () => {
    const { id, code } = await scripts.save(chain());
    const bad = { scriptdata: { objects: chain({ oType: 110, assign: [{ name: 'x', expr: '1 +' }] }) } };
    for (const method of ['PATCH', 'PUT']) {
      const { status, body } = await admin.call(method, `service/svcscripts/${id}`, { body: { code, ...bad } });
      assert.deepEqual([status, body.error_details?.oId], [422, 2], method);
    }
    assert.equal((await admin.call('PATCH', `service/svcscripts/${id}`, { body: { name: 'Named' } })).status, 200);
  });

  it('tells the elements there are, and the declared keys are those that are checked', async () => {
    assert.equal((await platform.guest.call('GET', 'service/svcscript_elements')).status, 401);
    const { status, body } = await admin.call('GET', 'service/svcscript_elements');
    assert.equal(status, 200);
    const choice = body.find((each: { oType: number }) => each.oType === 111);
    assert.equal(choice.keys.transfer.kind, 'transfer');
    assert.deepEqual(choice.keys.cases.items.cond, { kind: 'expression', required: true });
    for (const { oType, keys } of body as { oType: number; keys: Record<string, { required?: boolean }> }[]) {
      const first = Object.keys(keys).find((key) => keys[key]!.required);
      if (first !== undefined)
        await refused(
          [
            { oId: 1, oType: 101 },
            { oId: 2, oType },
          ],
          2,
          first,
        );
    }
  });
});
