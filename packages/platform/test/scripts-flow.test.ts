/** What elements of the flow do: values, ways, loops, calls, forms; and what the author of a script sees of a run. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { chain, createScripts, type Scripts } from './run-script.ts';
import { ADMIN_PASSWORD, startTestPlatform, type TestPlatform } from './start-test-platform.ts';

describe('scripts: the flow', () => {
  let platform: TestPlatform;
  let scripts: Scripts;
  before(async () => {
    platform = await startTestPlatform(undefined, { 'platform.scripts.code': 'true' });
    scripts = createScripts(await platform.signIn('admin', ADMIN_PASSWORD));
  });
  after(() => platform?.[Symbol.asyncDispose]());

  it('gives back what return says, and the output variables', async () => {
    const variables = [
      { name: 'a', type: 2, location: 2 },
      { name: 'sum', type: 2, location: 3 },
      { name: 'hidden', type: 1, location: 1 },
    ];
    const objects = chain(
      {
        oType: 110,
        assign: [
          { name: 'sum', expr: 'a + 1' },
          { name: 'hidden', expr: '"x" + sum' },
        ],
      },
      { oType: 103, text: 'a note' },
      { oType: 102, result: { text: 'hidden', twice: 'sum * 2' }, status: '{{sum > 1}}' },
    );
    const ended = await scripts.go(objects, { variables, input: { a: '41', unknown: 1 } });
    assert.deepEqual([ended.ended, ended.values, ended.status], ['return', { sum: 42, text: 'x42', twice: 84 }, true]);
    const end = await scripts.go(chain({ oType: 110, assign: [{ name: 'sum', expr: '7' }] }), { variables });
    assert.deepEqual([end.ended, end.values], ['return', { sum: 7 }], 'a chain that ends returns too');
  });

  it('knows the types of variables and their defaults', async () => {
    const names = ['text', 'number', 'flag', 'object', 'list', 'time'];
    const variables = names.map((name, at) => ({ name, type: at + 1, location: 3 }));
    const opts = { variables: { text: 'a', number: 1, flag: true, object: { x: 1 }, list: [1], time: '2026-01-02' } };
    const { values } = await scripts.go(chain(), { variables, opts });
    assert.deepEqual(values, { ...opts.variables, time: '2026-01-02T00:00:00.000Z' });
    const set = async (name: string, expr: string) =>
      scripts.go(chain({ oType: 110, assign: [{ name, expr }] }), { variables });
    assert.equal((await set('text', '5')).values.text, '5');
    assert.equal((await set('number', '" 5 "')).values.number, 5);
    assert.equal((await set('flag', '"false"')).values.flag, false);
    assert.equal((await set('time', '0')).values.time, '1970-01-01T00:00:00.000Z');
    assert.equal((await set('object', 'null')).values.object, null);
    for (const [name, expr] of [
      ['number', '"x"'],
      ['flag', '2'],
      ['object', '[1]'],
      ['list', '({})'],
      ['time', '"?"'],
      ['text', '[]'],
    ]) {
      const { error } = await set(name!, expr!);
      assert.deepEqual([error.reason, error.oId, error.element], ['variable', 2, 'assign'], name);
      assert.ok(error.message.includes(name), error.message);
    }
  });

  it('takes the first way whose condition is true, and evaluates none behind it', async () => {
    const objects = [
      { oId: 1, oType: 101, transfer: 2, inputs: ['n'] },
      {
        oId: 2,
        oType: 111,
        cases: [
          { cond: 'n > 10', transfer: 3 },
          { cond: 'n > 5', transfer: 4 },
          { cond: 'nope()', transfer: 3 },
        ],
        transfer: 5,
      },
      { oId: 3, oType: 102, result: { way: '"large"' } },
      { oId: 4, oType: 102, result: { way: '"middle"' } },
      { oId: 5, oType: 102, result: { way: '"small"' } },
    ];
    const { id } = await scripts.save(objects);
    const way = async (n: number) => (await scripts.run(id, { input: { n } })).body;
    assert.equal((await way(11)).values.way, 'large');
    assert.equal((await way(7)).values.way, 'middle');
    assert.equal((await way(1)).error.reason, 'expression');
    const { values } = await scripts.go(
      objects.map((each) => (each.oId === 2 ? { ...each, cases: [] } : each)),
      { input: { n: 1 } },
    );
    assert.equal(values.way, 'small');
  });

  it('goes through lists, one loop inside the other, and out of them', async () => {
    const variables = [{ name: 'seen', type: 5, location: 3 }];
    const objects = [
      { oId: 1, oType: 101, transfer: 2 },
      { oId: 2, oType: 110, assign: [{ name: 'seen', expr: '[]' }], transfer: 3 },
      { oId: 3, oType: 112, list: '[1, 2, 3]', item: 'outer', body: 4, transfer: 9 },
      { oId: 4, oType: 112, list: '["a", "b", "c"]', item: 'inner', body: 5, transfer: 7 },
      {
        oId: 5,
        oType: 111,
        cases: [
          { cond: 'inner === "c"', transfer: 7 },
          { cond: 'outer === 3', transfer: 9 },
        ],
        transfer: 6,
      },
      { oId: 6, oType: 110, assign: [{ name: 'seen', expr: '[...seen, inner + outer]' }], transfer: 4 },
      { oId: 7, oType: 110, assign: [{ name: 'seen', expr: '[...seen, outer]' }], transfer: 0 },
      { oId: 9, oType: 110, assign: [{ name: 'seen', expr: '[...seen, "end"]' }] },
    ];
    const { values } = await scripts.go(objects, { variables });
    assert.deepEqual(values.seen, ['a1', 'b1', 1, 'a2', 'b2', 2, 'end']);
    const empty = await scripts.go(chain({ oType: 112, list: '[]', item: 'x', body: 2, transfer: 0 }));
    assert.deepEqual([empty.ended, empty.steps], ['return', 2]);
    assert.equal((await scripts.go(chain({ oType: 112, list: '"abc"', item: 'x', body: 2 }))).error.reason, 'element');
  });

  it('calls another script with variables of its own', async () => {
    const variables = [
      { name: 'n', type: 2, location: 2 },
      { name: 'own', type: 2, location: 1 },
      { name: 'square', type: 2, location: 3 },
    ];
    const square = await scripts.save(
      chain(
        {
          oType: 110,
          assign: [
            { name: 'own', expr: 'n * n' },
            { name: 'square', expr: 'own' },
          ],
        },
        { oType: 102, result: { sign: 'Math.sign(n)' } },
      ),
      { variables },
    );
    const objects = chain(
      {
        oType: 110,
        assign: [
          { name: 'own', expr: '1' },
          { name: 'name', expr: JSON.stringify(square.code) },
        ],
      },
      { oType: 113, code: '{{name}}', in: { n: 'own + 2', other: '1' }, out: { got: 'square + sign' } },
      { oType: 102, result: { got: 'got', own: 'own' } },
    );
    const { values, trace } = await scripts.go(objects);
    assert.deepEqual(values, { got: 10, own: 1 });
    assert.deepEqual([...new Set(trace.map((step: { script: string }) => step.script))].length, 2);
    const missing = await scripts.go(chain({ oType: 113, code: 'nowhere' }));
    assert.deepEqual([missing.error.reason, missing.error.element], ['unknown_script', 'call script']);
  });

  it('wants the inputs it says it needs', async () => {
    const objects = [{ oId: 1, oType: 101, inputs: [{ name: 'who', required: true }, 'why'] }];
    assert.deepEqual((await scripts.go(objects)).error.reason, 'input');
    assert.equal((await scripts.go(objects, { input: { who: 'me' } })).ended, 'return');
  });

  it('puts values into templates with their types', async () => {
    const variables = [{ name: 'user', type: 4, location: 2 }];
    const objects = chain(
      {
        oType: 180,
        level: 'info',
        text: 'Dear {{user.name}}, {{ {a: {b: [1]}} }} {"json": {{user.age}}} {{"}}"}}{{null}}',
      },
      { oType: 102, result: {}, status: { age: '{{user.age}}', text: '{{user.age}} years', plain: 1 } },
    );
    const { log, status } = await scripts.go(objects, { variables, input: { user: { name: 'Ann', age: 30 } } });
    assert.equal(log[0].text, 'Dear Ann, {"a":{"b":[1]}} {"json": 30} }}');
    assert.deepEqual(status, { age: 30, text: '30 years', plain: 1 });
  });

  it('runs statements where that is allowed, with what they are given and nothing else', async () => {
    const objects = chain(
      { oType: 110, assign: [{ name: 'list', expr: '[3, 1, 2]' }] },
      {
        oType: 190,
        source: 'const sorted = [...numbers].sort(); return { sorted, sees: typeof list };',
        in: { numbers: 'list' },
        out: { list: 'sorted', sees: 'sees' },
      },
      { oType: 102, result: { list: 'list', sees: 'sees' } },
    );
    assert.deepEqual((await scripts.go(objects)).values, { list: [1, 2, 3], sees: 'undefined' });
  });

  it('keeps the log the script wants, and shows every step to who traces', async () => {
    const levels = ['error', 'warning', 'info', 'debug', 'trace'];
    const objects = chain(...levels.map((level) => ({ oType: 180, level, text: level })));
    for (const [loglevel, count] of [
      [0, 0],
      [1, 1],
      [3, 3],
      [5, 5],
    ] as const) {
      const { log } = await scripts.go(objects, { opts: { loglevel } });
      const own = log.filter(({ text }: { text: string }) => levels.includes(text));
      assert.equal(own.length, count, `loglevel ${loglevel}`);
    }
    const { trace } = await scripts.go(chain({ oType: 110, name: 'count', assign: [{ name: 'n', expr: '1' }] }));
    const [start, assign] = trace;
    assert.deepEqual([start.oId, start.element, start.went], [1, 'start', 2]);
    assert.deepEqual([assign.element, assign.name, assign.changed, assign.went], ['assign', 'count', { n: 1 }, 0]);
  });

  it('waits for forms, keeps session variables and what was entered, and shows no password', async () => {
    const variables = [
      { name: 'kept', type: 1, location: 4 },
      { name: 'lost', type: 1, location: 1 },
    ];
    const objects = chain(
      {
        oType: 110,
        assign: [
          { name: 'kept', expr: '"k"' },
          { name: 'lost', expr: '"l"' },
        ],
      },
      {
        oType: 150,
        step: 1,
        fields: [
          { name: 'login', type: 'line' },
          { name: 'pwd', type: 'password' },
        ],
      },
      { oType: 180, text: 'entered {{login}} {{pwd}}' },
      {
        oType: 150,
        step: 2,
        fields: [
          { name: 'login', type: 'hidden', from: { step: 1 } },
          { name: 'code', type: 'code' },
        ],
      },
      { oType: 102, result: { kept: 'kept', lost: 'lost', login: 'login', code: 'code', length: 'pwd.length' } },
    );
    const { id } = await scripts.save(objects, { variables });
    const first = (await scripts.run(id)).body;
    assert.equal(first.ended, 'form');
    assert.deepEqual(
      first.form.fields.map(({ name }: { name: string }) => name),
      ['login', 'pwd'],
    );
    const values = { login: 'ann', pwd: 'very secret', kept: 'forged' };
    const second = await scripts.run(id, { ctx: first.ctx, values, trace: true });
    assert.equal(second.body.ended, 'form');
    assert.equal(second.body.log[0].text, 'entered ann *****');
    assert.ok(!second.text.includes('very secret'));
    assert.equal((await scripts.run(id, { ctx: first.ctx, values })).status, 400, 'a step is good once');
    const last = (await scripts.run(id, { ctx: second.body.ctx, values: { login: 'forged', code: '123456' } })).body;
    assert.deepEqual(last.values, { kept: 'k', lost: null, login: 'ann', code: '123456', length: 11 });
  });

  it('goes on inside loops and called scripts after a form', async () => {
    const ask = await scripts.save(
      chain(
        { oType: 150, step: '{{name}}', fields: [{ name: 'answer', type: 'line' }] },
        { oType: 102, result: { answer: 'answer' } },
      ),
      { variables: [{ name: 'name', type: 1, location: 2 }] },
    );
    const variables = [{ name: 'answers', type: 5, location: 4 }];
    const objects = [
      { oId: 1, oType: 101, transfer: 2 },
      { oId: 2, oType: 110, assign: [{ name: 'answers', expr: '[]' }], transfer: 3 },
      { oId: 3, oType: 112, list: '["x", "y"]', item: 'each', body: 4, transfer: 6 },
      { oId: 4, oType: 113, code: ask.code, in: { name: 'each' }, out: { given: 'answer' }, transfer: 5 },
      { oId: 5, oType: 110, assign: [{ name: 'answers', expr: '[...answers, given]' }] },
      { oId: 6, oType: 102, result: { answers: 'answers' } },
    ];
    const { id } = await scripts.save(objects, { variables });
    let answer = (await scripts.run(id)).body;
    const steps: unknown[] = [];
    for (let n = 1; answer.ended === 'form'; n++) {
      steps.push(answer.form.step);
      answer = (await scripts.run(id, { ctx: answer.ctx, values: { answer: n } })).body;
    }
    assert.deepEqual([steps, answer.values], [['x', 'y'], { answers: [1, 2] }]);
  });

  it('tells where and why it failed, and remembers it', async () => {
    const { id } = await scripts.save(
      chain({ oType: 180, text: 'before' }, { oType: 110, assign: [{ name: 'x', expr: 'nothing.at.all' }] }),
    );
    const { error } = (await scripts.run(id)).body;
    assert.deepEqual([error.oId, error.element, error.step, error.reason], [3, 'assign', 3, 'expression']);
    assert.match(error.message, /nothing/);
    const admin = await platform.signIn('admin', ADMIN_PASSWORD);
    const [kept] = (await admin.call('GET', `service/svcscripts/${id}/runs`)).body;
    assert.deepEqual([kept.ended, kept.error.oId, kept.entry], ['error', 3, 'admin']);
    assert.deepEqual(
      kept.log.map(({ level }: { level: string }) => level),
      ['info', 'error'],
    );
  });

  it('waits as long as it is told, and no longer than five seconds', async () => {
    assert.equal((await scripts.go(chain({ oType: 114, ms: 1 }))).ended, 'return');
    assert.equal((await scripts.go(chain({ oType: 114, ms: '{{6000}}' }))).error.reason, 'element');
  });
});
