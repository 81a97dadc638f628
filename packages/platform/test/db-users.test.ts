/** Temporary database accounts on a real PostgreSQL: what they may do, when they end, and what is never touched. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { type PostgresServer, startPostgres } from '@parley/kit/testing/postgres-server.ts';
import { within } from '@parley/kit/testing/wait.ts';
import pg from 'pg';
import {
  ADMIN_PASSWORD,
  type Answer,
  type Client,
  startTestPlatform,
  type TestPlatform,
} from './start-test-platform.ts';

type Door = Disposable & { readonly port: number };

/** The server behind a TCP port; each call is another address of the same server. */
const openDoor = async (socket: string): Promise<Door> => {
  const open = new Set<Socket>();
  const door = createServer((incoming) => {
    const outgoing = connect(`${socket}/.s.PGSQL.5432`);
    incoming.pipe(outgoing).pipe(incoming);
    for (const [one, other] of [
      [incoming, outgoing],
      [outgoing, incoming],
    ] as const) {
      open.add(one);
      one.on('error', () => undefined);
      one.on('close', () => {
        open.delete(one);
        other.destroy();
      });
    }
  });
  door.listen(0, '127.0.0.1');
  await once(door, 'listening');
  return {
    port: (door.address() as { port: number }).port,
    [Symbol.dispose]: () => {
      door.close();
      for (const each of open) each.destroy();
    },
  };
};

const OWNER = { login: 'app_owner', pwd: "owner's pwd" };
/** Only the superuser of the tests is trusted; everybody else signs in, so that the end of a password means something. */
const HBA = `local all postgres trust\nlocal all all scram-sha-256`;

type Place = { host: string; port: number; login: string; pwd: string; database: string };

