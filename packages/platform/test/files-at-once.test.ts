/** Files of one property that are put, replaced and removed at the same moment: what the row names is there. */
import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { openPostgresDriver } from '@parley/kit/testing/each-store.ts';
import { openNamed } from '../src/model/file-turns.ts';
import { openFiles } from '../src/model/files.ts';
import { ADMIN_PASSWORD, type Client, startTestPlatform, type TestPlatform } from './start-test-platform.ts';

const ROUNDS = 30;
const OCTETS = { 'content-type': 'application/octet-stream' };
const PNG = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');
const CONTENTS = ['one', 'another'].map((text) => Buffer.from(text));
const PICTURES = CONTENTS.map((content) => Buffer.concat([PNG, content]));

type Node = { readonly url: string; readonly admin: Client };

const signIn = async (platform: TestPlatform): Promise<Node> => ({
  url: platform.url,
  admin: await platform.signIn('admin', ADMIN_PASSWORD),
});

const send = async ({ url, admin }: Node, method: string, path: string, body?: Buffer): Promise<number> => {
  const headers = { ...admin.headers, ...OCTETS };
  const answer = await fetch(`${url}/rest/v1/${path}`, { method, headers, ...(body && { body }) });
  await answer.body?.cancel();
  return answer.status;
};

/** Two contents that take each other's place at every node at once, and in every second round a removal between them. */
const changeAtOnce = async (nodes: readonly Node[], path: string, contents: readonly Buffer[], round: number) => {
  const sent = [...contents, ...contents].map((content, at) => send(nodes[at % nodes.length]!, 'PUT', path, content));
  if (round % 2 === 1) sent.push(send(nodes[0]!, 'DELETE', path));
  const statuses = await Promise.all(sent);
  const isExpected = statuses.every((status) => [200, 204, 404].includes(status));
  assert.ok(isExpected, String(statuses));
};

const makeItem = async ({ admin }: Node): Promise<string> => {
  const body = { classname: 'Kept', properties: [{ name: 'doc', data_type: 'attachment' }] };
  assert.equal((await admin.call('POST', 'design/classes', { body })).status, 200);
  return `model/Kept/${(await admin.call('POST', 'model/Kept', { body: {} })).body.id}`;
};

const checkItem = async ({ admin }: Node, item: string): Promise<void> => {
  const { doc } = (await admin.call('GET', item)).body;
  assert.equal((await admin.call('GET', `${item}/doc`)).status, doc ? 200 : 404, JSON.stringify(doc));
};

const checkPicture = async ({ admin }: Node): Promise<void> => {
  const { avatar } = (await admin.call('GET', 'user/info')).body;
  assert.equal((await admin.call('GET', 'user/avatar')).status, avatar ? 200 : 404, JSON.stringify(avatar));
};

describe('files that change at the same moment', () => {
  it('attachments: what the item names is there, and nothing else', async () => {
    await using platform = await startTestPlatform();
    const node = await signIn(platform);
    const item = await makeItem(node);
    for (let round = 0; round < ROUNDS; round++) {
      await changeAtOnce([node], `${item}/doc`, CONTENTS, round);
      await checkItem(node, item);
    }
    assert.equal(await send(node, 'PUT', `${item}/doc`, CONTENTS[0]!), 200);
    assert.equal((await filesIn(platform.folder)).length, 1);
  });

  it('pictures: what the account names is there, and nothing else', async () => {
    await using platform = await startTestPlatform();
    const node = await signIn(platform);
    for (let round = 0; round < ROUNDS; round++) {
      await changeAtOnce([node], 'user/avatar', PICTURES, round);
      await checkPicture(node);
    }
    assert.equal(await send(node, 'PUT', 'user/avatar', PICTURES[0]!), 200);
    assert.equal((await filesIn(platform.folder)).length, 1);
  });

  it('are read whole when they are replaced or removed after the row was read', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'parley-at-once-'));
    try {
      const files = openFiles(folder);
      const place = { domain: 'master', classId: 'c', id: 'i', property: 'doc' };
      const put = async (content: Buffer): Promise<string> => {
        await using staged = await files.stage(place, Readable.from([content]), 'text/plain');
        await staged.place();
        return staged.md5;
      };
      let old = '';
      for (let round = 0; round < 10 * ROUNDS; round++) {
        old = await put(CONTENTS[0]!);
        const opening = [1, 2, 3, 4].map(() => files.get(place, old));
        await Promise.all([...opening, files.remove(place, old)]);
        for (const stream of await Promise.all(opening)) assert.equal(stream && (await text(stream)), stream && 'one');
      }
      const rows = [old, await put(CONTENTS[1]!)];
      const found = await openNamed(files, place, async () => ({ md5: rows.shift()! }));
      assert.equal(await text(found!.stream), 'another');
      assert.equal(await openNamed(files, place, async () => ({ md5: old })), undefined);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  it('at two servers that share rows and files: what is named is there, and what is not waits for the sweep', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'parley-at-once-'));
    try {
      await using postgres = await openPostgresDriver();
      await using database = await postgres.createDatabase();
      await using one = await startTestPlatform(database.place, { data_dir: folder });
      await using two = await startTestPlatform(database.place, { data_dir: folder });
      const nodes = [await signIn(one), await signIn(two)];
      const item = await makeItem(nodes[0]!);
      while ((await nodes[1]!.admin.call('GET', item)).status !== 200) await new Promise(setImmediate);
      for (let round = 0; round < ROUNDS / 2; round++) {
        await changeAtOnce(nodes, `${item}/doc`, CONTENTS, round);
        await checkItem(nodes[round % 2]!, item);
        await changeAtOnce([nodes[round % 2]!], 'user/avatar', PICTURES, round);
        await checkPicture(nodes[round % 2]!);
      }
      assert.equal((await filesIn(folder)).length, CONTENTS.length + PICTURES.length);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});

/** Names of all stored files, also of those on their way. */
const filesIn = async (folder: string): Promise<string[]> => {
  const entries = await readdir(join(folder, 'files'), { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map(({ name }) => name);
};
