/**
 * The endpoint list as an OpenAPI 3.1.0 document. It deliberately carries no request or response schemas; path
 * parameters are declared because 3.1 requires them.
 */
import type { Endpoint } from './endpoint.ts';

export type OpenApiOptions<Access extends string> = {
  readonly title: string;
  readonly version: string;
  readonly description: string;
  /** Tags in the order they shall be shown, each with its description. */
  readonly tags?: Readonly<Record<string, string>>;
  /** What an access asks for; one that is not named needs no credential. */
  readonly security: Readonly<
    Partial<Record<Access, { readonly schemes: readonly string[]; readonly admin?: boolean }>>
  >;
  /** Security schemes by name, as OpenAPI writes them. */
  readonly schemes: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly servers?: readonly string[];
};

type Operation = Readonly<Record<string, unknown>>;

/** Writes the document out of the same objects that are mounted. */
export const renderOpenApi = <Access extends string, Caller>(
  endpoints: readonly Endpoint<Access, Caller>[],
  options: OpenApiOptions<Access>,
): Record<string, unknown> => {
  const paths: Record<string, Record<string, Operation>> = {};
  for (const endpoint of endpoints) {
    const path = toTemplate(endpoint.path);
    paths[path] ??= {};
    paths[path][endpoint.method.toLowerCase()] = renderOperation(endpoint, options);
  }
  return {
    openapi: '3.1.0',
    info: { title: options.title, version: options.version, description: options.description },
    ...(options.servers ? { servers: options.servers.map((url) => ({ url })) } : {}),
    tags: Object.entries(options.tags ?? {}).map(([name, description]) => ({ name, description })),
    paths,
    components: { securitySchemes: options.schemes },
  };
};

const renderOperation = <Access extends string, Caller>(
  endpoint: Endpoint<Access, Caller>,
  { security }: OpenApiOptions<Access>,
): Operation => {
  const needed = security[endpoint.access];
  const parameters = parametersOf(endpoint.path);
  return {
    operationId: operationIdOf(endpoint.method, endpoint.path),
    tags: [endpoint.tag],
    summary: endpoint.summary,
    ...(endpoint.description === undefined ? {} : { description: endpoint.description }),
    ...(parameters.length > 0 ? { parameters } : {}),
    responses: { default: { description: 'See the description of the interface.' } },
    security: needed ? needed.schemes.map((scheme) => ({ [scheme]: [] })) : [],
    ...(needed?.admin ? { 'x-admin': true } : {}),
  };
};

/** `:name`, `:name(pattern)` and a last `*` of Fastify's path syntax. */
const PARAMETER = /:(\w+)(?:\([^)]*\))?\??|(\*)$/g;

const toTemplate = (path: string): string => path.replaceAll(PARAMETER, (_all, name) => `{${name ?? 'path'}}`);

const parametersOf = (path: string): Operation[] =>
  [...path.matchAll(PARAMETER)].map(([, name]) => ({
    name: name ?? 'path',
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));

/** `GET /api/v1/jobs/:id` is `getApiV1JobsById`; unique as method and path are. */
const operationIdOf = (method: string, path: string): string => {
  const words = path
    .replaceAll(PARAMETER, (_all, name) => `by-${name ?? 'path'}`)
    .split(/[^A-Za-z0-9]+/)
    .filter((word) => word !== '');
  return [method.toLowerCase(), ...words.map((word) => word[0]!.toUpperCase() + word.slice(1))].join('');
};
