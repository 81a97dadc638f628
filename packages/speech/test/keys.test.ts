import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { FastifyRequest } from 'fastify';
import type { Caller } from '../src/core/types.ts';
import { mayUseModel } from '../src/keys/globs.ts';
import { ensureKeys, issueKey, listKeys, removeKey, rotateKey } from '../src/keys/issue.ts';
import { digestOf, keyFileBook } from '../src/keys/key-file.ts';
import { type Keys, openKeys } from '../src/keys/keys.ts';
import { createRateLimiter } from '../src/keys/rate.ts';
import { createGuards } from '../src/keys/require-key.ts';

let dir: string;
let path: string;
let firstKeysPath: string;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'parley-keys-'));
  path = join(dir, 'speech', 'keys.json');
  firstKeysPath = join(dir, 'first-keys');
});
afterEach(() => rm(dir, { recursive: true }));

const first = (more: { adminSecret?: string; userSecret?: string; tell?: (text: string) => void } = {}) =>
  ensureKeys({ book: keyFileBook(path), firstKeysPath, adminSecret: '', userSecret: '', ...more });

const open = (faults: unknown[] = [], now = Date.now): Keys =>
  openKeys({ path, now, onFault: (thrown) => faults.push(thrown) });

const readFirstKeys = async (): Promise<Record<string, string>> =>
  Object.fromEntries(
    (await readFile(firstKeysPath, 'utf8'))
      .split('\n')
      .filter((line) => line.includes('='))
      .map((line) => line.split('=') as [string, string]),
  );

describe('the first start', () => {
  it('issues an admin and a user key, shows them once and keeps digests only', async () => {
    const told: string[] = [];
    await first({ tell: (text) => told.push(text) });
    const secrets = await readFirstKeys();
    const admin = secrets.PARLEY_SPEECH_ADMIN_KEY ?? '';
    const user = secrets.PARLEY_SPEECH_USER_KEY ?? '';
    assert.match(admin, /^sk-parley-[\w-]{43}$/);
    assert.match(user, /^sk-parley-[\w-]{43}$/);
    assert.ok(told.join('').includes(admin) && told.join('').includes(user));
    for (const file of [path, firstKeysPath]) assert.equal((await stat(file)).mode & 0o777, 0o600);
    const stored = await readFile(path, 'utf8');
    assert.ok(!stored.includes(admin) && !stored.includes(user));
    assert.equal(open().find(admin)?.admin, true);
    assert.equal(open().find(user)?.admin, false);

    await rm(firstKeysPath);
    await first();
    await assert.rejects(stat(firstKeysPath), 'a second start issues nothing');
    assert.equal((await listKeys(keyFileBook(path))).length, 2);
  });

  it('takes secrets of the environment and does not show them', async () => {
    await first({ adminSecret: 'an-admin-secret-of-mine', userSecret: 'a-user-secret-of-mine' });
    await assert.rejects(stat(firstKeysPath));
    assert.equal(open().find('an-admin-secret-of-mine')?.admin, true);
    assert.equal(open().find('a-user-secret-of-mine')?.admin, false);
    await assert.rejects(first({ adminSecret: 'short' }), /PARLEY_SPEECH_ADMIN_KEY must have at least 16/);
  });

  it('adds a secret of the environment later, but never one whose key was removed', async () => {
    await first();
    await first({ adminSecret: 'an-admin-secret-of-mine' });
    const { id, name } = open().find('an-admin-secret-of-mine')!;
    assert.equal(name, 'admin-2');
    await removeKey(keyFileBook(path), id);
    await first({ adminSecret: 'an-admin-secret-of-mine' });
    assert.equal(open().find('an-admin-secret-of-mine'), undefined);
  });
});

