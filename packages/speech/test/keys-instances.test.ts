/** Keys and rates as rows that several processes share. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createSilentLog } from '@parley/kit/log.ts';
import { openPostgresDriver, type TestDatabase, type TestDriver } from '@parley/kit/testing/each-store.ts';
import { eventually } from '@parley/kit/testing/wait.ts';
import { ensureKeys, issueKey, listKeys, removeKey, rotateKey } from '../src/keys/issue.ts';
import { keyFileBook } from '../src/keys/key-file.ts';
import { openSharedKeys, sharedBook } from '../src/keys/shared-book.ts';
import { createSharedRateLimiter } from '../src/keys/shared-rate.ts';

describe('shared keys', () => {
  let driver: TestDriver & AsyncDisposable;
  let dir: string;
  let database: TestDatabase;
  before(async () => {
    dir = await mkdtemp(join(tmpdir(), 'parley-shared-keys-'));
    driver = await openPostgresDriver();
    database = await driver.createDatabase();
  });
  after(async () => {
    await database?.[Symbol.asyncDispose]();
    await driver?.[Symbol.asyncDispose]();
    await rm(dir, { recursive: true, force: true });
  });
  const log = createSilentLog();
  const openTwo = async () => [await database.open(), await database.open()] as const;

  it('take over the keys of a file, are issued once for all, and change everywhere at once', async () => {
    const [one, two] = await openTwo();
    const path = join(dir, 'keys.json');
    const old = await issueKey(keyFileBook(path), { name: 'old' });
    const first = (store: typeof one) =>
      ensureKeys({
        book: sharedBook(store, path),
        firstKeysPath: join(dir, 'first'),
        adminSecret: 'an-admin-secret-of-mine',
        userSecret: '',
      });
    await Promise.all([first(one), first(two)]);
    assert.deepEqual(
      (await listKeys(sharedBook(two, ''))).map(({ name }) => name),
      ['old', 'admin'],
    );
    await using keys = await openSharedKeys(two, Date.now, log);
    assert.equal(keys.find(old.secret)?.id, old.record.id);
    assert.equal(keys.find('an-admin-secret-of-mine')?.admin, true);

    const book = sharedBook(one, '');
    const rotated = await rotateKey(book, 'old');
    await eventually('the new secret', () => keys.find(rotated.secret)?.id === old.record.id);
    assert.equal(keys.find(old.secret), undefined);
    await removeKey(book, 'old');
    await eventually('the removal', () => keys.find(rotated.secret) === undefined);
    await Promise.all(
      Array.from({ length: 8 }, (_, at) => issueKey(sharedBook(at % 2 ? one : two, ''), { name: `${at}` })),
    );
    assert.equal((await listKeys(book)).length, 9);
  });

  it('have one rate, whoever is asked', async () => {
    const [one, two] = await openTwo();
    let nowMs = 1_000_000;
    const limiters = [one, two].map((store) => createSharedRateLimiter(store, () => nowMs, log));
    const ask = async (id: string, rps: number, times: number): Promise<number> => {
      const waits = await Promise.all(Array.from({ length: times }, (_, at) => limiters[at % 2]!.take(id, rps)));
      return waits.filter((wait) => wait === 0).length;
    };
    assert.equal(await ask('slow', 2, 12), 4, 'a burst of twice the rate');
    const wait = await limiters[0]!.take('slow', 2);
    assert.ok(wait > 0 && wait <= 0.5);
    nowMs += 1000;
    assert.equal(await ask('slow', 2, 12), 2);
    assert.equal(await ask('other', 2, 2), 2, 'another key has its own');
    assert.equal(await ask('free', 0, 50), 50);
    // Taken ahead in tenths of a second: what one process holds is the other's no more, and no more than that.
    const quick = await ask('quick', 100, 400);
    assert.ok(quick <= 200 && quick >= 200 - 2 * 10, String(quick));
  });

  it('are counted by each process for itself while the database is away', async () => {
    const store = await database.open();
    const limiter = createSharedRateLimiter(store, Date.now, log);
    await store[Symbol.asyncDispose]();
    const waits = await Promise.all(Array.from({ length: 10 }, () => limiter.take('away', 1)));
    assert.equal(waits.filter((wait) => wait === 0).length, 2);
  });
});
