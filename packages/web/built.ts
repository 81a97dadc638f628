/** Where the built pages lie. The one file of this package that a service imports; everything else speaks HTTP. */
import { fileURLToPath } from 'node:url';

/** `speech` is served at /ui, `platform` at /app-root. */
export type PageName = 'speech' | 'platform';

/** The folder `npm ci` built the page into (`npm run build -w @parley/web` builds it anew). */
export const builtFolder = (page: PageName): string => fileURLToPath(new URL(`./dist/${page}/`, import.meta.url));
