/**
 * `/rest/v1/openapi.json`: OpenAPI 3.1.0 with full schemas, out of the endpoints that are mounted. OpenAPI has no name
 * for LOOKUP, so it is described under its POST fallback.
 */
import type { JsonSchema, RestEndpoint } from './endpoint.ts';

const ERROR: JsonSchema = {
  type: 'object',
  required: ['error_code', 'error_message'],
  properties: {
    error_code: { type: 'integer' },
    error_message: { type: 'string' },
    error_details: { type: 'object' },
  },
};

const ERROR_ANSWER = {
  description: 'What was wrong',
  content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
};

const STATUS_WORDS: Readonly<Record<number, string>> = { 200: 'Done', 204: 'Done; no body', 302: 'Go there' };

/** The document. */
export const renderPlatformApi = (endpoints: readonly RestEndpoint[], version: string): Record<string, unknown> => {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const endpoint of endpoints) {
    const { path, method } = placeOf(endpoint);
    paths[path] ??= {};
    paths[path][method] = operationOf(endpoint);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Parley platform',
      version,
      description:
        'Administration of a communication platform. PUT, PATCH, DELETE, HEAD and LOOKUP can also be sent as POST to the same path followed by `!put`, `!patch`, `!delete`, `!head`, `!lookup`.',
    },
    tags: [...new Set(endpoints.map(({ tag }) => tag))].map((name) => ({ name })),
    paths,
    components: {
      schemas: { Error: ERROR },
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer' },
        cookie: { type: 'apiKey', in: 'cookie', name: 'RSession' },
      },
    },
  };
};

const placeOf = ({ path, method }: RestEndpoint): { path: string; method: string } => {
  const template = path.replaceAll(/:([A-Za-z_]+)/g, '{$1}').replace(/\*$/, '{path}');
  return method === 'LOOKUP'
    ? { path: `${template}!lookup`, method: 'post' }
    : { path: template, method: method.toLowerCase() };
};

const operationOf = (endpoint: RestEndpoint): Record<string, unknown> => {
  const { method, path, access, domain = 'any', parameters = [], body, answer, status = 200 } = endpoint;
  const declared = parameters.map((parameter) => ({
    ...parameter,
    ...(parameter.in === 'path' ? { required: true } : {}),
  }));
  const named = new Set(declared.filter((each) => each.in === 'path').map(({ name }) => name));
  const wildcard = path.endsWith('*') ? ['path'] : [];
  const rest = [...[...path.matchAll(/:([A-Za-z_]+)/g)].map((found) => found[1]!), ...wildcard].filter(
    (name) => !named.has(name),
  );
  return {
    operationId: `${method.toLowerCase()}_${path.replaceAll(/[^A-Za-z0-9]+/g, '_').replaceAll(/^_+|_+$/g, '')}`,
    tags: [endpoint.tag],
    summary: endpoint.summary,
    ...(endpoint.description === undefined ? {} : { description: endpoint.description }),
    parameters: [
      ...rest.map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } })),
      ...declared,
    ],
    ...(body ? { requestBody: { required: true, content: { 'application/json': { schema: body } } } } : {}),
    responses: {
      [status]: {
        description: STATUS_WORDS[status]!,
        ...(answer && status === 200 ? { content: { 'application/json': { schema: answer } } } : {}),
      },
      default: ERROR_ANSWER,
    },
    security: access === 'open' ? [] : [{ token: [] }, { cookie: [] }],
    'x-access': access,
    'x-domain-type': domain,
    'x-method': method,
  };
};
