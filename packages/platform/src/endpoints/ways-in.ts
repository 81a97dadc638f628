/**
 * `iam/ways_in` (an extension): how people get into a domain beside login and password, so that the page of sign-in shows
 * what there is and begins nothing to find out.
 */
import type { Providers } from '../oauth/provider.ts';
import type { JsonSchema, RestCall, RestEndpoint } from '../rest/endpoint.ts';
import type { Json } from '../rest/json.ts';
import { findScenario } from './external.ts';
import type { ExternalParts } from './external-answers.ts';

type Parts = Pick<ExternalParts, 'auth' | 'domains'> & {
  readonly providers: Pick<Providers, 'usable'>;
  /** The site this node belongs to. */
  site(): string;
};

const STRING: JsonSchema = { type: 'string' };

export const createWaysInEndpoint = (parts: Parts): RestEndpoint => ({
  method: 'GET',
  path: '/rest/v1/iam/ways_in',
  access: 'open',
  tag: 'iam/ways_in',
  summary: 'How people sign in here beside login and password',
  parameters: [{ name: 'domain', in: 'query', description: 'Whose scenario.', schema: STRING }],
  answer: {
    type: 'object',
    properties: {
      external: { type: 'boolean', description: 'There is a scenario: begin it with GET iam/external.' },
      providers: {
        type: 'array',
        description: 'Each begins at /oauth/redirect/<code>.',
        items: { type: 'object', properties: { code: STRING, name: STRING } },
      },
    },
  },
  handle: async ({ request }: RestCall) => {
    const [scenario, usable] = await Promise.all([
      findScenario(parts, (request.query as Json).domain, request.hostname ?? ''),
      parts.providers.usable(parts.site()),
    ]);
    return { external: scenario !== undefined, providers: usable.map(({ code, name }) => ({ code, name })) };
  },
});