describe('keys', () => {
  it('keep their id when they are rotated, and refuse the old secret for good', async () => {
    const { record, secret } = await issueKey(keyFileBook(path), { name: 'ci', priority: 'interactive' });
    const rotated = await rotateKey(keyFileBook(path), 'ci');
    assert.equal(rotated.record.id, record.id);
    assert.equal(rotated.record.priority, 'interactive');
    assert.equal(open().find(secret), undefined);
    assert.equal(open().find(rotated.secret)?.id, record.id);
    await first({ userSecret: secret });
    assert.equal(open().find(secret), undefined);
  });

  it('are read again when the file changes, and stay in force when the new file is broken', async () => {
    const one = await issueKey(keyFileBook(path), { name: 'one' });
    const faults: unknown[] = [];
    const keys = open(faults);
    const two = await issueKey(keyFileBook(path), { name: 'two' });
    assert.equal(keys.find(two.secret)?.name, 'two');
    await removeKey(keyFileBook(path), 'one');
    assert.equal(keys.find(one.secret), undefined);
    await writeFile(path, '{ "keys": [');
    assert.equal(keys.find(two.secret)?.name, 'two');
    assert.equal(keys.find(two.secret)?.name, 'two');
    assert.equal(faults.length, 1, 'told once');
  });

  it('refuse names and secrets that are taken, and secrets that are too short', async () => {
    await issueKey(keyFileBook(path), { name: 'one', secret: 'a-secret-of-my-own' });
    await assert.rejects(issueKey(keyFileBook(path), { name: 'one' }), /named one already/);
    await assert.rejects(
      issueKey(keyFileBook(path), { name: 'two', secret: 'a-secret-of-my-own' }),
      /Another key has this secret/,
    );
    await assert.rejects(issueKey(keyFileBook(path), { name: 'two', secret: 'short' }), /at least 16/);
    await assert.rejects(removeKey(keyFileBook(path), 'two'), /no key two/);
  });

  it('may be written by hand in the clear and are hashed at the next start', async () => {
    await issueKey(keyFileBook(path), { name: 'gone' });
    await writeFile(path, JSON.stringify([{ name: 'mine', key: 'a-secret-of-my-own', admin: true }]));
    const { id } = open().find('a-secret-of-my-own')!;
    await first();
    const stored = await readFile(path, 'utf8');
    assert.ok(!stored.includes('a-secret-of-my-own') && stored.includes(digestOf('a-secret-of-my-own')));
    assert.equal(open().find('a-secret-of-my-own')?.id, id);
    assert.equal((await stat(path)).mode & 0o777, 0o600);
  });

  it('refuse a file with two of a kind, without quoting it', async () => {
    await issueKey(keyFileBook(path), { name: 'x' });
    const twice = [1, 2].map((at) => ({ name: `k${at}`, key: 'a-secret-of-my-own' }));
    await writeFile(path, JSON.stringify(twice));
    assert.throws(
      () => open(),
      (thrown: Error) => /same/.test(thrown.message) && !thrown.message.includes('of-my-own'),
    );
    await writeFile(path, 'a-secret-of-my-own');
    assert.throws(
      () => open(),
      (thrown: Error) => /not JSON/.test(thrown.message) && !thrown.message.includes('of-my'),
    );
  });

  it('end when they are disabled or expire', async () => {
    const { secret } = await issueKey(keyFileBook(path), { name: 'guest', expiresAt: '2030-01-01T00:00:00.000Z' });
    assert.ok(open([], () => Date.parse('2029-12-31T00:00:00Z')).find(secret));
    assert.equal(open([], () => Date.parse('2030-01-01T00:00:00Z')).find(secret), undefined);
    const [record] = await listKeys(keyFileBook(path));
    await writeFile(path, JSON.stringify({ keys: [{ ...record, expires_at: undefined, disabled: true }] }));
    assert.equal(open().find(secret), undefined);
  });

  it('are not lost when many are issued at once', async () => {
    await Promise.all(Array.from({ length: 8 }, (_, at) => issueKey(keyFileBook(path), { name: `key ${at}` })));
    assert.equal((await listKeys(keyFileBook(path))).length, 8);
  });
});

const request = (headers: Record<string, string>): FastifyRequest => ({ headers }) as unknown as FastifyRequest;

describe('guards', () => {
  it('take any spelling of bearer, and tell no key, bad key and no rights apart', async () => {
    const { secret } = await issueKey(keyFileBook(path), { name: 'user' });
    const { secret: adminSecret } = await issueKey(keyFileBook(path), { name: 'admin', admin: true });
    const guards = createGuards({ mode: 'apikey', keys: open(), rates: createRateLimiter(Date.now) });
    assert.equal((guards.key(request({ authorization: `bEARER  ${secret}` })) as Caller).name, 'user');
    assert.equal((guards.admin(request({ authorization: `Bearer ${adminSecret}` })) as Caller).admin, true);
    const code = (run: () => unknown): unknown => {
      try {
        return run();
      } catch (thrown) {
        return (thrown as { code: string }).code;
      }
    };
    for (const headers of [
      {},
      { authorization: 'Bearer' },
      { authorization: secret },
      { authorization: 'Bearer nope' },
    ]) {
      assert.equal(
        code(() => guards.key(request(headers as Record<string, string>))),
        'unauthorized',
      );
    }
    assert.equal(
      code(() => guards.admin(request({ authorization: `Bearer ${secret}` }))),
      'forbidden',
    );
    assert.equal((guards.open(request({})) as Caller).admin, false);
  });

  it('let only local names and the own origin in when there are no keys', () => {
    const { key } = createGuards({ mode: 'open' });
    for (const host of ['localhost:8090', '127.0.0.1', '[::1]:8090', 'LOCALHOST']) assert.ok(key(request({ host })));
    assert.ok(key(request({ host: 'localhost:8090', origin: 'http://localhost:8090' })));
    for (const host of ['evil.example', 'localhost.evil.example', '127.0.0.1.evil.example:80', '', '10.0.0.1']) {
      assert.throws(() => key(request({ host })), /localhost only/);
    }
    for (const origin of [
      'http://evil.example',
      'null',
      'http://localhost:3000',
      'http://localhost:8090.evil.example',
    ]) {
      assert.throws(() => key(request({ host: 'localhost:8090', origin })), /no other origin/);
    }
  });

  it('give each key its rate with a burst of twice that', () => {
    let nowMs = 0;
    const { take } = createRateLimiter(() => nowMs);
    assert.deepEqual(
      [1, 2, 3, 4].map(() => take('a', 2)),
      [0, 0, 0, 0],
    );
    assert.equal(take('a', 2), 0.5);
    assert.equal(take('b', 2), 0, 'another key has its own');
    nowMs = 500;
    assert.equal(take('a', 2), 0);
    assert.equal(take('c', 0.1), 0, 'a slow key may make its first request');
    assert.equal(take('free', 0), 0);
  });

  it('know the models a key may use', () => {
    const may = (models: string[], id: string): boolean => mayUseModel({ models } as unknown as Caller, id);
    assert.ok(may(['*'], 'any'));
    assert.ok(may(['ru-*', 'en'], 'ru-small'));
    assert.ok(may(['*-small'], 'en-small'));
    assert.ok(may(['e?-*a*'], 'en-small'));
    assert.ok(!may(['ru-*'], 'en-small'));
    assert.ok(!may([], 'en'));
    assert.ok(!may(['en'], 'en-small'));
    assert.ok(!may(['*a*a*a*a*a*a*b'], 'a'.repeat(5000)));
  });
});
