/** `/`, the reference under `/docs` and the studio under `/ui`. None needs a key: a browser sends none for a page. */
import { openPages } from '@parley/kit/http/pages.ts';
import { builtFolder } from '@parley/web/built.ts';
import { problem } from '../core/codes.ts';
import type { SpeechEndpoint } from '../dialects/dialect.ts';
import { type Asset, createAsset, readAsset, sendAsset } from './assets.ts';
import { type FieldNotes, renderReference } from './reference.ts';

export type PagesParts = {
  /** Everything that is mounted, asked when the reference is first shown. */
  readonly endpoints: () => readonly SpeechEndpoint[];
  readonly notes: FieldNotes;
  readonly version: string;
  readonly uiEnabled: boolean;
};

type Handle = SpeechEndpoint['handle'];
type Page = { readonly path: string; readonly summary: string; readonly description: string; readonly handle: Handle };

const DOCS_FILES = ['docs.js', 'style.css', 'icon.svg'] as const;

/** Every page and its files; the studio only where it is switched on. */
export const pageEndpoints = (parts: PagesParts): SpeechEndpoint[] => {
  const toEndpoint = (page: Page): SpeechEndpoint => ({ method: 'GET', access: 'open', tag: 'server', ...page });
  return [rootPage, ...docsPages(parts), ...(parts.uiEnabled ? uiPages() : [])].map(toEndpoint);
};

const rootPage: Page = {
  path: '/',
  summary: 'Redirects to the reference',
  description: 'Answers 302 with `Location: /docs`.',
  handle: ({ reply }) => reply.redirect('/docs', 302),
};

const serve =
  (asset: () => Asset): Handle =>
  ({ request, reply }) =>
    sendAsset(asset(), request, reply);

const serveFile =
  (files: ReadonlyMap<string, () => Asset>): Handle =>
  (call) => {
    const { file } = call.request.params as { file: string };
    const asset = files.get(file);
    if (!asset) throw problem('not_found', 'There is no such file.');
    return serve(asset)(call);
  };

const filesOf = (...names: readonly string[]): Map<string, () => Asset> =>
  new Map(
    names.map((name) => {
      const asset = readAsset(name);
      return [name, () => asset];
    }),
  );

const docsPages = ({ endpoints, notes, version }: PagesParts): Page[] => {
  let reference: Asset | undefined;
  const index = (): Asset => {
    reference ??= createAsset('docs.html', renderReference(endpoints(), notes, version));
    return reference;
  };
  const files = filesOf(...DOCS_FILES).set('', index);
  return [
    { path: '/docs', summary: 'The reference', description: 'This page.', handle: serve(index) },
    { path: '/docs/:file', summary: 'Files of the reference', description: '', handle: serveFile(files) },
  ];
};

const uiPages = (): Page[] => {
  const pages = openPages(builtFolder('speech'));
  const handle: Handle = ({ request, reply }) => {
    const { '*': path = '' } = request.params as { '*'?: string };
    if (!pages.send(path, request, reply))
      throw problem('not_found', 'There is no such file; `npm ci` builds the pages.');
    return reply;
  };
  return [
    {
      path: '/ui',
      summary: 'The studio',
      description: 'Recordings, jobs and models through the public interface; asks for the key when it is needed.',
      handle,
    },
    { path: '/ui/*', summary: 'Places within the studio, and its files', description: '', handle },
  ];
};
