/** What comes over a socket: requests with a method Node does not know, addresses, events of a realtime session. */
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { Duplex } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { acceptMethod } from '@parley/platform/http/extra-method.ts';
import { canonicalPath, rewriteUrl, targetOf } from '@parley/platform/http/method.ts';
import { DEFAULT_DECLARED, parseUpdate } from '@parley/speech/dialects/compat/realtime-config.ts';
import { parseHotwords } from '@parley/speech/dialects/hotwords.ts';
import { isLanguageTag, languageCodeOf, toLanguage } from '@parley/speech/dialects/language.ts';
import type { Random } from './random.ts';
import type { Target } from './target.ts';

const PATHS = ['/', '/rest/v1/iam/users', '/a!lookup', '/a!delete', '/a%21delete', '/a/../b', '/a%2fb', '//a', '/a?x=LOOKUP ', '/%zz', '/LOOKUP ', 'http://h/a', '*', '/ä', '/a!!put', '/a!constructor']; // biome-ignore format: paths
const METHODS = ['GET', 'POST', 'LOOKUP', 'DELETE', 'SEARCH', 'QUERY', 'LOOKUPS', 'lookup'];

export const addresses: Target = {
  name: 'address',
  weight: 6,
  open: () => ({
    run: (random) => {
      const url = random.chance(0.5) ? random.pick(PATHS) : random.mutateText(random.pick(PATHS));
      const raw = { method: random.pick(METHODS), url } as IncomingMessage;
      const routed = rewriteUrl(raw);
      const { path } = targetOf(raw);
      if (canonicalPath(path).path.includes('..') && path.split('/').includes('..')) throw new Error(`${url} leads up`);
      if (!routed.startsWith('/') && routed !== '*') throw new Error(`${url} is routed to ${routed}`);
    },
  }),
};

type Sent = { readonly method: string; readonly path: string; readonly body: string };

const requestsOf = (random: Random): Sent[] =>
  random.list(5, () => ({
    method: random.pick(['GET', 'POST', 'LOOKUP', 'LOOKUP', 'DELETE', 'QUERY']),
    path: `/${random.pick(['', 'a', 'LOOKUP', 'x?LOOKUP'])}`,
    body: random.pick(['', '"LOOKUP / HTTP/1.1\r\n\r\n"', 'LOOKUP ', 'LOO', 'x'.repeat(random.int(200))]),
  }));

const write = (random: Random, { method, path, body }: Sent): string => {
  const head = `${method} ${path} HTTP/1.1\r\nHost: a\r\nX: ${random.pick(['LOOKUP ', '1'])}\r\n`;
  if (random.chance(0.7)) return `${head}Content-Length: ${body.length}\r\n\r\n${body}`;
  const chunks = body === '' ? '' : `${body.length.toString(16)}\r\n${body}\r\n`;
  return `${head}Transfer-Encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`;
};

/** Feeds a connection of the server, in pieces; answers what came out of the parser. */
const feed = async (server: Server, bytes: Buffer, random: Random): Promise<Sent[]> => {
  const seen: Sent[] = [];
  const pending: Promise<void>[] = [];
  const onRequest = (request: IncomingMessage, response: { end(): void }): void => {
    const { promise, resolve } = Promise.withResolvers<void>();
    pending.push(promise);
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.once('close', resolve);
    request.once('end', () => {
      seen.push({
        method: request.method ?? '',
        path: request.url ?? '',
        body: Buffer.concat(pieces).toString('latin1'),
      });
      response.end();
      resolve();
    });
  };
  server.on('request', onRequest);
  const socket = new Duplex({ read: () => undefined, write: (_bytes, _encoding, done) => done() });
  socket.on('error', () => undefined);
  server.emit('connection', socket);
  for (let at = 0; at < bytes.length; ) {
    const size = random.chance(0.3) ? bytes.length : 1 + random.int(30);
    socket.push(bytes.subarray(at, at + size));
    at += size;
    if (random.chance(0.3)) await turn();
  }
  for (let turns = 0; turns < 6; turns++) await turn();
  socket.push(null);
  socket.destroy();
  await turn();
  await Promise.all(pending);
  server.off('request', onRequest);
  return seen;
};

export const requests: Target = {
  name: 'http',
  weight: 0.5,
  open: () => {
    const server = createServer();
    acceptMethod(server, 'LOOKUP');
    server.on('clientError', (_error, socket) => socket.destroy());
    return {
      run: async (random) => {
        const sent = requestsOf(random);
        const text = Buffer.from(sent.map((each) => write(random, each)).join(''), 'latin1');
        if (random.chance(0.4)) return void (await feed(server, random.mutate(text), random));
        const seen = await feed(server, text, random);
        const wanted = JSON.stringify(sent);
        if (JSON.stringify(seen) !== wanted) throw new Error(`sent ${wanted}, seen ${JSON.stringify(seen)}`);
        return undefined;
      },
    };
  },
};

export const EVENT_WORDS = [
  'session', 'type', 'transcription', 'audio', 'input', 'format', 'rate', 'turn_detection', 'server_vad', 'threshold',
  'silence_duration_ms', 'prefix_padding_ms', 'input_audio_format', 'pcm16', 'g711_ulaw', 'audio/pcm', 'include', 'service',
  'input_audio_transcription', 'language', 'prompt', 'keywords', 'model', 'final_model', 'punctuate', 'itn', 'noise_reduction',
  'near_field', 'en', 'zh-CN', 'realtime', 'pcm16;rate=8000',
]; // biome-ignore format: words

export const events: Target = {
  name: 'realtime',
  weight: 5,
  open: () => {
    const known = new Set(['en', 'zh', 'ru']);
    return {
      run: (random) => {
        const text = random.chance(0.9) ? JSON.stringify(random.json(EVENT_WORDS)) : random.text();
        let session: unknown;
        try {
          session = JSON.parse(text ?? 'null');
        } catch {
          return;
        }
        const inner = random.chance(0.8)
          ? { [random.pick(EVENT_WORDS)]: session, [random.pick(EVENT_WORDS)]: random.json(EVENT_WORDS) }
          : session;
        const { declared } = parseUpdate(inner, DEFAULT_DECLARED);
        const { language, prompt, keywords } = declared.transcription;
        parseHotwords([...keywords, ...(prompt === undefined ? [] : [prompt])], 'keywords');
        if (language !== undefined && isLanguageTag(language)) languageCodeOf(toLanguage(language) ?? language, known);
      },
    };
  },
};