describe('temporary database users', () => {
  let server: PostgresServer;
  let door: Door;
  let socket: string;
  let platform: TestPlatform;
  let admin: Client;
  let ownUrl: string;
  const clients = new Set<pg.Client>();

  const signIn = async ({ host, port, login, pwd, database }: Place): Promise<pg.Client> => {
    const client = new pg.Client({ host, port, user: login, password: pwd, database });
    client.on('error', () => undefined);
    clients.add(client);
    await client.connect();
    return client;
  };
  /** The end of a connection; how it ends is reported as a fault, too. */
  const endOf = (client: pg.Client): Promise<void> =>
    new Promise((resolve) => {
      client.once('end', resolve);
    });
  /** The server is asked until it knows the role no more. */
  const goneRole = async (login: string): Promise<void> => {
    const query = 'SELECT pg_sleep(0.02), EXISTS (SELECT 1 FROM pg_roles WHERE rolname = $1) AS there';
    const ask = async (): Promise<void> => {
      while ((await server.run(query, [login])).rows[0].there);
    };
    await within(ask(), `the end of ${login}`);
  };
  const asOwner = async (sql: string, database = 'shop'): Promise<pg.QueryResult> => {
    const client = await signIn({ host: '127.0.0.1', port: door.port, ...OWNER, database });
    try {
      return await client.query(sql);
    } finally {
      await client.end();
    }
  };
  const sqlState = async (work: Promise<unknown>): Promise<string> => {
    try {
      await work;
    } catch (thrown) {
      return String((thrown as { code?: string }).code);
    }
    return 'done';
  };
  const call = (method: string, path: string, body?: unknown, client = admin): Promise<Answer> =>
    client.call(method, path, body === undefined ? {} : { body });
  const post = async (path: string, body?: unknown): Promise<Place & { access: string; validuntil: string }> => {
    const answer = await call('POST', path, body);
    assert.equal(answer.status, 200, answer.text);
    return answer.body;
  };
  const addStorage = async (instance: string, params: object, type = 'postgresql'): Promise<void> => {
    const answer = await call('POST', 'domain/storages', { instance, type, params });
    assert.equal(answer.status, 200, answer.text);
  };
  const roleNames = async (): Promise<string[]> =>
    (await server.run('SELECT rolname FROM pg_roles ORDER BY rolname')).rows.map(({ rolname }) => rolname);

  before(async () => {
    server = await startPostgres();
    ownUrl = await server.createDatabase();
    socket = decodeURIComponent(new URL(ownUrl).hostname);
    await server.run(`CREATE ROLE ${OWNER.login} LOGIN CREATEROLE PASSWORD '${OWNER.pwd.replace("'", "''")}'`);
    await server.run(`CREATE ROLE powerless LOGIN PASSWORD 'powerless'`);
    await server.run(`CREATE ROLE tmp_shop_261121_foreigns LOGIN PASSWORD 'x' VALID UNTIL '2001-01-01'`);
    await server.run(`CREATE DATABASE shop OWNER ${OWNER.login}`);
    await server.run(`CREATE DATABASE dc OWNER ${OWNER.login}`);
    await server.run(
      `COPY (SELECT unnest(string_to_array($$${HBA}$$, E'\\n'))) TO '${socket.replace(/s$/, 'data')}/pg_hba.conf'`,
    );
    await server.run(`ALTER SYSTEM SET log_statement = 'all'`);
    await server.run(`ALTER SYSTEM SET timezone = 'Asia/Kathmandu'`);
    await server.run('SELECT pg_reload_conf()');
    door = await openDoor(socket);
    await asOwner(`CREATE TABLE goods (id serial PRIMARY KEY, name text); INSERT INTO goods (name) VALUES ('tea');
      CREATE SCHEMA "odd ""schema"; CREATE TABLE "odd ""schema"."T;able" (n integer)`);
    platform = await startTestPlatform(ownUrl);
    admin = await platform.signIn('admin', ADMIN_PASSWORD);
    const place = { host: '127.0.0.1', port: door.port, ...OWNER };
    await addStorage('shop', { ...place, database: 'shop' });
    await addStorage('shop!2', { ...place, host: 'localhost', database: 'shop' });
    await addStorage('descriptors', { ...place, database: 'dc' });
    await addStorage('own', { ...place, database: ownUrl.slice(ownUrl.lastIndexOf('/') + 1) });
    await addStorage('files', { prefix: '' }, 'fs');
    await addStorage('powerless', { ...place, login: 'powerless', pwd: 'powerless', database: 'shop' });
    const id = (await call('LOOKUP', 'master/domains', 'master')).body?.[0];
    const level = { opts: { dbaccess: 'write' } };
    const levelled = id
      ? await call('PATCH', `master/domains/${id}`, level)
      : await call('POST', 'master/domains', { name: 'master', ...level });
    assert.equal(levelled.status, 200, levelled.text);
  });
  after(async () => {
    await Promise.all([...clients].map((client) => client.end().catch(() => undefined)));
    await platform?.[Symbol.asyncDispose]();
    door?.[Symbol.dispose]();
    await server?.[Symbol.asyncDispose]();
  });

  it('offers the databases of storages, but neither `dc` nor its own under whatever address', async () => {
    using second = await openDoor(socket);
    const own = ownUrl.slice(ownUrl.lastIndexOf('/') + 1);
    const trusted = { login: 'postgres', pwd: '', database: own };
    await addStorage('own-by-socket', { host: socket, ...trusted });
    await addStorage('own-by-port', { host: '127.0.0.1', port: second.port, ...trusted });
    await addStorage('own-by-name', { host: 'localhost', port: door.port, ...trusted });
    await addStorage('dc-by-default', { host: socket, login: 'dc', pwd: '' });
    const { body } = await call('GET', 'iam/dbusers');
    assert.deepEqual(
      body.map(({ name }: { name: string }) => name),
      ['powerless', 'shop', 'shop!2'],
    );
    assert.equal(body[2]._links.self.href, '/rest/v1/iam/dbusers/shop!2');
    for (const name of [
      'own',
      'own-by-socket',
      'own-by-port',
      'own-by-name',
      'descriptors',
      'dc-by-default',
      'files',
      'none',
    ]) {
      for (const method of ['POST', 'GET', 'DELETE']) {
        const answer = await call(method, `iam/dbusers/${name}`);
        assert.deepEqual([answer.status, answer.body.error_code], [404, 1401], `${method} ${name}`);
      }
    }
    assert.deepEqual(
      (await roleNames()).filter((name) => name.startsWith('tmp_t')),
      [],
    );
  });

  it('gives a reader everything to read, also what is made later, and nothing to write', async () => {
    const made = await post('iam/dbusers/shop');
    assert.match(made.login, /^tmp_shop_\d{6}_[a-z2-7]{8}$/);
    assert.deepEqual([made.host, made.port, made.database, made.access], ['127.0.0.1', door.port, 'shop', 'read']);
    const reader = await signIn(made);
    assert.deepEqual((await reader.query('SELECT name FROM goods')).rows, [{ name: 'tea' }]);
    await reader.query('SELECT * FROM "odd ""schema"."T;able"');
    await asOwner(`CREATE TABLE later (n integer); INSERT INTO later VALUES (7); CREATE SCHEMA newer;
      CREATE TABLE newer.fresh (n integer); CREATE VIEW seen AS SELECT * FROM goods`);
    assert.deepEqual((await reader.query('SELECT n FROM later')).rows, [{ n: 7 }]);
    await reader.query('SELECT * FROM newer.fresh; SELECT * FROM seen');
    assert.equal(await sqlState(reader.query(`INSERT INTO goods (name) VALUES ('x')`)), '25006');
    await reader.query(
      'SET default_transaction_read_only = off; SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE',
    );
    const forbidden = [
      `INSERT INTO goods (name) VALUES ('x')`,
      `UPDATE later SET n = 8`,
      'DELETE FROM goods',
      'TRUNCATE goods',
      'DROP TABLE later',
      'CREATE TABLE mine (n integer)',
      'CREATE TABLE public.mine (n integer)',
      'CREATE SCHEMA mine',
      `SELECT nextval('goods_id_seq')`,
      'CREATE ROLE another',
      `ALTER ROLE ${made.login} VALID UNTIL 'infinity'`,
      `ALTER ROLE ${made.login} CREATEROLE`,
      `COMMENT ON ROLE ${made.login} IS 'mine'`,
      `GRANT ${OWNER.login} TO ${made.login}`,
      `SET ROLE ${OWNER.login}`,
      `SET SESSION AUTHORIZATION ${OWNER.login}`,
      `COPY goods TO '/tmp/never'`,
      `COPY goods TO PROGRAM 'cat'`,
    ];
    for (const sql of forbidden) assert.equal(await sqlState(reader.query(sql)), '42501', sql);
    assert.equal((await asOwner('SELECT count(*)::int AS n FROM goods')).rows[0].n, 1);
  });

  it('lets a writer write, and not make tables or roles', async () => {
    const made = await post('iam/dbusers/shop%212', { access: 'write' });
    assert.equal(made.access, 'write');
    const writer = await signIn(made);
    await writer.query(`INSERT INTO goods (name) VALUES ('milk')`);
    await asOwner('CREATE TABLE orders (id serial, n integer)');
    await writer.query(
      'INSERT INTO orders (n) VALUES (1); UPDATE orders SET n = 2; SELECT * FROM orders; DELETE FROM orders',
    );
    for (const sql of [
      'CREATE ROLE another',
      'CREATE TABLE mine ()',
      'DROP TABLE goods',
      'TRUNCATE goods',
      `GRANT ${OWNER.login} TO ${made.login}`,
    ])
      assert.equal(await sqlState(writer.query(sql)), '42501', sql);
    await asOwner(`DELETE FROM goods WHERE name = 'milk'`);
  });

  it('keeps to the level of the domain', async () => {
    assert.equal((await call('POST', 'master/domains', { name: 'low' })).status, 200);
    assert.equal((await call('POST', 'master/domains', { name: 'shut', opts: { dbaccess: 'none' } })).status, 200);
    const wrong = await call('POST', 'master/domains', { name: 'wrong', opts: { dbaccess: 'all' } });
    assert.deepEqual([wrong.status, wrong.body.error_details.field], [422, 'opts.dbaccess']);
    for (const [domain, access, status] of [
      ['low', 'write', 403],
      ['low', 'read', 200],
      ['shut', 'read', 403],
    ] as const) {
      const session = await admin.call('POST', 'iam/sessions', {
        body: { login: 'admin', pwd: ADMIN_PASSWORD, domain: 'master', session_type: 'token' },
      });
      const moved = platform.as({ authorization: `Bearer ${session.body.session_token}` });
      assert.equal((await call('PATCH', 'iam/sessions/current', { domain }, moved)).status, 204);
      const params = { host: '127.0.0.1', port: door.port, ...OWNER, database: 'shop' };
      await call('POST', 'domain/storages', { instance: 'shop', type: 'postgresql', params }, moved);
      const answer = await call('POST', 'iam/dbusers/shop', { access }, moved);
      assert.equal(answer.status, status, `${domain} ${access}: ${answer.text}`);
      if (status === 403) assert.equal(answer.body.error_code, 1401);
      else {
        // One domain neither lists nor removes what another made, though both use the same database.
        const listed = (await call('GET', 'iam/dbusers/shop', undefined, moved)).body;
        assert.deepEqual(
          listed.map(({ login }: Place) => login),
          [answer.body.login],
        );
        assert.equal((await call('DELETE', `iam/dbusers/shop/${answer.body.login}`)).status, 404);
        assert.equal((await call('DELETE', 'iam/dbusers/shop', undefined, moved)).status, 204);
      }
    }
  });

  it('ends an account with the day of the server, in its time zone', async () => {
    const { validuntil, login } = await post('iam/dbusers/shop');
    const expected = await server.run(`SELECT to_char((date_trunc('day', now() AT TIME ZONE 'Asia/Kathmandu')
      + interval '1 day'), 'YYYY-MM-DD"T00:00:00+05:45"') AS until`);
    assert.equal(validuntil, expected.rows[0].until);
    const kept = await server.run('SELECT rolvaliduntil FROM pg_roles WHERE rolname = $1', [login]);
    assert.equal(kept.rows[0].rolvaliduntil.getTime(), Date.parse(validuntil));
    const listed = (await call('GET', 'iam/dbusers/shop')).body.find((each: Place) => each.login === login);
    assert.deepEqual(listed, { host: '127.0.0.1', port: door.port, login, database: 'shop', validuntil });
  });

  it('ends at expiry, open connections too, for readers and writers', async () => {
    const ended = async (access: string): Promise<void> => {
      const made = await post('iam/dbusers_by_expiration/shop', { access, ttl_sec: 1 });
      const client = await signIn(made);
      const over = endOf(client);
      await client.query('BEGIN; SELECT * FROM goods');
      await within(over, `the end of the ${access} connection`);
      assert.notEqual(await sqlState(signIn(made)), 'done');
      await goneRole(made.login);
    };
    await Promise.all([ended('read'), ended('write')]);
  });

  it('ends what was made by a node that is no more, through a storage that is no more', async () => {
    const params = { host: '127.0.0.1', port: door.port, ...OWNER, database: 'shop' };
    await addStorage('brief', params);
    let made: Place;
    {
      await using other = await startTestPlatform(ownUrl);
      const client = await other.signIn('admin', ADMIN_PASSWORD);
      made = (await call('POST', 'iam/dbusers_by_expiration/brief', { ttl_sec: 1 }, client)).body;
      assert.ok((await roleNames()).includes(made.login));
    }
    const [id] = (await call('LOOKUP', 'domain/storages', 'brief')).body;
    assert.equal((await call('DELETE', `domain/storages/${id}`)).status, 204);
    await server.run('SELECT pg_sleep(1.1)');
    await using _next = await startTestPlatform(ownUrl);
    await goneRole(made.login);
  });

  it('takes a moment or a length of time up to seven days', async () => {
    const path = 'iam/dbusers_by_expiration/shop';
    const moment = new Date(Date.now() + 3_600_000);
    const made = await post(path, { validuntil: moment.toISOString() });
    assert.equal(Math.floor(Date.parse(made.validuntil) / 1000), Math.floor(moment.getTime() / 1000));
    for (const [body, status, field] of [
      [{}, 422, 'validuntil'],
      [undefined, 422, 'validuntil'],
      [{ validuntil: '2001-01-01T00:00:00Z' }, 422, 'validuntil'],
      [{ validuntil: new Date(Date.now() + 8 * 86_400_000).toISOString() }, 422, 'validuntil'],
      [{ validuntil: 'soon' }, 400, 'validuntil'],
      [{ validuntil: 'infinity' }, 400, 'validuntil'],
      [{ ttl_sec: 0 }, 400, 'ttl_sec'],
      [{ ttl_sec: 7 * 86_400 + 1 }, 400, 'ttl_sec'],
      [{ ttl_sec: 60, validuntil: moment.toISOString() }, 400, 'ttl_sec'],
      [{ ttl_sec: 60, access: 'admin' }, 422, 'access'],
      [{ ttl_sec: 60, access: 1 }, 400, 'access'],
      [[1], 400, 'body'],
    ] as const) {
      const answer = await call('POST', path, body);
      assert.deepEqual([answer.status, answer.body.error_details?.field], [status, field], JSON.stringify(body));
    }
    assert.equal((await call('DELETE', `${path}/${made.login}`)).status, 204);
  });

  it('removes one or all, with their connections, and nothing that is not its own', async () => {
    const foreign = 'tmp_shop_261121_abcdefgh';
    await server.run(
      `CREATE ROLE ${foreign} LOGIN; COMMENT ON ROLE ${foreign} IS 'somebody else'; CREATE ROLE tmp_mine`,
    );
    const [first, second] = [await post('iam/dbusers/shop'), await post('iam/dbusers/shop', { access: 'write' })];
    const client = await signIn(first);
    const over = endOf(client);
    assert.equal((await call('DELETE', `iam/dbusers/shop/${first.login}`)).status, 204);
    await within(over, 'the end of the connection');
    assert.equal((await call('DELETE', `iam/dbusers/shop/${first.login}`)).status, 404);
    for (const login of [
      foreign,
      'tmp_mine',
      'postgres',
      OWNER.login,
      "x'; DROP ROLE postgres; --",
      '%00',
      'a'.repeat(500),
    ])
      assert.equal((await call('DELETE', `iam/dbusers/shop/${encodeURIComponent(login)}`)).status, 404, login);
    const before = (await roleNames()).filter((name) => !/^tmp_shop_\d{6}/.test(name));
    assert.equal((await call('DELETE', 'iam/dbusers/shop')).status, 204);
    assert.equal((await call('DELETE', 'iam/dbusers/shop')).status, 204, 'none is left');
    const names = await roleNames();
    assert.ok(!names.includes(second.login));
    for (const name of [...before, foreign, 'tmp_shop_261121_foreigns']) assert.ok(names.includes(name), name);
    assert.deepEqual((await call('GET', 'iam/dbusers/shop')).body, []);
  });

  it('keeps what an account made, without the rights of whoever takes it over', async () => {
    await asOwner('GRANT CREATE ON SCHEMA public TO PUBLIC');
    const made = await post('iam/dbusers/shop', { access: 'write' });
    const writer = await signIn(made);
    await writer.query(`CREATE TABLE notes (n integer); INSERT INTO notes VALUES (1);
      CREATE FUNCTION climb() RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS
        $f$ BEGIN CREATE ROLE climbed SUPERUSER; EXCEPTION WHEN OTHERS THEN CREATE ROLE climbed; END $f$`);
    assert.equal((await call('DELETE', `iam/dbusers/shop/${made.login}`)).status, 204);
    assert.deepEqual((await asOwner('SELECT n FROM notes')).rows, [{ n: 1 }]);
    assert.equal(await sqlState(asOwner('SELECT climb()')), '42501');
    await asOwner('REVOKE CREATE ON SCHEMA public FROM PUBLIC');
  });

  it('makes many at once', async () => {
    const made = await Promise.all(
      Array.from({ length: 8 }, (_, n) => post('iam/dbusers/shop', { access: n % 2 ? 'write' : 'read' })),
    );
    assert.equal(new Set(made.map(({ login }) => login)).size, 8);
    for (const each of made) await (await signIn(each)).query('SELECT * FROM goods');
    const removed = await Promise.all([call('DELETE', 'iam/dbusers/shop'), call('DELETE', 'iam/dbusers/shop%212')]);
    assert.deepEqual(
      removed.map(({ status }) => status),
      [204, 204],
    );
    assert.deepEqual((await call('GET', 'iam/dbusers/shop')).body, []);
  });

  it('takes names for names, whatever they are made of', async () => {
    const login = `we"ird'; DROP ROLE ${OWNER.login}; --`;
    const database = `Od"d'); DROP TABLE goods; --`;
    const quote = (name: string): string => `"${name.replaceAll('"', '""')}"`;
    await server.run(`CREATE ROLE ${quote(login)} LOGIN CREATEROLE PASSWORD 'weird'`);
    await server.run(`CREATE DATABASE ${quote(database)} OWNER ${quote(login)}`);
    const params = { host: '127.0.0.1', port: door.port, login, pwd: 'weird', database };
    await addStorage("x'; DROP ROLE postgres; --", params);
    const path = `iam/dbusers/${encodeURIComponent("x'; DROP ROLE postgres; --")}`;
    const made = await post(path, { access: 'write' });
    assert.match(made.login, /^tmp_od_d____drop_tab_\d{6}_[a-z2-7]{8}$/);
    await (await signIn(made)).query('SELECT 1');
    assert.equal((await call('DELETE', path)).status, 204);
    const names = await roleNames();
    assert.ok(names.includes(OWNER.login) && names.includes('postgres') && !names.includes(made.login));
    assert.equal((await asOwner('SELECT count(*)::int AS n FROM goods')).rows[0].n, 1);
  });

  it('never tells the server a password in clear', async () => {
    const { login, pwd } = await post('iam/dbusers/shop');
    const log = await server.log();
    assert.ok(log.includes(`CREATE ROLE ${login}`), 'the log holds statements');
    assert.ok(log.includes('SCRAM-SHA-256$4096:'));
    assert.ok(!log.includes(pwd));
  });

  it('says what stands in the way', async () => {
    const powerless = await call('POST', 'iam/dbusers/powerless');
    assert.deepEqual([powerless.status, powerless.body.error_details.reason], [422, 'no_createrole']);
    const place = { host: '127.0.0.1', port: door.port, ...OWNER };
    const faulty = {
      nobody: { ...place, login: 'nobody', database: 'shop' },
      wrong: { ...place, pwd: 'wrong', database: 'shop' },
      absent: { ...place, database: 'absent' },
      closed: { ...place, port: 1, database: 'shop' },
      unknown: { ...place, host: 'no.such.host.invalid', database: 'shop' },
      http: { ...place, port: Number(new URL(platform.url).port), database: 'shop' },
    };
    const answers = new Set<string>();
    for (const [instance, params] of Object.entries(faulty)) {
      await addStorage(instance, params);
      const answer = await call('POST', `iam/dbusers/${instance}`);
      assert.deepEqual([answer.status, answer.body.error_code], [502, 1502], instance);
      answers.add(answer.text);
    }
    assert.equal(answers.size, 1, 'all faults look the same');
  });

  it('uses only hosts that the master allows', async () => {
    const allow = async (value: object): Promise<void> => {
      assert.equal((await call('PATCH', 'domain/settings/dbusers', { value })).status, 200);
    };
    await allow({ hosts: ['db.example.org', '10.0.0.0/8'] });
    const refused = await call('POST', 'iam/dbusers/shop');
    assert.deepEqual([refused.status, refused.body.error_details.reason], [422, 'host_not_allowed']);
    await allow({ hosts: ['127.0.0.0/8'] });
    await post('iam/dbusers/shop');
    assert.equal((await call('POST', 'iam/dbusers/shop%212')).status, 422, 'a name is no address');
    await allow({ hosts: null });
    await post('iam/dbusers/shop%212');
    await call('DELETE', 'iam/dbusers/shop');
  });
});
