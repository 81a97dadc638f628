/**
 * Two nodes on one PostgreSQL, each with its own memory: whatever both write at once, they end with the same rows, no
 * key twice, and nothing that points at what is not there.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { openPostgresDriver } from '@parley/kit/testing/each-store.ts';
import fc from 'fast-check';
import { ADMIN_PASSWORD, type Answer, type Client, startTestPlatform } from './start-test-platform.ts';

type Item = Readonly<Record<string, unknown>> & { readonly id: string };
type Body = Readonly<Record<string, unknown>>;

const ZERO = '00000000-0000-0000-0000-000000000000';
/** Few of each, so that writes meet. */
const SLOTS = 3;
const STEPS = 480;
const AT_ONCE = 16;
/** Its rarest outcome comes about ten times, give or take what happens at the same moment. */
const SEED = 1;

const KINDS = [
  'role',
  'user',
  'group',
  'subordination',
  'storage',
  'class',
  'project',
  'svcscript',
  'integration_point',
  'contactgroup',
  'contact',
] as const;
type Kind = (typeof KINDS)[number];

const PATHS: Readonly<Record<Kind, string>> = {
  role: 'domain/roles',
  user: 'iam/users',
  group: 'iam/groups',
  subordination: 'domain/subordinations',
  storage: 'domain/storages',
  class: 'design/classes',
  project: 'domain/projects',
  svcscript: 'service/svcscripts',
  integration_point: 'service/integration_points',
  contactgroup: 'addressbook/contactgroups',
  contact: 'addressbook/contacts',
};

const idOf = (kind: Kind, slot: number): string =>
  `00000000-0000-4000-8000-${String(KINDS.indexOf(kind) + 1).padStart(6, '0')}${String(slot).padStart(6, '0')}`;

/** `other`: which slots are referred to; `isRenamed`: under its second name. */
type Step = {
  readonly node: number;
  readonly kind: Kind;
  readonly act: 'put' | 'put again' | 'delete' | 'force';
  readonly slot: number;
  readonly other: number;
  readonly isRenamed: boolean;
};

const nameOf = (kind: Kind, slot: number, isRenamed: boolean): string => `${kind}-${slot}${isRenamed ? '-b' : ''}`;

const BODIES: Readonly<Record<Kind, (step: Step) => Body>> = {
  role: ({ slot, other, isRenamed }) => ({
    name: nameOf('role', slot, isRenamed),
    parent_id: other === slot ? ZERO : idOf('role', other),
  }),
  user: ({ slot, other, isRenamed }) => ({
    login: `user-${slot}`,
    opts: { roles: [nameOf('role', other, isRenamed)] },
  }),
  group: ({ slot, other, isRenamed }) => ({
    code: `group-${slot}`,
    opts: {
      users: [idOf('user', other)],
      roles: other === 0 ? [nameOf('role', slot, isRenamed)] : [],
      groups: other === 1 && slot !== 1 ? [idOf('group', 1)] : [],
    },
  }),
  subordination: ({ slot, other, isRenamed }) => ({
    top_type: isRenamed ? 'role' : 'user',
    top_key: isRenamed ? nameOf('role', other, false) : idOf('user', other),
    sub_type: slot === 0 ? 'group' : 'user',
    sub_keys: [slot === 0 ? idOf('group', other) : idOf('user', slot)],
  }),
  storage: ({ slot, isRenamed }) => ({ instance: nameOf('storage', slot, isRenamed), type: 'fs', params: {} }),
  class: ({ slot, other, isRenamed }) => ({
    classname: `T/C${slot}`,
    parent_id: other === slot ? ZERO : idOf('class', other),
    opts: { filestorage_instance: nameOf('storage', other, isRenamed) },
  }),
  project: ({ slot }) => ({ code: `project-${slot}` }),
  svcscript: ({ slot, other, isRenamed }) => ({
    code: nameOf('svcscript', slot, isRenamed),
    projectid: other === 2 ? ZERO : idOf('project', other),
  }),
  integration_point: ({ slot, other, isRenamed }) => ({
    code: `point-${slot}`,
    type: 'public',
    recv_svcscriptcode: nameOf('svcscript', other, isRenamed),
  }),
  contactgroup: ({ slot, isRenamed }) => ({ code: nameOf('contactgroup', slot, isRenamed) }),
  contact: ({ slot, other, isRenamed }) => ({
    displayname: `contact-${slot}`,
    opts: { groups: [nameOf('contactgroup', other, isRenamed)] },
  }),
};

const step: fc.Arbitrary<Step> = fc.record({
  node: fc.nat(1),
  kind: fc.constantFrom(...KINDS),
  act: fc.constantFrom('put', 'put again', 'delete', 'force'),
  slot: fc.nat(SLOTS - 1),
  other: fc.nat(SLOTS - 1),
  isRenamed: fc.boolean(),
});

const run = async (client: Client, { act, kind, slot, ...rest }: Step): Promise<Answer> => {
  const path = `${PATHS[kind]}/${idOf(kind, slot)}`;
  if (act === 'delete') return client.call('DELETE', path);
  if (act === 'force') return client.call('DELETE', path, { body: { force: true } });
  return client.call('PUT', path, { body: BODIES[kind]({ act, kind, slot, ...rest }) });
};

type Rows = Readonly<Record<Kind, readonly Item[]>>;

