/**
 * The collections of the platform as its own description (`/rest/v1/openapi.json`) tells them: what tables show, what forms
 * ask, and which requests there are. Pure.
 */
import { type JsonSchema, rowSchemaOf } from './schema.ts';

type Operation = {
  readonly tags?: readonly string[];
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
  readonly requestBody?: { readonly content?: Readonly<Record<string, { readonly schema: JsonSchema }>> };
  readonly responses?: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { schema: JsonSchema }>> }>
  >;
  readonly 'x-domain-type'?: string;
};

/** As much of an OpenAPI document as is read here. */
export type ApiDescription = { readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>> };

export type Collection = {
  /** `iam/users`: its path below /rest/v1, and its place in the console. */
  readonly name: string;
  /** `/rest/v1/iam/users` */
  readonly path: string;
  readonly domain: 'any' | 'master' | 'working';
  /** The field that names an item in a path. */
  readonly idField: string;
  readonly row: JsonSchema;
  /** Bodies of POST and PATCH; undefined where there is no such request. */
  readonly create: JsonSchema | undefined;
  readonly change: JsonSchema | undefined;
  readonly canReplace: boolean;
  readonly canRemove: boolean;
  readonly canExport: boolean;
};

const BASE = '/rest/v1/';
const JSON_TYPE = 'application/json';

/** Shown by pages of their own. */
const ELSEWHERE: ReadonlySet<string> = new Set(['journal/changes', 'master/nodes']);

const bodyOf = (operation: Operation | undefined): JsonSchema | undefined =>
  operation?.requestBody?.content?.[JSON_TYPE]?.schema;

/** Every list that can be filtered and paged, in the order of the description. */
export const readCollections = ({ paths }: ApiDescription): Collection[] =>
  Object.entries(paths).flatMap(([path, { get, post }]) => {
    const name = path.slice(BASE.length);
    if (!get || path.includes('{') || !path.startsWith(BASE) || ELSEWHERE.has(name)) return [];
    const asks = new Set(get.parameters?.map((parameter) => parameter.name));
    const answer = get.responses?.['200']?.content?.[JSON_TYPE]?.schema;
    const row = answer && rowSchemaOf(answer);
    if (!row?.properties || !asks.has('filter') || !asks.has('offset')) return [];
    const item = itemOf(paths, path);
    const body = bodyOf(post);
    return [
      {
        name,
        path,
        domain: (get['x-domain-type'] ?? 'any') as Collection['domain'],
        idField: row.required?.[0] ?? Object.keys(row.properties)[0]!,
        row,
        create: body,
        change: bodyOf(item?.patch),
        canReplace: item?.put !== undefined,
        canRemove: item?.delete !== undefined,
        canExport: body !== undefined && asks.has('export'),
      },
    ];
  });

const itemOf = (paths: ApiDescription['paths'], path: string) =>
  Object.entries(paths).find(
    ([other]) => other.startsWith(`${path}/{`) && other.indexOf('}') === other.length - 1,
  )?.[1];

/** Method and path of every request the description knows, for those who look for one. */
export const readRequests = ({ paths }: ApiDescription): readonly string[] =>
  Object.keys(paths).filter((path) => path.startsWith('/rest/') && !path.includes('!'));
