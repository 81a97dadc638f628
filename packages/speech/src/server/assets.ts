/** Files of the reference, read once, served with an entity tag and a policy that lets nothing foreign in. */
import { readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { sha256Hex } from '@parley/kit/ids.ts';
import type { FastifyReply, FastifyRequest } from 'fastify';

export type Asset = { readonly type: string; readonly body: string; readonly tag: string };

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** Scripts and styles from here only, no inline code, no frames. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

export const createAsset = (name: string, body: string): Asset => ({
  type: TYPES[extname(name)] ?? 'application/octet-stream',
  body,
  tag: `"${sha256Hex(body).slice(0, 32)}"`,
});

/** Reads a file of the folder `pages`. */
export const readAsset = (name: string): Asset =>
  createAsset(name, readFileSync(new URL(`./pages/${name}`, import.meta.url), 'utf8'));

/** Sends the asset, or 304 to a client that has it. */
export const sendAsset = (asset: Asset, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
  reply.headers({
    'Cache-Control': 'no-cache',
    'Content-Security-Policy': POLICY,
    'Cross-Origin-Opener-Policy': 'same-origin',
    ETag: asset.tag,
  });
  if (request.headers['if-none-match'] === asset.tag) return reply.code(304).send();
  return reply.type(asset.type).send(asset.body);
};
