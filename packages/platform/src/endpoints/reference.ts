/** `/docs`: the interactive reference, and the document it reads. Nothing is loaded from anywhere else. */
import { readFileSync } from 'node:fs';
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { RestEndpoint } from '../rest/endpoint.ts';
import { sendJson } from '../rest/engine.ts';
import { renderPlatformApi } from '../rest/openapi.ts';

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; frame-ancestors 'none'; base-uri 'none'";

const FILES: Readonly<Record<string, readonly [file: string, type: string]>> = {
  '/docs': ['docs.html', 'text/html; charset=utf-8'],
  '/docs/docs.js': ['docs.js', 'text/javascript; charset=utf-8'],
  '/docs/docs.css': ['docs.css', 'text/css; charset=utf-8'],
  '/docs/icon.svg': ['icon.svg', 'image/svg+xml'],
};

/** The document as an endpoint of its own; `endpoints` is asked when it is first read. */
export const createOpenApiEndpoint = (endpoints: () => readonly RestEndpoint[], version: string): RestEndpoint => {
  let text: string | undefined;
  return {
    method: 'GET',
    path: '/rest/v1/openapi.json',
    access: 'open',
    tag: 'reference',
    summary: 'This description',
    answer: { type: 'object' },
    handle: ({ reply }) => {
      text ??= JSON.stringify(renderPlatformApi(endpoints(), version));
      return sendJson(reply, text);
    },
  };
};

/** The page with its script and style. */
export const mountReference = (app: FastifyInstance): void => {
  for (const [path, [file, type]] of Object.entries(FILES)) {
    const content = readFileSync(new URL(`../pages/${file}`, import.meta.url), 'utf8');
    app.get(path, (_request, reply: FastifyReply) =>
      reply.header('content-security-policy', POLICY).header('cache-control', 'no-cache').type(type).send(content),
    );
  }
};