const readAll = async (client: Client): Promise<Rows> => {
  const lists = await Promise.all(
    KINDS.map(async (kind) => [kind, (await client.call('GET', `${PATHS[kind]}?mask=*&order=id`)).body] as const),
  );
  return Object.fromEntries(lists) as unknown as Rows;
};

const strings = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : []);

/** Every reference of every row: what it names, and under which field of which kind that is found. */
const referencesOf = (kind: Kind, item: Item): { kind: Kind; field: string; value: string }[] => {
  const opts = (item.opts ?? {}) as Readonly<Record<string, unknown>>;
  const to = (target: Kind, field: string, values: unknown[]) =>
    values
      .map(String)
      .filter((value) => value !== '' && value !== ZERO && value !== 'auto')
      .map((value) => ({ kind: target, field, value }));
  const typed = (type: unknown, values: unknown[]) => to(type as Kind, type === 'role' ? 'name' : 'id', values);
  switch (kind) {
    case 'role':
    case 'class':
      return [
        ...to(kind, 'id', [item.parent_id]),
        ...(kind === 'class' ? to('storage', 'instance', [opts.filestorage_instance ?? '']) : []),
      ];
    case 'user':
      return to('role', 'name', strings(opts.roles));
    case 'group':
      return [
        ...to('user', 'id', strings(opts.users)),
        ...to('group', 'id', strings(opts.groups)),
        ...to('role', 'name', strings(opts.roles)),
      ];
    case 'subordination':
      return [...typed(item.top_type, [item.top_key]), ...typed(item.sub_type, strings(item.sub_keys))];
    case 'svcscript':
      return to('project', 'id', [item.projectid]);
    case 'integration_point':
      return to('svcscript', 'code', [item.recv_svcscriptcode]);
    case 'contact':
      return to('contactgroup', 'code', strings(opts.groups));
    case 'contactgroup':
      return to('contact', 'autokey', strings(opts.contacts));
    default:
      return [];
  }
};

const danglingIn = (rows: Rows): string[] =>
  KINDS.flatMap((kind) =>
    rows[kind].flatMap((item) =>
      referencesOf(kind, item)
        .filter((reference) => !rows[reference.kind].some((one) => String(one[reference.field]) === reference.value))
        .map(({ kind: target, value }) => `${kind} ${item.id} names the ${target} ${value}`),
    ),
  );

/** What both nodes know once the feed has brought each what the other wrote. */
const readSettled = async (clients: readonly Client[]): Promise<Rows> => {
  for (let tries = 0; tries < 200; tries++) {
    const [one, two] = await Promise.all(clients.map(readAll));
    if (JSON.stringify(one) === JSON.stringify(two)) return one!;
  }
  throw new Error('the nodes did not come to the same rows');
};

describe('two nodes that write at once', () => {
  for (const [where, settings] of [
    ['in memory', {}],
    ['partly in the database', { 'platform.memory.max_rows': '5' }],
  ] as const) {
    it(`come to the same rows, and nothing names what is gone (${where})`, async () => {
      await using postgres = await openPostgresDriver();
      await using database = await postgres.createDatabase();
      await using one = await startTestPlatform(database.place, settings);
      await using two = await startTestPlatform(database.place, settings);
      const clients = await Promise.all([one, two].map((node) => node.signIn('admin', ADMIN_PASSWORD)));
      const steps = fc.sample(step, { numRuns: STEPS, seed: SEED });
      const counts = new Map<string, number>();
      for (let at = 0; at < steps.length; at += AT_ONCE) {
        const batch = steps.slice(at, at + AT_ONCE);
        const answers = await Promise.all(batch.map((each) => run(clients[each.node]!, each)));
        for (const [index, { status, text }] of answers.entries()) {
          assert.ok([200, 204, 404, 409, 422].includes(status), `${JSON.stringify(batch[index])} ${status} ${text}`);
          const name = `${batch[index]!.act.split(' ')[0]} ${status}`;
          counts.set(name, (counts.get(name) ?? 0) + 1);
        }
        assert.deepEqual(danglingIn(await readSettled(clients)), [], `after step ${at}`);
      }
      // Enough of everything happened for this to mean something.
      for (const name of ['put 200', 'put 422', 'delete 204', 'delete 422', 'force 204'])
        assert.ok((counts.get(name) ?? 0) > 1, `${name}: ${JSON.stringify([...counts])}`);
    });
  }

  it('keep the last administrator, whoever of them goes', async () => {
    await using postgres = await openPostgresDriver();
    await using database = await postgres.createDatabase();
    await using one = await startTestPlatform(database.place);
    await using two = await startTestPlatform(database.place);
    const clients = await Promise.all([one, two].map((node) => node.signIn('admin', ADMIN_PASSWORD)));
    const { body: found } = await clients[0]!.call('LOOKUP', 'iam/users', { body: 'admin' });
    for (let round = 0; round < 5; round++) {
      const second = await clients[0]!.call('POST', 'iam/users', {
        body: { login: `second-${round}`, opts: { roles: ['admin'] } },
      });
      const without = { body: { opts: { roles: [] } } };
      const answers = await Promise.all([
        clients[0]!.call('PATCH', `iam/users/${second.body.id}`, without),
        clients[1]!.call('PATCH', `iam/users/${found[0]}`, without),
      ]);
      assert.ok(
        answers.some(({ status }) => status !== 200),
        'both lost the role',
      );
      // Whoever lost it cannot go on here.
      if (answers[1]!.status === 200) return;
    }
  });
});
