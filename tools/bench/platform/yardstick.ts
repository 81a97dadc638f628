/**
 * The yardstick: what one would write in an afternoon with Fastify and node:sqlite, honestly: sessions by hashed token,
 * filter and order in SQL, each PATCH with its journal row in a transaction of its own that is durable when it is answered.
 * `argv[2]`: a folder; `argv[3]`: a JSON file with `{ token, users: […] }`.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fastify } from 'fastify';
import type { SeededUser } from './seed.ts';

const SCHEMA = `
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
CREATE TABLE users(id TEXT PRIMARY KEY, login TEXT UNIQUE, name TEXT, timezone TEXT, opts TEXT, ext TEXT) WITHOUT ROWID;
CREATE TABLE sessions(digest BLOB PRIMARY KEY, user_id TEXT, until_ms INTEGER) WITHOUT ROWID;
CREATE TABLE journal(no INTEGER PRIMARY KEY, at TEXT, command TEXT, user_id TEXT, fields TEXT, entity TEXT);`;
const DAY_MS = 86_400_000;
const MAX_ITEMS = 1000;

type UserRow = { id: string; login: string; name: string; timezone: string; opts: string; ext: string };

const [, , folder = '', seedFile = ''] = process.argv;
const seed: { token: string; users: SeededUser[] } = JSON.parse(readFileSync(seedFile, 'utf8'));
const db = new DatabaseSync(join(folder, 'yardstick.sqlite'));
db.exec(SCHEMA);
const digestOf = (token: string): Buffer => createHash('sha256').update(token).digest();

const insert = db.prepare('INSERT INTO users VALUES (?, ?, ?, ?, ?, ?)');
db.exec('BEGIN');
for (const { id, login, name, timezone, opts, ext } of seed.users) {
  insert.run(id, login, name, timezone, JSON.stringify(opts), JSON.stringify(ext));
}
db.prepare('INSERT INTO sessions VALUES (?, ?, ?)').run(digestOf(seed.token), 'caller', Date.now() + DAY_MS);
db.exec('COMMIT');

const byId = db.prepare('SELECT * FROM users WHERE id = ?');
const matching = db.prepare(
  'SELECT id, login, name, timezone FROM users WHERE name LIKE ? ORDER BY login DESC LIMIT ?',
);
const session = db.prepare('SELECT user_id, until_ms FROM sessions WHERE digest = ?');
const update = db.prepare('UPDATE users SET name = ?, ext = ? WHERE id = ?');
const journal = db.prepare('INSERT INTO journal(at, command, user_id, fields, entity) VALUES (?, ?, ?, ?, ?)');

const read = (id: string) => {
  const row = byId.get(id) as UserRow | undefined;
  return row && { ...row, pwd: '*****', opts: JSON.parse(row.opts), ext: JSON.parse(row.ext) };
};

const app = fastify();
app.addHook('onRequest', async (request, reply) => {
  const token = request.headers.authorization?.slice('Bearer '.length);
  const known = token && (session.get(digestOf(token)) as { until_ms: number } | undefined);
  if (!known || known.until_ms < Date.now()) await reply.code(401).send({ error: 'Unauthorized' });
});
app.get('/rest/v1/iam/users/:id', async (request, reply) => {
  const user = read((request.params as { id: string }).id);
  return user ?? reply.code(404).send({ error: 'Not found' });
});
app.get('/rest/v1/iam/users', async (request) => {
  const { filter, limit } = request.query as { filter: string; limit: string };
  return matching.all((JSON.parse(filter) as { name: string }).name, Math.min(Number(limit), MAX_ITEMS));
});
app.patch('/rest/v1/iam/users/:id', async (request, reply) => {
  const user = read((request.params as { id: string }).id);
  if (!user) return reply.code(404).send({ error: 'Not found' });
  user.name = (request.body as { name: string }).name;
  user.ext.lwt = new Date().toISOString();
  db.exec('BEGIN IMMEDIATE');
  update.run(user.name, JSON.stringify(user.ext), user.id);
  journal.run(user.ext.lwt, 'update', user.id, 'name', JSON.stringify(user));
  db.exec('COMMIT');
  return user;
});
process.send?.({ type: 'ready', url: await app.listen({ port: 0, host: '127.0.0.1' }) });
process.on('message', () => process.exit());
process.on('disconnect', () => process.exit());
