/** What strangers do with the platform: sign in and out, write, look up, list. */
import { createUuid } from '@parley/kit/ids.ts';
import { holding, pickFree } from './held.ts';
import type { KeptRow } from './ledger.ts';
import type { Lane, LoadContext } from './load.ts';
import { CLASS_OPERATIONS } from './platform-files.ts';
import { askRest, signIn } from './rest.ts';
import { PASSWORD } from './stage.ts';

/** Rows that live at once; above it they are removed rather than made. */
const MAX_LIVING = 300;
/** Values a row takes before it is left alone or removed. */
const MAX_VALUES = 20;

type Collection = { readonly path: string; readonly keyed: boolean; body(name: string): object };

const COLLECTIONS: readonly Collection[] = [
  { path: 'iam/users', keyed: true, body: (name) => ({ login: name, name }) },
  { path: 'addressbook/contacts', keyed: false, body: (name) => ({ displayname: name }) },
  { path: 'addressbook/contactgroups', keyed: true, body: (name) => ({ code: name }) },
  { path: 'iam/groups', keyed: true, body: (name) => ({ code: name }) },
  { path: 'domain/projects', keyed: true, body: (name) => ({ code: name }) },
  { path: 'domain/roles', keyed: true, body: (name) => ({ name }) },
];

const create = async (context: LoadContext): Promise<void> => {
  const { path, keyed, body } = context.random.pick(COLLECTIONS);
  const name = `mixed-${context.serial()}`;
  const id = createUuid();
  const row: KeptRow = {
    path,
    id,
    key: keyed ? name : undefined,
    asked: 1,
    acknowledged: new Set(),
    state: 'maybe made',
    isBusy: true,
  };
  context.ledger.rows.push(row);
  const json = { id, ...body(name), opts: { v0: true } };
  const answer = await askRest(context, { what: 'platform create', method: 'POST', path, json });
  if (answer?.status === 200) {
    row.acknowledged.add(0);
    row.state = 'made';
  }
  row.isBusy = false;
};

const patch = async (context: LoadContext, row: KeptRow): Promise<void> => {
  const value = row.asked++;
  const json = { opts: { [`v${value}`]: true } };
  const path = `${row.path}/${row.id}`;
  const answer = await askRest(context, { what: 'platform patch', method: 'PATCH', path, json });
  if (answer?.status === 200) row.acknowledged.add(value);
};

const remove = async (context: LoadContext, row: KeptRow): Promise<void> => {
  row.state = 'maybe removed';
  const path = `${row.path}/${row.id}`;
  const answer = await askRest(context, { what: 'platform delete', method: 'DELETE', path, expect: [204] });
  if (answer?.status === 204) row.state = 'removed';
};

const write = async (context: LoadContext): Promise<void> => {
  const { ledger, random } = context;
  const living = ledger.rows.filter(({ state }) => state === 'made');
  const row = pickFree(living, random);
  if (row === undefined || (living.length < MAX_LIVING && random.chance(0.15))) return await create(context);
  const isEnough = row.asked >= MAX_VALUES;
  const isToGo = living.length >= MAX_LIVING ? random.chance(0.15) || isEnough : isEnough && random.chance(0.3);
  await holding(row, () => (isToGo ? remove(context, row) : patch(context, row)));
};

/** What was acknowledged is read at once: by id, by key. */
const readBack = async (context: LoadContext): Promise<void> => {
  const { ledger, random } = context;
  const row = pickFree(ledger.rows, random);
  if (row === undefined) return;
  await holding(row, async () => {
    const found = await askRest(context, { what: 'platform read', path: `${row.path}/${row.id}` });
    const opts = found?.status === 200 ? found.body.opts : undefined;
    const lost = opts && [...row.acknowledged].some((value) => opts[`v${value}`] !== true);
    if (lost) ledger.fault(`platform read: an acknowledged value of ${row.path} is not there`);
    if (row.key === undefined) return;
    const json = row.key;
    const looked = await askRest(context, { what: 'platform lookup', method: 'LOOKUP', path: row.path, json });
    if (looked?.status === 200 && looked.body[0] !== row.id)
      ledger.fault(`platform lookup: another row of ${row.path}`);
  });
};

const list = async (context: LoadContext): Promise<void> => {
  const { path, keyed } = context.random.pick(COLLECTIONS);
  const filter = path === 'iam/users' ? `&filter=${encodeURIComponent('{"login":"mixed-%"}')}` : '';
  const query = context.random.pick([`limit=50&order=-ext.lwt${filter}`, 'limit=0', `mask=*&limit=20${filter}`]);
  await askRest(context, { what: `platform list${keyed ? '' : ' of contacts'}`, path: `${path}?${query}` });
};

const sessions = async (context: LoadContext): Promise<void> => {
  const { random, ledger, client, stage, serial } = context;
  if (random.chance(0.3)) {
    const json = { domain: 'master', login: `nobody-${serial()}`, pwd: PASSWORD, session_type: 'token' };
    const what = 'platform wrong sign-in';
    await askRest({ client, stage }, { what, method: 'POST', path: 'iam/sessions', json, expect: [401] });
    return;
  }
  const token = await signIn(context);
  if (token === undefined) return;
  const own = { ...context, token };
  await askRest(own, { what: 'platform own session', path: 'iam/sessions/current' });
  const what = 'platform sign-out';
  const answer = await askRest(own, { what, method: 'DELETE', path: 'iam/sessions/current', expect: [204, 200] });
  if (answer && answer.status < 300 && random.chance(0.2)) {
    const over = await askRest(own, { what: 'platform ended session', path: 'iam/sessions/current', expect: [401] });
    if (over?.status === 200) ledger.fault('platform ended session: still there');
  }
};

export const PLATFORM_LANES: readonly Lane[] = [
  {
    lanes: 4,
    pauseMs: 100,
    operations: [
      { weight: 8, run: write },
      { weight: 3, run: readBack },
      { weight: 2, run: list },
    ],
  },
  {
    lanes: 1,
    pauseMs: 150,
    operations: [{ weight: 2, run: sessions }, ...CLASS_OPERATIONS],
  },
];
