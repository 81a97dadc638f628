/** Uploads over real connections: every order and form that clients send, and an empty spool after every failure. */
import assert from 'node:assert/strict';
import { createReadStream } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import OpenAI from 'openai';
import { type Endpoint, mount } from '../src/http/endpoint.ts';
import { createServer, type Listening, listen } from '../src/http/server.ts';
import { createSpoolBudget, type SpoolBudget } from '../src/http/spool.ts';
import { readOctets, readUpload, sanitizeFilename, type UploadOptions } from '../src/http/upload.ts';
import { createSilentLog } from '../src/log.ts';
import { Problem } from '../src/problem.ts';
import { failOnLeaks } from '../src/testing/leaks.ts';
import { openRaw, type RawClient, statusOf } from './raw-client.ts';

type Answer = {
  code?: string;
  param?: string;
  file?: { sizeBytes: number; filename?: string; mode: string; content: string };
  fields?: Record<string, string[]>;
};

failOnLeaks();
let spoolDir: string;
let server: Listening;
let budget: SpoolBudget;
const clients: RawClient[] = [];
/** Resolves with how each upload ended, in order. */
let ended: PromiseWithResolvers<unknown>;

const start = async (options: Partial<UploadOptions> = {}, path = '/upload'): Promise<void> => {
  const app = createServer({
    log: createSilentLog(),
    name: 'test',
    render: ({ status, code, param, message }) => ({
      status,
      headers: { 'content-type': 'application/json' },
      body: { code, param, message },
    }),
  });
  const all = { spoolDir, maxBytes: 1_000_000, fileFields: ['file'], budget, ...options };
  const upload: Endpoint<'open', string> = {
    method: 'POST',
    path,
    access: 'open',
    tag: 'test',
    summary: 'upload',
    handle: async ({ request }) => {
      try {
        const { file, fields } = await readUpload(request, all);
        ended.resolve(undefined);
        const { mode } = file ? await stat(file.path) : { mode: 0 };
        const content = file ? (await readFile(file.path, 'latin1')).slice(0, 20) : '';
        await file?.remove();
        await file?.remove();
        return {
          file: file && {
            sizeBytes: file.sizeBytes,
            filename: file.filename,
            mode: (mode & 0o777).toString(8),
            content,
          },
          fields: Object.fromEntries(fields),
        };
      } catch (thrown) {
        ended.resolve(thrown);
        throw thrown;
      }
    },
  };
  const octets: Endpoint<'open', string> = {
    ...upload,
    path: '/octets',
    handle: async ({ request }) => {
      const file = await readOctets(request, all);
      await file.remove();
      return { sizeBytes: file.sizeBytes };
    },
  };
  mount(app, [upload, octets], { open: () => '' });
  server = await listen(app, { host: '127.0.0.1', port: 0 });
};

beforeEach(async () => {
  spoolDir = await mkdtemp(join(tmpdir(), 'parley-upload-'));
  budget = createSpoolBudget(2_000_000, () => new Problem({ code: 'queue_full', status: 429, message: 'Full.' }));
  ended = Promise.withResolvers();
});

afterEach(async () => {
  for (const client of clients.splice(0)) client.socket.destroy();
  await server.close();
  assert.deepEqual(await readdir(spoolDir), []);
  assert.equal(budget.usedBytes, 0);
  await rm(spoolDir, { recursive: true });
});

const raw = async (): Promise<RawClient> => {
  const client = await openRaw(server.port);
  clients.push(client);
  return client;
};

const send = async (body: RequestInit['body'], headers: Record<string, string> = {}, path = '/upload') => {
  const answer = await fetch(server.url + path, {
    method: 'POST',
    body: body!,
    headers,
    duplex: 'half',
  } as RequestInit);
  return { status: answer.status, body: (await answer.json()) as Answer };
};

const BOUNDARY = 'xYzZy';
const part = (name: string, content: string, more = '') =>
  `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n${content}\r\n`;
const filePart = (name: string, content: string, filename = 'a.wav') =>
  part(name, content, `; filename="${filename}"\r\nContent-Type: application/octet-stream`);
