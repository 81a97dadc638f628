/** What strangers do with the platform, the rest of it: run scripts, keep files with items of a class, have mails sent. */
import { createHash } from 'node:crypto';
import { createUuid } from '@parley/kit/ids.ts';
import type { Answer } from './client.ts';
import { holding, pickFree } from './held.ts';
import type { KeptItem } from './ledger.ts';
import type { LoadContext, Operation } from './load.ts';
import { type Asking, askRest } from './rest.ts';

const MAX_ITEMS = 75;
const MAX_FILE_BYTES = 65_536;
export const CLASS = 'Mixed';

type Script = { readonly variables: readonly object[]; readonly objects: readonly object[] };

/** Scripts that are well, and one that never ends by itself: its worker is ended by the bound of time. */
const SCRIPTS: Readonly<Record<string, Script>> = {
  greet: {
    variables: [
      { name: 'n', type: 2, location: 2 },
      { name: 'text', type: 1, location: 3 },
    ],
    objects: [
      { oId: 1, oType: 101, inputs: [{ name: 'n', required: true }], transfer: 2 },
      { oId: 2, oType: 110, assign: [{ name: 'text', expr: '"n" + (n * 2)' }], transfer: 3 },
      { oId: 3, oType: 102, result: { length: 'text.length' } },
    ],
  },
  endless: {
    variables: [],
    objects: [
      { oId: 1, oType: 101, transfer: 2 },
      { oId: 2, oType: 110, assign: [{ name: 'x', expr: '(() => { for (;;); })()' }], transfer: 2 },
    ],
  },
};

const runScript = async (context: LoadContext): Promise<void> => {
  const { random, ledger } = context;
  const n = random.int(1000);
  const isEndless = random.chance(0.03);
  const code = isEndless ? 'endless' : 'greet';
  const what = isEndless ? 'platform endless script' : 'platform script';
  const looked = await askRest(context, {
    what: 'platform lookup',
    method: 'LOOKUP',
    path: 'service/svcscripts',
    json: code,
  });
  if (looked?.status !== 200) return;
  const path = `service/svcscripts/${looked.body[0]}/run`;
  const answer = await askRest(context, { what, method: 'POST', path, json: { input: { n } } });
  if (answer?.status !== 200) return;
  const { ended, values, error } = answer.body;
  if (isEndless && ended !== 'error') ledger.fault(`${what}: ended as ${ended}`);
  if (!isEndless && values?.text !== `n${n * 2}`) ledger.fault(`${what}: ended as ${ended} ${error?.reason ?? ''}`);
};

const md5Of = (bytes: Buffer): string => createHash('md5').update(bytes).digest('hex');

const keepFile = async (context: LoadContext): Promise<void> => {
  const { ledger, random } = context;
  const living = ledger.items.filter(({ state }) => state === 'made');
  const old = pickFree(living, random);
  if (old === undefined || (living.length < MAX_ITEMS && random.chance(0.3))) {
    const item: KeptItem = { id: createUuid(), state: 'maybe made', md5s: [null], isBusy: false };
    ledger.items.push(item);
    const json = { id: item.id, note: 'mixed' };
    const answer = await askRest(context, { what: 'platform item', method: 'POST', path: `model/${CLASS}`, json });
    if (answer?.status === 200) item.state = 'made';
    return;
  }
  await holding(old, async () => {
    if (living.length >= MAX_ITEMS && random.chance(0.3)) return await removeItem(context, old);
    await (random.chance(0.6) || old.md5s.includes(null) ? putFile(context, old) : readFile(context, old));
  });
};

const removeItem = async (context: LoadContext, item: KeptItem): Promise<void> => {
  item.state = 'maybe removed';
  const path = `model/${CLASS}/${item.id}`;
  const answer = await askRest(context, { what: 'platform item delete', method: 'DELETE', path, expect: [204] });
  if (answer?.status === 204) item.state = 'removed';
};

const putFile = async (context: LoadContext, item: KeptItem): Promise<void> => {
  const bytes = Buffer.alloc(1 + context.random.int(MAX_FILE_BYTES), context.random.int(256));
  const before = item.md5s;
  item.md5s = [...before, md5Of(bytes)];
  const answer = await context.client.ask({
    what: 'platform file put',
    method: 'PUT',
    url: `${context.stage.platformUrl}/rest/v1/model/${CLASS}/${item.id}/doc`,
    headers: { authorization: `Bearer ${context.token}`, 'content-type': 'application/octet-stream' },
    body: bytes,
  });
  if (answer?.status === 200) item.md5s = [md5Of(bytes)];
};

const readFile = async (context: LoadContext, item: KeptItem): Promise<void> => {
  const path = `model/${CLASS}/${item.id}/doc`;
  const answer = await askRest(context, {
    what: 'platform file get',
    path,
  });
  const etag = answer?.headers.get('etag')?.replaceAll('"', '');
  if (answer?.status === 200 && !item.md5s.includes(etag!)) context.ledger.fault('platform file get: not what was put');
};

/** A user is made, a mail promised; when it has arrived the user goes. */
const sendMail = async (context: LoadContext): Promise<void> => {
  const { ledger, stage, serial } = context;
  const arrived = new Set(stage.smtp.received.flatMap(({ to }) => to));
  const over = [...ledger.mails].find(([address, id]) => id !== '' && arrived.has(address));
  if (over) {
    ledger.mails.set(over[0], '');
    const expect = [204];
    await askRest(context, { what: 'platform delete', method: 'DELETE', path: `iam/users/${over[1]}`, expect });
  }
  const login = `mail-${serial()}@mixed.example`;
  const made = await askRest(context, { what: 'platform create', method: 'POST', path: 'iam/users', json: { login } });
  if (made?.status !== 200) return;
  const answer = await askRest(context, {
    what: 'platform invitation',
    method: 'POST',
    path: 'iam/invites',
    headers: { prefer: 'respond-async' },
    json: { userid: made.body.id },
  });
  if (answer?.status === 200) ledger.mails.set(login, made.body.id);
};

const must = async (asked: Promise<Answer | undefined>): Promise<void> => {
  const answer = await asked;
  if (answer?.status !== 200) throw new Error(`setting up answered ${answer?.status} ${JSON.stringify(answer?.body)}`);
};

/** Class, scripts and mail account that the load needs. */
export const setUpPlatform = async (asking: Asking, smtpPort: number): Promise<void> => {
  const post = (path: string, json: object): Promise<void> =>
    must(askRest(asking, { what: 'platform set-up', method: 'POST', path, json }));
  const properties = [
    { name: 'doc', data_type: 'attachment' },
    { name: 'note', data_type: 'string' },
  ];
  await post('design/classes', { classname: CLASS, properties });
  for (const [code, scriptdata] of Object.entries(SCRIPTS)) await post('service/svcscripts', { code, scriptdata });
  const server = { code: 'mixed', host: '127.0.0.1', port: smtpPort, tls: 'none' };
  await post('model/system/MailServers', server);
  const account = { code: 'mixed', server: 'mixed', from_address: 'parley@mixed.example', isSystem: true };
  await post('model/system/MailAccounts', account);
};

export const CLASS_OPERATIONS: readonly Operation[] = [
  { weight: 3, run: runScript },
  { weight: 5, run: keepFile },
  { weight: 1, run: sendMail },
];
