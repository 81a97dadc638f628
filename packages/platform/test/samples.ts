/** One entity of every collection: what to send, what to change, and under which key LOOKUP finds it. */
import type { Client } from './start-test-platform.ts';

export type Sample = {
  readonly path: string;
  /** A body that passes; `n` keeps its keys apart. */
  body(n: number, refs: References): Record<string, unknown>;
  readonly patch: Record<string, unknown>;
  /** Field that LOOKUP knows besides `id`. */
  readonly lookup?: string;
  /** Field that no two may share. */
  readonly unique?: string;
  readonly objtype: string;
  /** Makes the newest entity one that may go. */
  readonly release?: (admin: Client) => Promise<void>;
  /** Exact fields of a list without a mask, in flat form, that the sample fills. */
  readonly list: readonly string[];
};

export type References = { readonly userId: string };

/** What other samples refer to. */
export const createReferences = async (admin: Client): Promise<References> => {
  const user = await admin.call('POST', 'iam/users', {
    body: { login: `referred-${Math.random().toString(36).slice(2)}` },
  });
  return { userId: user.body.id };
};

const STAMPS = ['ext.ct', 'ext.lwt'];
const TITLES = ['opts.title', 'opts.comment'];
const opts = { title: 'Title', comment: 'Comment' };

/** Makes another configuration than those of the samples the active one, which is the last written. */
const touchDefault = async (admin: Client): Promise<void> => {
  const filter = encodeURIComponent('{"name":"default"}');
  const [found] = (await admin.call('GET', `master/configurations?mask=id&filter=${filter}`)).body;
  await admin.call('PATCH', `master/configurations/${found.id}`, { body: { opts: { touched: Math.random() } } });
};

