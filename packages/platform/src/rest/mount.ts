/** A resource's endpoints out of its declaration. */
import { create } from './create.ts';
import type { Parameter, RestEndpoint } from './endpoint.ts';
import type { Engine } from './engine.ts';
import { list } from './list.ts';
import { lookup } from './lookup.ts';
import { patch } from './patch.ts';
import { read } from './read.ts';
import { remove } from './remove.ts';
import { replace } from './replace.ts';
import { METHOD_OF, type Resource, type Verb } from './resource.ts';
import { itemSchema, LOOKUP_ANSWER, LOOKUP_BODY, patchSchema, writeSchema } from './schema.ts';

const HANDLERS = { create, list, read, replace, patch, remove, lookup } as const;
const SUMMARIES: Readonly<Record<Verb, string>> = {
  create: 'Create one of',
  list: 'List',
  read: 'Read one of',
  replace: 'Replace or create one of',
  patch: 'Change fields of one of',
  remove: 'Delete one of',
  lookup: 'Find ids by key among',
};
const ON_COLLECTION: ReadonlySet<Verb> = new Set(['create', 'list', 'lookup']);

const param = (name: string, description: string, schema: object = { type: 'string' }): Parameter => ({
  name,
  in: 'query',
  description,
  schema: schema as Parameter['schema'],
});

const ITEM_PARAMETERS: readonly Parameter[] = [
  param('mask', 'Fields to return, separated by commas, nested ones by dots; `*` is all.'),
  param('flat', 'Nested objects become dotted keys.', { type: 'boolean' }),
  param('export', 'Every writable field, in a form that can be posted again.', { type: 'boolean' }),
];

/** Parameters of every list. */
export const LIST_PARAMETERS: readonly Parameter[] = [
  param('filter', 'Conditions as JSON: an object of fields, or the prefix form `["and", …]`.'),
  param('order', 'JSON such as `[{"login":"asc"},"name"]`, or `login,-name`.'),
  ...ITEM_PARAMETERS,
  param('offset', 'How many to skip.', { type: 'integer', minimum: 0 }),
  param('limit', 'How many at most; 0 answers only the count.', { type: 'integer', minimum: 0 }),
  param('countonly', 'Answers `{"count": n}`.', { type: 'boolean' }),
];

const idParameter = (resource: Resource): Parameter => ({
  name: 'id',
  in: 'path',
  description: resource.alias ? `Id, or \`${resource.alias.name}\`.` : 'Id.',
  schema: resource.id === 'id' && !resource.alias ? { type: 'string', format: 'uuid' } : { type: 'string' },
});

/** The endpoints of a resource, for the verbs it has. */
export const resourceEndpoints = (engine: Engine, resource: Resource): RestEndpoint[] =>
  [...resource.verbs].map((verb) => {
    const item = itemSchema(resource);
    const isCollection = ON_COLLECTION.has(verb);
    const query = verb === 'list' ? LIST_PARAMETERS : verb === 'read' ? ITEM_PARAMETERS : [];
    return {
      method: METHOD_OF[verb],
      path: `/rest/v1/${resource.path}${isCollection ? '' : '/:id'}`,
      access: 'route',
      domain: resource.domain,
      tag: resource.path,
      summary: `${SUMMARIES[verb]} ${resource.summary}`,
      parameters: isCollection ? query : [idParameter(resource), ...query],
      ...schemasOf(verb, resource, item),
      handle: HANDLERS[verb](engine, resource),
    };
  });

const schemasOf = (verb: Verb, resource: Resource, item: object): Pick<RestEndpoint, 'body' | 'answer' | 'status'> => {
  const answer = item as Readonly<Record<string, unknown>>;
  switch (verb) {
    case 'create':
    case 'replace':
      return { body: writeSchema(resource), answer };
    case 'patch':
      return { body: patchSchema(resource), answer };
    case 'list':
      return {
        answer: {
          oneOf: [
            { type: 'array', items: answer },
            { type: 'object', properties: { count: { type: 'integer' } }, required: ['count'] },
          ],
        },
      };
    case 'lookup':
      return { body: LOOKUP_BODY, answer: LOOKUP_ANSWER };
    case 'remove':
      return { status: 204 };
    default:
      return { answer };
  }
};
