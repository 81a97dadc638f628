/** `/docs/openapi.json`: the endpoint list as OpenAPI 3.1.0, without request and response schemas on purpose. */
import { renderOpenApi } from '@parley/kit/http/openapi.ts';
import type { Access, SpeechEndpoint } from '../dialects/dialect.ts';
import { DIALECTS } from './reference.ts';

export type OpenApiParts = { readonly endpoints: () => readonly SpeechEndpoint[]; readonly version: string };

/** The endpoint that serves the document; it lists itself too. */
export const openApiEndpoint = ({ endpoints, version }: OpenApiParts): SpeechEndpoint => ({
  method: 'GET',
  path: '/docs/openapi.json',
  access: 'open',
  tag: 'server',
  summary: 'The endpoint list as OpenAPI 3.1.0',
  description: 'Carries no request or response schemas.',
  handle: () =>
    renderOpenApi<Access, unknown>(endpoints(), {
      title: 'Parley speech recognition',
      version,
      description: 'Offline speech recognition in three dialects. Fields and shapes are described under /docs.',
      tags: DIALECTS,
      security: { key: { schemes: ['key'] }, admin: { schemes: ['key'], admin: true } },
      schemes: { key: { type: 'http', scheme: 'bearer' } },
    }),
});