export const SAMPLES: readonly Sample[] = [
  {
    path: 'domain/storages',
    body: (n) => ({
      instance: `store-${n}`,
      type: 'postgresql',
      params: { host: 'db', port: 5432, login: 'l', pwd: 'p', database: 'd' },
      opts,
    }),
    patch: { params: { host: 'other' } },
    lookup: 'instance',
    unique: 'instance',
    objtype: 'storage',
    list: [
      'id',
      'type',
      'instance',
      'params.host',
      'params.port',
      'params.login',
      'params.pwd',
      'params.database',
      ...TITLES,
      ...STAMPS,
    ],
  },
  {
    path: 'iam/users',
    body: (n) => ({
      login: `user-${n}`,
      name: `User ${n}`,
      opts: { ...opts, roles: ['user'], tags: ['a'] },
      ext: { email: `u${n}@x.org` },
    }),
    patch: { name: 'Renamed' },
    lookup: 'login',
    unique: 'login',
    objtype: 'user',
    list: ['id', 'login', 'name', 'timezone', 'opts.roles', ...STAMPS],
  },
  {
    path: 'design/classes',
    body: (n) => ({
      classname: `test/Class${n}`,
      name: `C${n}`,
      properties: [{ name: 'a', data_type: 'string' }],
      opts,
    }),
    patch: { description: 'Changed' },
    lookup: 'classname',
    unique: 'classname',
    objtype: 'class',
    list: [
      'id',
      'classname',
      'parent_id',
      'name',
      'description',
      'properties',
      'storage_mode',
      'integrity_mode',
      'cache_mode',
      ...TITLES,
      ...STAMPS,
    ],
  },
  {
    path: 'service/svcscripts',
    body: (n) => ({
      code: `script-${n}`,
      name: `S${n}`,
      scriptdata: { objects: [{ oId: 1, oType: 101 }], variables: [], scriptVersion: 2 },
      opts,
    }),
    patch: { name: 'Changed' },
    lookup: 'code',
    unique: 'code',
    objtype: 'svcscript',
    list: ['id', 'code', 'name', 'projectid', ...STAMPS],
  },
  {
    path: 'service/integration_points',
    body: (n) => ({ code: `point-${n}`, type: 'public', url: 'https://x', opts: { ...opts, issync: true } }),
    patch: { token_remote: 'secret' },
    lookup: 'code',
    unique: 'code',
    objtype: 'integration_point',
    list: [
      'id',
      'code',
      'type',
      'tokenlocal',
      'tokenremote',
      'tokenremote2',
      'token_local',
      'token_remote',
      'token_remote2',
      'recv_svcscriptcode',
      'recv_svcscriptcode_ws',
      'send_svcscriptcode',
      'send_svcscriptcode_ws',
      'opts.title',
      'opts.allow_files_api',
      'opts.issync',
      ...STAMPS,
    ],
  },
  {
    path: 'domain/roles',
    body: (n) => ({ name: `role-${n}`, description: 'D', routes: [{ methods: ['GET'], url: '/x/*' }], opts }),
    patch: { description: 'Changed' },
    lookup: 'name',
    unique: 'name',
    objtype: 'role',
    list: ['id', 'name', 'description', 'parent_id', 'routes', ...TITLES, ...STAMPS],
  },
  {
    path: 'addressbook/contacts',
    body: (n) => ({
      displayname: `Contact ${n}`,
      number: `10${n}`,
      email: 'a@b',
      department: 'Sales',
      jobtitle: 'J',
      opts: { ...opts, priority: n },
    }),
    patch: { jobtitle: 'Changed' },
    lookup: 'number',
    objtype: 'contact',
    list: [
      'id',
      'autokey',
      'displayname',
      'department',
      'jobtitle',
      'number',
      'email',
      'opts.groups',
      'opts.priority',
      ...STAMPS,
    ],
  },
  {
    path: 'domain/subordinations',
    body: (n, { userId }) => ({
      top_type: n % 2 === 0 ? 'user' : 'role',
      top_key: n % 2 === 0 ? userId : 'user',
      sub_type: (['user', 'group', 'role'] as const)[Math.floor(n / 2) % 3],
      sub_keys: [],
      opts,
    }),
    patch: { opts: { title: 'Changed' } },
    objtype: 'subordination',
    list: ['id', 'top_type', 'top_key', 'sub_type', 'sub_keys', ...TITLES, ...STAMPS],
  },
  {
    path: 'master/configurations',
    body: (n) => ({ name: `conf-${n}`, content: { general: { a: n } }, opts }),
    patch: { content: { general: { b: 1 } } },
    objtype: 'configuration',
    unique: 'name',
    release: touchDefault,
    list: ['id', 'name', 'state', 'ext.version', ...STAMPS],
  },
  {
    path: 'domain/storagerules',
    body: (n) => ({ name: `rule-${n}`, expires: 30, opts }),
    patch: { expires: 60 },
    unique: 'name',
    objtype: 'storagerule',
    list: ['id', 'name', 'expires', 'opts.title', ...STAMPS],
  },
  {
    path: 'domain/projects',
    body: (n) => ({ code: `project-${n}`, name: `P${n}`, opts }),
    patch: { name: 'Changed' },
    lookup: 'code',
    unique: 'code',
    objtype: 'project',
    list: ['id', 'code', 'name', 'opts.title', ...STAMPS],
  },
  {
    path: 'iam/groups',
    body: (n, { userId }) => ({ code: `group-${n}`, description: 'D', opts: { ...opts, users: [userId] } }),
    patch: { description: 'Changed' },
    lookup: 'code',
    unique: 'code',
    objtype: 'group',
    list: ['id', 'code', 'description', ...TITLES, ...STAMPS],
  },
  {
    path: 'addressbook/contactgroups',
    body: (n) => ({ code: `cgroup-${n}`, name: `G${n}`, opts }),
    patch: { name: 'Changed' },
    lookup: 'code',
    unique: 'code',
    objtype: 'contactgroup',
    list: ['id', 'code', 'name', ...TITLES, ...STAMPS],
  },
];
