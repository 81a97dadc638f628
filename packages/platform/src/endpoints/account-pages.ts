/** The plain pages of an account: `/app-root` signs in and out, `/invite/<uuid>` sets the password. Nothing foreign is loaded. */
import { readFileSync } from 'node:fs';
import type { FastifyInstance, FastifyReply } from 'fastify';

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ');

const HTML = 'text/html; charset=utf-8';
const SCRIPT = 'text/javascript; charset=utf-8';

const FILES: Readonly<Record<string, readonly [file: string, type: string]>> = {
  '/app-root': ['app-root.html', HTML],
  '/invite/:id': ['invite.html', HTML],
  '/app-root/app-root.js': ['app-root.js', SCRIPT],
  '/app-root/invite.js': ['invite.js', SCRIPT],
  '/app-root/account.css': ['account.css', 'text/css; charset=utf-8'],
};

export const mountAccountPages = (app: FastifyInstance): void => {
  for (const [path, [file, type]] of Object.entries(FILES)) {
    const content = readFileSync(new URL(`../pages/${file}`, import.meta.url), 'utf8');
    app.get(path, (_request, reply: FastifyReply) =>
      reply
        .headers({
          'content-security-policy': POLICY,
          // The address of an invitation opens an account: nobody else is told of it.
          'referrer-policy': 'no-referrer',
          'cache-control': type === HTML ? 'no-store' : 'no-cache',
          'cross-origin-opener-policy': 'same-origin',
          'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
        })
        .type(type)
        .send(content),
    );
  }
};
