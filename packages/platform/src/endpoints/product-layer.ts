/** `domain/product_layer`: orders to install, update, delete or clear layers, and what came of them. */

import { readDocument } from '../http/body.ts';
import type { Orders, ProductLayerItem } from '../product-layer/orders.ts';
import { callerOf, type JsonSchema, type RestEndpoint } from '../rest/endpoint.ts';
import type { Engine } from '../rest/engine.ts';
import { listItems } from '../rest/list.ts';
import { maskOf } from '../rest/mask.ts';
import { LIST_PARAMETERS } from '../rest/mount.ts';
import type { RawQuery } from '../rest/query.ts';
import { type ComputedFields, parseComputedQuery } from './computed.ts';

type Parts = { readonly engine: Engine; readonly orders: Orders };

const PATH = '/rest/v1/domain/product_layer';
const FIELDS: ComputedFields = {
  operation: 'text',
  prefix: 'text',
  mode: 'text',
  site: 'text',
  status: 'text',
  dt: 'date',
  file: 'text',
  md5: 'text',
  trace: 'text',
  kind: 'text',
  order: 'number',
};
const LIST_MASK = maskOf(Object.keys(FIELDS), (name) => name);
const TEXT: JsonSchema = { type: 'string' };
const OPERATION: JsonSchema = { type: 'string', enum: ['install', 'update', 'delete', 'clear'], default: 'install' };
const MODE: JsonSchema = { type: 'string', enum: ['default'], default: 'default' };
const SCHEMA: JsonSchema = {
  type: 'object',
  properties: {
    operation: OPERATION,
    prefix: TEXT,
    mode: MODE,
    site: TEXT,
    status: { type: 'string', enum: ['registered', 'installed', 'identical', 'failed'] },
    dt: { type: 'string', format: 'date-time' },
    file: { type: 'string', description: 'Name of the archive.' },
    md5: { type: 'string', description: 'Of the archive, in hex.' },
    trace: { type: 'string', description: 'What was done, and why it failed.' },
    kind: { type: 'string', enum: ['current', 'attempt'] },
    order: { type: 'integer', description: 'Counts the orders of a site from 1.' },
  },
};

export const createProductLayerEndpoints = ({ engine, orders }: Parts): RestEndpoint[] => {
  const common = { access: 'route', path: PATH, tag: 'domain/product_layer' } as const;
  return [
    {
      ...common,
      method: 'POST',
      summary: 'Order a layer to be installed, updated, deleted or cleared',
      body: {
        type: 'object',
        required: ['prefix'],
        properties: { operation: OPERATION, prefix: TEXT, mode: MODE },
      },
      answer: SCHEMA,
      handle: async (call) => orders.register(await readDocument(call.request, 'create'), callerOf(call)),
    },
    {
      ...common,
      method: 'GET',
      summary: 'The newest order, and what is installed, by site and prefix',
      parameters: LIST_PARAMETERS,
      answer: { type: 'array', items: SCHEMA },
      handle: (call) => {
        const query = parseComputedQuery(engine, call.request.query as RawQuery, FIELDS, 'order');
        const page = async function* (): AsyncGenerator<ProductLayerItem[]> {
          yield await orders.latest(callerOf(call).domain.name);
        };
        return listItems(page(), query, LIST_MASK);
      },
    },
  ];
};
