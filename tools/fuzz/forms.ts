/** Bodies: multipart forms of both services, and the other content types of the platform. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { readUpload } from '@parley/kit/http/upload.ts';
import { openUpload, readDocument } from '@parley/platform/http/body.ts';
import type { Random } from './random.ts';
import type { Target } from './target.ts';

type Request = Parameters<typeof readUpload>[0];

const HEADS = [
  'Content-Disposition: form-data; name="file"; filename="a.wav"',
  'Content-Disposition: form-data; name="data"; filename="x.json"\r\nContent-Type: application/json',
  'Content-Disposition: form-data; name="data"',
  'Content-Disposition: form-data; name="model"',
  'Content-Disposition: form-data; name="f"; filename=""\r\nContent-Type: application/octet-stream',
  'Content-Disposition: form-data; name="x"; filename*=UTF-8\'\'%e4%zz',
  'Content-Disposition: form-data; name="a"\r\nContent-Type: text/plain; charset=utf-16le',
  'Content-Disposition: form-data; name="a"\r\nContent-Transfer-Encoding: base64',
  'Content-Disposition: attachment',
  'Content-Type: multipart/mixed; boundary=C',
];
const CONTENTS = ['', '1', '{"login":"a"}', '{"a":', '\r\n', '--B', '\r\n--B', '--B--', 'x'.repeat(2000)];
const TYPES = ['application/json', 'application/x-www-form-urlencoded', 'application/octet-stream', 'text/plain', ''];
const JSON_WORDS = ['login', 'name', 'opts', 'opts.title', 'data', 'ext', 'pwd'];
const MAX_FILE_BYTES = 1500;

const form = (random: Random): Buffer => {
  const parts = random.list(5, () => {
    const content = random.chance(0.6) ? random.pick(CONTENTS) : random.text();
    return `--B\r\n${random.pick(HEADS)}\r\n\r\n${content}\r\n`;
  });
  const whole = Buffer.from(parts.join('') + (random.chance(0.8) ? '--B--\r\n' : ''));
  if (random.chance(0.3)) return whole;
  return random.chance(0.4) ? whole.subarray(0, random.int(whole.length + 1)) : random.mutate(whole);
};

const FORM_TYPES = ['multipart/form-data; boundary=B', 'multipart/form-data; boundary="B"', 'multipart/form-data'];

const contentOf = (random: Random): { type: string; body: Buffer } => {
  if (random.chance(0.6))
    return { type: random.chance(0.9) ? FORM_TYPES[0]! : random.pick(FORM_TYPES), body: form(random) };
  const json = JSON.stringify(random.json(JSON_WORDS)) ?? '';
  const text = random.chance(0.5)
    ? json
    : `data=${random.chance(0.5) ? encodeURIComponent(json.toWellFormed()) : json}`;
  const body = Buffer.from(text);
  const type = random.pick(TYPES) + random.pick(['', '; charset=utf-8', '; charset=latin1', random.text()]);
  return { type, body: random.chance(0.5) ? body : random.mutate(body) };
};

/** A request with this body, in pieces as they might come. `complete` as Node's own has it, at the end. */
const requestOf = (random: Random, { type, body }: { type: string; body: Buffer }): Request => {
  const pieces: Buffer[] = [];
  for (let at = 0; at < body.length; ) {
    const size = random.chance(0.5) ? body.length : 1 + random.int(40);
    pieces.push(body.subarray(at, at + size));
    at += size;
  }
  const raw = Object.assign(Readable.from(pieces, { objectMode: false }), {
    headers: { 'content-type': type, 'content-length': String(body.length) },
    complete: false,
    socket: null,
  });
  raw.once('end', () => {
    raw.complete = true;
  });
  return { raw, headers: raw.headers } as unknown as Request;
};

export const uploads: Target = {
  name: 'upload',
  weight: 1,
  open: () => {
    const spoolDir = mkdtempSync(join(tmpdir(), 'parley-fuzz-'));
    return {
      run: async (random) => {
        const options = { spoolDir, maxBytes: MAX_FILE_BYTES, fileFields: ['file'], maxFieldBytes: 1000, maxFields: 4 };
        try {
          const { file } = await readUpload(requestOf(random, contentOf(random)), options);
          await file?.remove();
        } finally {
          await turn();
          const left = readdirSync(spoolDir);
          // biome-ignore lint/correctness/noUnsafeFinally: what is left behind is worse than a refusal
          if (left.length > 0) throw new Error(`left in the spool: ${left.length}`);
        }
      },
      [Symbol.asyncDispose]: async () => rmSync(spoolDir, { recursive: true }),
    };
  },
};

export const bodies: Target = {
  name: 'body',
  weight: 2,
  open: () => ({
    run: async (random) => {
      const request = requestOf(random, contentOf(random));
      try {
        if (random.chance(0.7)) await readDocument(request, random.pick(['create', 'patch', 'custom'] as const));
        else for await (const _piece of (await openUpload(request, MAX_FILE_BYTES)).stream);
      } finally {
        await turn();
      }
    },
  }),
};