const END = `--${BOUNDARY}--\r\n`;
const TYPE = { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` };
const HEAD = `POST /upload HTTP/1.1\r\nHost: x\r\nContent-Type: ${TYPE['content-type']}\r\n`;
const chunk = (text: string) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;

/** Chunked and without a length, as openai-node sends what it was given as a stream. */
async function* inPieces(text: string, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < text.length; at += size) yield Buffer.from(text.slice(at, at + size));
}

describe('a form', () => {
  it('may have the file first, in the middle or last', async () => {
    await start();
    const content = 'RIFF'.repeat(50_000);
    const fields = [part('model', 'a'), part('tags[]', '1'), part('tags[]', '2')];
    for (const at of [0, 1, 3]) {
      const text = fields.toSpliced(at, 0, filePart('file', content)).join('') + END;
      const { status, body } = await send(ReadableStream.from(inPieces(text, 7919)) as never, TYPE);
      assert.equal(status, 200);
      assert.deepEqual(body.file, { sizeBytes: 200_000, filename: 'a.wav', mode: '600', content: 'RIFF'.repeat(5) });
      assert.deepEqual(body.fields, { model: ['a'], 'tags[]': ['1', '2'] });
    }
  });

  it('may come from FormData, with any name for a file', async () => {
    await start();
    const form = new FormData();
    form.set('language', 'ru');
    form.set('file', new Blob(['sound']), '../../etc/pass\u0000wd "1".wav');
    form.set('text', 'žluťoučký 🐎');
    const { body } = await send(form);
    assert.equal(body.file?.content, 'sound');
    assert.deepEqual(body.fields, { language: ['ru'], text: ['žluťoučký 🐎'] });
  });

  it('may come from the openai SDK, as a stream of unknown length', async () => {
    await start({}, '/audio/transcriptions');
    const source = join(spoolDir, '..', `${basename(spoolDir)}.wav`);
    await writeFile(source, 'RIFF'.repeat(100_000));
    const client = new OpenAI({ baseURL: server.url, apiKey: 'none', maxRetries: 0 });
    const file = createReadStream(source);
    const answer = (await client.audio.transcriptions.create({ file, model: 'a', language: 'en' })) as Answer;
    await rm(source);
    assert.equal(answer.file?.sizeBytes, 400_000);
    assert.equal(answer.file?.filename, basename(source));
    assert.deepEqual(answer.fields, { model: ['a'], language: ['en'] });
  });

  it('is read byte by byte as well', async () => {
    await start();
    const text = filePart('file', `a\r\n--${BOUNDARY.slice(0, 3)}\r\n--b`) + part('x', 'y') + END;
    const { body } = await send(ReadableStream.from(inPieces(text, 1)) as never, TYPE);
    assert.equal(body.file?.content, 'a\r\n--xYz\r\n--b');
    assert.deepEqual(body.fields, { x: ['y'] });
  });

  it('without a file part has no file, also when the field comes as text or as an empty input', async () => {
    await start();
    const asText = await send(part('file', 'not a file') + END, TYPE);
    assert.equal(asText.body.file, undefined);
    assert.deepEqual(asText.body.fields, { file: ['not a file'] });
    const empty = await send(filePart('file', '', '') + END, TYPE);
    assert.equal(empty.body.file, undefined);
    const named = await send(filePart('file', '') + END, TYPE);
    assert.equal(named.body.file?.sizeBytes, 0);
  });
});

describe('a form that cannot be taken', () => {
  const cases: [string, string, Record<string, string>, number, string, string?][] = [
    ['a second file', filePart('file', 'a') + filePart('file', 'b') + END, TYPE, 400, 'invalid_request', 'file'],
    ['a file elsewhere', filePart('file', 'a') + filePart('extra', 'b') + END, TYPE, 400, 'invalid_request', 'extra'],
    ['an end that is missing', filePart('file', 'a'), TYPE, 400, 'invalid_request'],
    ['half a head', `--${BOUNDARY}\r\nContent-Disposition: form-data; na`, TYPE, 400, 'invalid_request'],
    ['nothing', '', TYPE, 400, 'invalid_request'],
    ['other bytes', 'RIFF....', TYPE, 400, 'invalid_request'],
    ['no boundary', 'x', { 'content-type': 'multipart/form-data' }, 400, 'invalid_request'],
    ['no name', part('', 'x') + END, TYPE, 400, 'invalid_request'],
    ['a long field', part('x', 'y'.repeat(65_537)) + END, TYPE, 400, 'invalid_request', 'x'],
    ['101 fields', filePart('file', 'a') + part('x', 'y').repeat(101) + END, TYPE, 400, 'invalid_request'],
    ['another type', '{}', { 'content-type': 'application/json' }, 415, 'unsupported_media_type'],
    ['another multipart', 'x', { 'content-type': 'multipart/mixed; boundary=x' }, 415, 'unsupported_media_type'],
  ];
  for (const [what, body, headers, status, code, param] of cases) {
    it(`because of ${what}: ${status} ${code}`, async () => {
      await start();
      const answer = await send(body, headers);
      assert.deepEqual([answer.status, answer.body.code, answer.body.param], [status, code, param]);
    });
  }

  it('because the file is too large: 413 while it comes, announced or not', async () => {
    await start({ maxBytes: 100_000 });
    const text = filePart('file', 'x'.repeat(100_001)) + END;
    for (const body of [text, ReadableStream.from(inPieces(text, 10_000)) as never]) {
      const answer = await send(body, TYPE);
      assert.deepEqual([answer.status, answer.body.code, answer.body.param], [413, 'file_too_large', 'file']);
    }
    const client = await raw();
    client.write(`${HEAD}Transfer-Encoding: chunked\r\n\r\n${chunk(filePart('file', 'x'.repeat(200_000)))}`);
    const { text: reply, reset } = await client.closed();
    assert.deepEqual([statusOf(reply), reset], [413, false]);
    const announced = await raw();
    announced.write(`${HEAD}Content-Length: 9000000000\r\n\r\n`);
    assert.equal(statusOf((await announced.closed()).text), 413);
  });

  it('because it stalls: 408', async () => {
    await start({ idleTimeoutMs: 60 });
    const client = await raw();
    client.write(`${HEAD}Content-Length: 5000\r\n\r\n${filePart('file', 'x'.repeat(100)).slice(0, -2)}`);
    const { text, reset } = await client.closed();
    assert.deepEqual([statusOf(text), reset], [408, false]);
  });

  it('because the spool is full: the budget’s refusal', async () => {
    await start({ maxBytes: 5_000_000 });
    const answer = await send(filePart('file', 'x'.repeat(2_000_001)) + END, TYPE);
    assert.deepEqual([answer.status, answer.body.code], [429, 'queue_full']);
  });

  it('because the spool cannot be written: 503 with Retry-After', async () => {
    const file = join(spoolDir, 'file');
    await writeFile(file, '');
    await start({ spoolDir: file });
    const answer = await send(filePart('file', 'x') + END, TYPE);
    assert.deepEqual([answer.status, answer.body.code], [503, 'storage_unavailable']);
    await rm(file);
  });
});

describe('a client that goes away', () => {
  it('leaves nothing, in the middle of the file or of a field', async () => {
    await start();
    for (const begun of [
      filePart('file', 'x'.repeat(70_000)).slice(0, -2),
      filePart('file', 'x') + part('a', 'b').slice(0, -4),
    ]) {
      ended = Promise.withResolvers();
      const client = await raw();
      client.write(`${HEAD}Content-Length: 500000\r\n\r\n${begun}`);
      while ((await readdir(spoolDir)).length === 0) await new Promise(setImmediate);
      client.socket.destroy();
      assert.equal(((await ended.promise) as Problem).code, 'invalid_request');
    }
  });
});

describe('a connection', () => {
  it('goes on after an upload, with what follows the form dropped', async () => {
    await start();
    const client = await raw();
    const text = `${filePart('file', 'one')}${END}\r\nepilogue`;
    client.write(`${HEAD}Transfer-Encoding: chunked\r\n\r\n${chunk(text)}0\r\n\r\n`);
    await client.until((seen) => seen.includes('"one"'));
    client.write(`${HEAD}Content-Length: ${text.length}\r\n\r\n${text.replace('one', 'two')}`);
    await client.until((seen) => seen.includes('"two"'));
  });
});

describe('a body that is the file itself', () => {
  it('is spooled up to its limit', async () => {
    await start({ maxBytes: 1000 });
    const octets = { 'content-type': 'application/octet-stream' };
    assert.deepEqual(await send('x'.repeat(1000), octets, '/octets'), { status: 200, body: { sizeBytes: 1000 } });
    assert.equal((await send('x'.repeat(1001), octets, '/octets')).status, 413);
    const streamed = ReadableStream.from(inPieces('x'.repeat(2000), 300)) as never;
    assert.equal((await send(streamed, octets, '/octets')).status, 413);
  });
});

describe('a file name', () => {
  it('is kept as metadata only', () => {
    assert.equal(sanitizeFilename('C:\\music\\a.wav'), 'a.wav');
    assert.equal(sanitizeFilename('../../etc/passwd'), 'passwd');
    assert.equal(sanitizeFilename('a\u0000\u001b[1m\u202eb.wav'), 'a[1mb.wav');
    assert.equal(sanitizeFilename('é'.repeat(300))?.length, 255);
    for (const nothing of ['', '..', '/', undefined]) assert.equal(sanitizeFilename(nothing), undefined);
  });
});
