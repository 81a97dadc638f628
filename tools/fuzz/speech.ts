/**
 * The whole speech service: requests to every address of its three dialects, by an administrator, a user and nobody, with
 * forms, queries and heads made of what their readers look for. No answer may be 500, none may tell of its insides, every
 * refusal is JSON, every answer comes, and in the end the spool is empty.
 */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  ADMIN_KEY,
  startTestSpeech,
  type TestSpeech,
  testdataPath,
  USER_KEY,
} from '../../packages/speech/test/start-test-speech.ts';
import type { Random } from './random.ts';
import { FIELDS, HEADERS, PATHS, VALUES } from './speech-words.ts';
import type { Target } from './target.ts';
import { sendBytes, type WireAnswer } from './wire-request.ts';

const RECORDING_BYTES = 16_000;
const MAX_UPLOAD_BYTES = 65_536;
const MAX_KNOWN_IDS = 30;
const UPLOADS = /transcri|translat|asr|detect|jobs/;
const IDLE_MS = 60_000;
const INSIDES = /\/packages\/|node_modules|\n\s+at .*:\d+:\d+/;

type Sample = { readonly name: string; readonly bytes: Buffer };

const SAMPLES: readonly Sample[] = ['speech/close-menu.wav', 'audio/words.mp3'].map((path) => ({
  name: path,
  bytes: readFileSync(testdataPath(path)).subarray(0, RECORDING_BYTES),
}));

const fieldValue = (random: Random, name: string): string => {
  const own = VALUES[name.replace('[]', '')] ?? [];
  // The first is one that is taken: what lies behind the first refusal is reached too.
  if (own.length > 0 && random.chance(0.5)) return own[0]!;
  if (own.length > 0 && random.chance(0.7)) return random.pick(own);
  if (random.chance(0.5)) return random.text();
  return JSON.stringify(random.json(['type', 'server_vad', 'threshold', 'silence_duration_ms', 'auto'])) ?? '';
};

const partOf = (random: Random, name: string): Buffer =>
  Buffer.from(
    `--B\r\nContent-Disposition: form-data; name="${name.replaceAll(/[\r\n"]/g, '')}"\r\n\r\n${fieldValue(random, name)}\r\n`,
  );

const filePart = (random: Random): Buffer => {
  const { bytes } = random.pick(SAMPLES);
  const field = random.chance(0.9) ? 'file' : 'audio_file';
  const kind = random.int(10);
  const content = kind < 2 ? random.mutate(bytes) : kind < 4 ? Buffer.from(random.text()) : bytes;
  const head = `--B\r\nContent-Disposition: form-data; name="${random.chance(0.5) ? 'audio_file' : field}"; filename="${random.pick(['a.wav', '../../a', 'ä.mp3', '', 'a"; x="b'])}"\r\n`;
  const type = random.chance(0.5) ? `Content-Type: ${random.pick(['audio/wav', 'text/html', 'x', ''])}\r\n` : '';
  return Buffer.concat([Buffer.from(`${head}${type}\r\n`), content, Buffer.from('\r\n')]);
};

/** Now and then more than may be sent. */
const tooMuch = (random: Random): Buffer =>
  random.chance(0.02) ? Buffer.alloc(MAX_UPLOAD_BYTES + 1, 'x') : Buffer.alloc(0);

const formOf = (random: Random): Buffer => {
  const parts = random.list(5, () => partOf(random, random.chance(0.9) ? random.pick(FIELDS) : random.text()));
  if (random.chance(0.9)) parts.splice(random.int(parts.length + 1), 0, filePart(random));
  const whole = Buffer.concat([...parts, tooMuch(random), Buffer.from('--B--\r\n')]);
  return random.chance(0.1) ? random.mutate(whole) : whole;
};

const bodyOf = (random: Random, path: string): { type: string; body: Buffer } => {
  const isForm = random.chance(UPLOADS.test(path) ? 0.95 : 0.2);
  if (isForm) return { type: 'multipart/form-data; boundary=B', body: formOf(random) };
  const fields = random.list(4, () => [random.pick(FIELDS), random.json(['en', 'whisper-1', 'type'])]);
  const json = JSON.stringify(random.chance(0.7) ? Object.fromEntries(fields) : random.json(FIELDS)) ?? '';
  const body = Buffer.from(random.chance(0.8) ? json : random.mutateText(json));
  return { type: random.pick(['application/json', 'application/json', 'audio/wav', 'text/plain', '']), body };
};

