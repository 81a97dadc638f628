/** Scripts that mean harm: each is bounded, told with script, element and step, and disturbs nobody else. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { chain, createScripts, type Scripts } from './run-script.ts';
import { ADMIN_PASSWORD, type Client, startTestPlatform, type TestPlatform } from './start-test-platform.ts';

const assign = (expr: string) => chain({ oType: 110, assign: [{ name: 'x', expr }] });
const code = (source: string) => chain({ oType: 190, source });

describe('scripts that mean harm', () => {
  let platform: TestPlatform;
  let admin: Client;
  let scripts: Scripts;
  before(async () => {
    platform = await startTestPlatform(undefined, { 'platform.scripts.code': 'true' });
    admin = await platform.signIn('admin', ADMIN_PASSWORD);
    scripts = createScripts(admin);
  });
  after(() => platform?.[Symbol.asyncDispose]());

  /**
   * The run ended with one of these reasons at object 2; or by the wall's time, which is the contract's and goes on where
   * the processors are so busy that the thread of scripts gets none.
   */
  const bounded = async (objects: readonly object[], reasons: readonly string[], element = 'assign'): Promise<void> => {
    const { ended, error } = await scripts.go(objects);
    assert.equal(ended, 'error');
    assert.ok([...reasons, 'time'].includes(error.reason), `${error.reason}: ${error.message}`);
    assert.deepEqual([error.oId, error.element, error.step], [2, element, 2]);
  };

  it('ends loops without end', async () => {
    await bounded(assign('(() => { for (;;); })()'), ['cpu']);
    await bounded(assign('/(a+)+$/.test("a".repeat(40) + "b")'), ['cpu']);
    await bounded(assign('new Proxy({}, { ownKeys() { for (;;); } })'), ['cpu']);
    await bounded(assign('({ toJSON() { for (;;); } })'), ['cpu']);
    await bounded(assign('(JSON.stringify = null, Object.prototype.toJSON = () => { for (;;); }, { a: 1 })'), ['cpu']);
    await bounded(code('for (;;) try { for (;;); } catch { } finally { for (;;); }'), ['cpu'], 'code');
    // Exceptions all the way down are so slow that the interpreter is not asked whether it may go on.
    await bounded(assign('(function f() { try { f() } finally { f() } })()'), ['cpu', 'memory']);
    await bounded(code('for (;;);'), ['cpu'], 'code');
  });

  it('contains bombs of memory and of the stack', async () => {
    await bounded(assign('"x".repeat(1e9)'), ['memory']);
    await bounded(assign('new Array(1e9).fill(1)'), ['memory']);
    await bounded(code('const all = []; for (;;) all.push(new Uint8Array(1e6))'), ['memory'], 'code');
    // Copying ever longer lists takes half of the processor time an expression may take: either may come first.
    await bounded(assign('(() => { const all = []; for (;;) all.push(all.slice()) })()'), ['memory', 'cpu']);
    await bounded(assign('(function f() { return f() + 1 })()'), ['memory']);
    await bounded(code('let o = []; for (let i = 0; i < 1e5; i++) o = [o]; return o'), ['memory'], 'code');
    await bounded(code('let o = []; for (let i = 0; i < 1e5; i++) o = [o]; return String(o)'), ['memory'], 'code');
    await bounded(assign('JSON.parse("[".repeat(1e6))'), ['memory', 'expression']);
    await bounded(assign('eval("(".repeat(1e5) + ")".repeat(1e5))'), ['memory', 'expression']);
    await bounded(assign('10n ** 100000000n'), ['memory', 'expression', 'cpu']);
    assert.equal((await scripts.go(assign('1 + 1'))).ended, 'return', 'the sandbox is whole');
  });

  it('gives a script no more memory than it may take, in pieces neither', async () => {
    for (const piece of ['new Uint8Array(1e6)', '"x".repeat(1e6) + n', 'new Array(1e5).fill(n)']) {
      const source = `let n = 0; const all = []; try { for (;;) { all.push(${piece}); n += 1 } } catch {}
        all.length = 0; if (n < 10 || n > 60) throw new Error('had ' + n); return n`;
      const { ended, error } = await scripts.go(code(source));
      assert.equal(ended, 'return', `${piece}: ${error?.message}`);
    }
  });

  it('takes no output that is too large, at once or bit by bit', async () => {
    await bounded(assign('"x".repeat(2e6)'), ['size']);
    await bounded(assign('Array.from({ length: 4e5 }, () => "xxxx")'), ['size']);
    const grow = chain(
      { oType: 110, assign: [{ name: 'x', expr: '"x".repeat(100000)' }] },
      { oType: 110, assign: [{ name: 'all', expr: '[...(globalThis.all ?? []), x]' }] },
    );
    const { error } = await scripts.go(
      [
        ...grow,
        ...Array.from({ length: 12 }, (_, at) => ({
          oId: at + 4,
          oType: 110,
          assign: [{ name: `v${at}`, expr: 'x' }],
          transfer: at + 5,
        })),
        { oId: 16, oType: 103 },
      ].map((each) => (each.oId === 3 ? { ...each, transfer: 4 } : each)),
    );
    assert.deepEqual([error.reason, error.element], ['size', 'assign']);
    const moved = [
      { oId: 1, oType: 101, transfer: 2 },
      { oId: 2, oType: 110, assign: [{ name: 'x', expr: '"x".repeat(900000)' }], transfer: 3 },
      { oId: 3, oType: 110, assign: [{ name: 'x', expr: 'x' }], transfer: 3 },
    ];
    const often = await scripts.go(moved);
    assert.deepEqual([often.error.reason, often.error.oId], ['size', 3]);
    assert.ok(often.steps < 30, String(often.steps));
    const long = await scripts.go(chain({ oType: 180, text: '{{"x".repeat(100000)}}' }));
    assert.equal(long.log[0].text.length, 1000);
  });

  it('bounds steps, calls, loops and lines of log', async () => {
    const round = await scripts.go([
      { oId: 1, oType: 101, transfer: 2 },
      { oId: 2, oType: 180, text: 'again', transfer: 2 },
    ]);
    assert.deepEqual([round.error.reason, round.error.step, round.error.oId], ['steps', 1000, 2]);
    assert.equal(round.log.length, 201);
    const self = await scripts.save(chain({ oType: 113, code: 'recursive' }), { code: 'recursive' });
    const deep = (await scripts.run(self.id)).body;
    assert.deepEqual([deep.error.reason, deep.error.element, deep.error.step], ['depth', 'call script', 16]);
    const hundred = Array.from({ length: 100 }, (_, at) =>
      scripts.save(chain({ oType: 113, code: `deep${at + 1}` }), { code: `deep${at}` }),
    );
    const [outermost] = await Promise.all(hundred);
    assert.equal((await scripts.run(outermost!.id)).body.error.reason, 'depth');
    const nested = Array.from({ length: 20 }, (_, at) => ({
      oType: 112,
      list: '[1]',
      item: `i${at}`,
      body: at + 3,
      transfer: 0,
    }));
    assert.equal((await scripts.go(chain(...nested, { oType: 103 }))).error.reason, 'depth');
    const endless = await scripts.go([
      { oId: 1, oType: 101, transfer: 2 },
      { oId: 2, oType: 112, list: 'Array.from({ length: 5000 }, (_, i) => i)', item: 'i', body: 3, transfer: 0 },
      { oId: 3, oType: 103 },
    ]);
    assert.equal(endless.error.reason, 'steps');
    const empty = await scripts.go([
      { oId: 1, oType: 101, transfer: 2 },
      { oId: 2, oType: 112, list: '[1,2,3]', item: 'i', body: 0, transfer: 0 },
    ]);
    assert.equal(empty.ended, 'return', 'a loop without a body ends');
  });

  it('spends no more of a processor than a run may', async () => {
    const busy = '(() => { const end = Date.now() + 250; while (Date.now() < end); return 1; })()';
    const objects = [
      { oId: 1, oType: 101, transfer: 2 },
      { oId: 2, oType: 110, assign: [{ name: 'x', expr: busy }], transfer: 2 },
    ];
    const { error, steps } = await scripts.go(objects);
    assert.ok(['cpu', 'time'].includes(error.reason), error.reason);
    assert.ok(steps < 200, String(steps));
  });

  it('lets nothing of ours be reached', async () => {
    const reach = async (expr: string): Promise<unknown> =>
      (await scripts.go(chain({ oType: 102, result: { x: expr } }))).values?.x;
    const names = [
      'process',
      'require',
      'module',
      'Buffer',
      'fetch',
      'setTimeout',
      'WebAssembly',
      'console',
      'std',
      'os',
    ];
    assert.deepEqual(
      await reach(`[${names.map((name) => `typeof ${name}`).join()}]`),
      names.map(() => 'undefined'),
    );
    assert.equal(await reach('({}).constructor.constructor("return typeof process")()'), 'undefined');
    assert.equal(await reach('(() => {}).constructor("return this")().process === undefined'), true);
    assert.equal(await reach('typeof (function(){ return this })().process'), 'undefined');
    assert.deepEqual(await reach('import("node:fs")'), {});
    assert.equal(await reach('arguments.length'), 0);
    assert.equal(
      await reach('typeof constructor + typeof __proto__'),
      'functionobject',
      "the interpreter's own, not ours",
    );
  });

  it('lets nothing of one evaluation be seen by another', async () => {
    const poison =
      '(globalThis.left = 1, Object.prototype.left = 2, Array.prototype.map = () => "evil", JSON.parse = () => "evil", x = 5, 1)';
    const objects = chain(
      { oType: 110, assign: [{ name: 'x', expr: '1' }] },
      { oType: 110, assign: [{ name: 'y', expr: poison }] },
      {
        oType: 102,
        result: { left: 'typeof left', own: '({}).left === undefined', map: '[1].map((n) => n + 1)', x: 'x' },
      },
    );
    assert.deepEqual((await scripts.go(objects)).values, { left: 'undefined', own: true, map: [2], x: 1 });
  });

  it('takes templates and texts for what they are', async () => {
    const text = async (input: string): Promise<unknown> =>
      (
        await scripts.go(chain({ oType: 102, result: {}, status: 'got {{value}}' }), {
          input: { value: input },
          variables: [{ name: 'value', location: 2 }],
        })
      ).status;
    for (const trick of [
      '\u0024{process.exit()}',
      '{{process}}',
      '`\u0024{1+1}`',
      '"); process.exit(); ("',
      '\u2028',
      '</script>',
      '{{',
    ]) {
      assert.equal(await text(trick), `got ${trick}`, 'a value is never read as an expression');
    }
    const literal = await scripts.go(
      chain({ oType: 102, result: { x: '`a\u0024{[1, 2].map((n) => `<\u0024{n}>`).join("")}`' } }),
    );
    assert.equal(literal.values.x, 'a<1><2>');
    for (const [name, value] of [
      ['__proto__', 1],
      ['constructor', 2],
    ] as const) {
      const saved = await scripts.trySave(chain({ oType: 110, assign: [{ name, expr: String(value) }] }));
      assert.equal(saved.status, 422, name);
    }
  });

  it('answers others while scripts burn processors', async () => {
    const burning = await scripts.save(assign('(() => { for (;;); })()'));
    const kind = await scripts.save(assign('1 + 1'));
    let ended = 0;
    const runs = Array.from({ length: 6 }, async () => {
      const { body } = await scripts.run(burning.id);
      ended += 1;
      return body.error.reason;
    });
    for (let n = 0; n < 50; n++) {
      assert.equal((await admin.call('GET', 'iam/users/current')).status, 200);
      if (n % 10 === 0) assert.equal((await scripts.run(kind.id)).body.ended, 'return');
    }
    // Each burns half a second, on fewer threads than runs: they were still at it when all of the above was answered.
    assert.ok(ended < 6, `${ended} had ended`);
    assert.deepEqual([...new Set(await Promise.all(runs))], ['cpu']);
  });

  it('ends a run when nobody waits for its answer any more', async () => {
    const begun = { oType: 131, collection: 'iam/users', fields: { login: 'begun' } };
    const { id } = await scripts.save(chain(begun, ...Array.from({ length: 5 }, () => ({ oType: 114, ms: 5000 }))));
    const leaving = new AbortController();
    const asked = fetch(`${platform.url}/rest/v1/service/svcscripts/${id}/run`, {
      method: 'POST',
      headers: { ...admin.headers, 'content-type': 'application/json' },
      body: '{}',
      signal: leaving.signal,
    });
    const gone = assert.rejects(asked);
    const isBegun = async () => (await admin.call('POST', 'iam/users!lookup', { body: 'begun' })).status === 200;
    while (!(await isBegun()));
    leaving.abort();
    await gone;
    const runs = async () => (await admin.call('GET', `service/svcscripts/${id}/runs`)).body;
    let kept = await runs();
    while (kept.length === 0) kept = await runs();
    assert.deepEqual([kept[0].error.reason, kept[0].error.element], ['aborted', 'sleep']);
  });
});
