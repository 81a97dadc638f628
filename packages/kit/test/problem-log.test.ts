/** What the log says of answers that are problems. */
import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { describe, it } from 'node:test';
import { pino } from 'pino';
import { createProblemLog } from '../src/http/problem-log.ts';
import { createServer, listen } from '../src/http/server.ts';
import { Problem } from '../src/problem.ts';

const linesOf = async (stream: PassThrough) =>
  (await stream.end().setEncoding('utf8').toArray())
    .join('')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));

const away = (cause?: Error) => new Problem({ code: 'unavailable', status: 503, message: 'Later.', cause });

describe('the log of problems', () => {
  it('has an error with its stack for each 500, and one warning without for all 503 of a cause', async () => {
    const stream = new PassThrough();
    const app = createServer({
      log: pino({ level: 'warn' }, stream),
      name: 'test',
      render: ({ status, code }) => ({ status, headers: { 'content-type': 'application/json' }, body: { code } }),
    });
    app.get('/bug', () => {
      throw new Error('a bug');
    });
    app.get('/away', () => {
      throw away(new Error('The database cannot be reached', { cause: new Error('connect ECONNREFUSED') }));
    });
    app.get('/full', () => {
      throw new Problem({ code: 'queue_full', status: 503, message: 'There is no room.' });
    });
    const server = await listen(app, { host: '127.0.0.1', port: 0 });
    for (const path of ['/away', '/bug', '/full', '/away', '/bug', '/full', '/away']) {
      const answer = await fetch(server.url + path);
      assert.equal(answer.headers.has('retry-after'), answer.status === 503);
      await answer.text();
    }
    await server.close();
    assert.deepEqual(
      (await linesOf(stream)).map(({ level, code, reason, err }) => [level, code, reason ?? err.message, typeof err]),
      [
        [40, 'unavailable', 'Later.: The database cannot be reached: connect ECONNREFUSED', 'undefined'],
        [50, 'internal', 'a bug', 'object'],
        [40, 'queue_full', 'There is no room.', 'undefined'],
        [50, 'internal', 'a bug', 'object'],
      ],
    );
  });

  it('counts what was not told of when it tells of it again', async () => {
    const stream = new PassThrough();
    let now = 0;
    const tell = createProblemLog(pino({ level: 'warn' }, stream), () => now);
    for (const atMs of [0, 1, 9999, 10_000, 10_001, 20_000, 30_001]) {
      now = atMs;
      tell(away(), 'request');
    }
    assert.deepEqual(
      (await linesOf(stream)).map(({ untold }) => untold),
      [undefined, 2, 1, undefined],
    );
  });
});