const targetOf = (random: Random, path: string, ids: readonly string[]): string => {
  const id = (): string => {
    const known =
      ids.length > 0 && random.chance(0.5) ? random.pick(ids) : random.pick([...VALUES.model!, random.text()]);
    return encodeURIComponent(known.toWellFormed());
  };
  const filled = path.replaceAll(/\{[^}]+\}/g, id);
  const pairs = random.list(3, () => {
    const name = random.pick(FIELDS);
    return `${name}=${encodeURIComponent(fieldValue(random, name).toWellFormed())}`;
  });
  const target = pairs.length === 0 ? filled : `${filled}?${pairs.join('&')}`;
  return random.chance(0.03) ? random.mutateText(target).replaceAll(/[\r\n ]/g, '') : target;
};

const headOf = (random: Random, type: string): string => {
  const key = random.pick([...Array(10).fill(ADMIN_KEY), ...Array(8).fill(USER_KEY), 'x', '']);
  const lines = ['Host: localhost', 'Connection: close', `Authorization: Bearer ${key}`];
  if (type !== '') lines.push(`Content-Type: ${type}`);
  for (const [name, values] of random.list(random.chance(0.5) ? 0 : 3, () => random.pick(HEADERS))) {
    const value = random.chance(0.8) ? random.pick(values) : random.text().replaceAll(/[\r\n]/g, '');
    lines.push(`${name}: ${value}`);
  }
  return lines.join('\r\n');
};

const requestOf = (random: Random, ids: readonly string[]): { bytes: Buffer; isCut: boolean } => {
  const [method, path] = random.pick(PATHS);
  const isPost = method === 'POST' || random.chance(0.05);
  const { type, body } = isPost ? bodyOf(random, path) : { type: '', body: Buffer.alloc(0) };
  const line = `${random.chance(0.97) ? method : random.pick(['PUT', 'HEAD', 'OPTIONS', 'PATCH', 'TRACE'])} ${targetOf(random, path, ids)} HTTP/1.1`;
  const length = isPost ? `\r\nContent-Length: ${body.length}` : '';
  const isCut = random.chance(0.05);
  const sent = isCut ? body.subarray(0, random.int(body.length + 1)) : body;
  return { bytes: Buffer.concat([Buffer.from(`${line}\r\n${headOf(random, type)}${length}\r\n\r\n`), sent]), isCut };
};

const assertFine = ({ status, head, body }: WireAnswer, sent: Buffer): void => {
  const said = body.toString('utf8');
  const isRight = (): boolean => {
    if (status === 500 || (status < 400 ? false : INSIDES.test(said))) return false;
    if (status < 400 || said === '' || !/content-type: *application\/json/i.test(head)) return true;
    return typeof JSON.parse(said) === 'object';
  };
  if (!isRight())
    throw new Error(`${status} ${said.slice(0, 500)}\nto ${JSON.stringify(sent.toString('latin1').slice(0, 900))}`);
};

const idIn = (body: Buffer): string | undefined =>
  /"(?:id|task_id|identifier)": *"([\w-]{6,80})"/.exec(body.subarray(0, 400).toString('latin1'))?.[1];

const untilIdle = async (speech: TestSpeech): Promise<void> => {
  const endMs = performance.now() + IDLE_MS;
  let left: readonly string[] = [];
  while (performance.now() < endMs) {
    left = await speech.spooled();
    if (left.length === 0) return;
    await sleep(50);
  }
  throw new Error(`left in the spool: ${left.join()}`);
};

export const speech: Target = {
  name: 'speech',
  weight: 0.3,
  open: async () => {
    const service = await startTestSpeech({
      settings: {
        'server.max_upload_bytes': String(MAX_UPLOAD_BYTES),
        'server.body_idle_timeout': '200ms',
        'server.read_header_timeout': '1s',
        'audio.media_processes': '1',
        'audio.max_duration': '60s',
        'jobs.history_ttl': '1m',
      },
    });
    const port = Number(new URL(service.url).port);
    let ids: readonly string[] = [];
    return {
      run: async (random) => {
        const { bytes, isCut } = requestOf(random, ids);
        const answer = await sendBytes(port, bytes, isCut ? 'cut' : 'wait');
        assertFine(answer, bytes);
        const id = idIn(answer.body);
        if (id !== undefined) ids = [id, ...ids].slice(0, MAX_KNOWN_IDS);
        return answer.status > 0 && answer.status < 400;
      },
      [Symbol.asyncDispose]: async () => {
        try {
          await untilIdle(service);
        } finally {
          await service[Symbol.asyncDispose]();
        }
      },
    };
  },
};
