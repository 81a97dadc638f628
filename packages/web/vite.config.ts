/**
 * Builds one of the two pages, chosen by `--mode speech` or `--mode platform`, into dist/. Everything but the document has
 * its digest in its name, and each text file gets a brotli and a gzip beside it, so that the services compress nothing.
 */
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { defineConfig, type Plugin } from 'vite';

/** Page → the address it is served at. */
const BASES: Readonly<Record<string, string>> = { speech: '/ui/', platform: '/app-root/' };

/** Replaced by a fresh value in every answer (packages/kit/src/http/pages.ts). */
const NONCE_PLACEHOLDER = '__CSP_NONCE__';

/** Smaller files are not worth a second form. */
const MIN_COMPRESSED_BYTES = 1024;

const folder = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

const precompress = (outDir: string): Plugin => ({
  name: 'precompress',
  closeBundle: () => {
    for (const name of globSync('**/*.{js,css,svg,json}', { cwd: outDir })) {
      const path = join(outDir, name);
      const body = readFileSync(path);
      if (body.length < MIN_COMPRESSED_BYTES) continue;
      writeFileSync(`${path}.br`, brotliCompressSync(body));
      writeFileSync(`${path}.gz`, gzipSync(body, { level: 9 }));
    }
  },
});

export default defineConfig(({ mode }) => {
  const page = mode in BASES ? mode : 'speech';
  const outDir = folder(`./dist/${page}`);
  return {
    root: folder(`./src/${page}`),
    base: BASES[page]!,
    // Vite would take a mode of this name for a development build.
    define: { 'process.env.NODE_ENV': JSON.stringify('production') },
    html: { cspNonce: NONCE_PLACEHOLDER },
    plugins: [precompress(outDir)],
    oxc: { jsx: { runtime: 'automatic', development: false } },
    build: {
      outDir,
      emptyOutDir: true,
      // Nothing as data: in the document or the styles; the policy would have to allow it.
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      reportCompressedSize: false,
      rolldownOptions: {
        onLog: (level, log, handle) => {
          // Libraries mark their client parts for frameworks that render on a server; there is none here.
          if (log.code !== 'MODULE_LEVEL_DIRECTIVE') handle(level, log);
        },
      },
      target: 'es2023',
      // What knows `light-dark()`.
      cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    },
  };
});
