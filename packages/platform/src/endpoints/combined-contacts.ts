/** `addressbook/combined_contacts`: groups by code, then contacts by name, in one list of at most 1000 unless a limit says otherwise. */

import type { Domain } from '../domains/types.ts';
import { callerOf, type RestEndpoint } from '../rest/endpoint.ts';
import type { Engine } from '../rest/engine.ts';
import { compareText, type Json } from '../rest/json.ts';
import { listItems } from '../rest/list.ts';
import { maskOf } from '../rest/mask.ts';
import { LIST_PARAMETERS } from '../rest/mount.ts';
import type { RawQuery } from '../rest/query.ts';
import { type ComputedFields, parseComputedQuery } from './computed.ts';

const FIELDS: ComputedFields = { id: 'uuid', key: 'text', type: 'text', name: 'text', number: 'text' };
const ALL = maskOf(Object.keys(FIELDS), (name) => name);
const DEFAULT_LIMIT = 1000;

const itemsOf = async function* (domain: Domain): AsyncGenerator<Json[]> {
  for await (const page of domain.pages('contactgroup')) {
    yield page.map(({ id, code, name }) => ({
      id,
      key: String(code),
      type: 'contactgroup',
      name,
      number: `group#${String(code)}`,
    }));
  }
  for await (const page of domain.pages('contact')) {
    yield page.map(({ id, autokey, displayname, number }) => ({
      id,
      key: String(autokey),
      type: 'contact',
      name: displayname,
      number,
    }));
  }
};

/** Groups by code, then contacts by name. */
const compareItems = (left: Json, right: Json): number => {
  if (left.type !== right.type) return left.type === 'contactgroup' ? -1 : 1;
  if (left.type === 'contactgroup') return compareText(String(left.key), String(right.key));
  return compareText(String(left.name), String(right.name)) || Number(left.key) - Number(right.key);
};

export const createCombinedContactsEndpoints = (engine: Engine): RestEndpoint[] => [
  {
    method: 'GET',
    path: '/rest/v1/addressbook/combined_contacts',
    access: 'route',
    tag: 'addressbook/combined_contacts',
    summary: 'Groups and contacts in one list',
    parameters: LIST_PARAMETERS,
    answer: {
      type: 'array',
      items: {
        type: 'object',
        properties: Object.fromEntries(Object.keys(FIELDS).map((name) => [name, { type: 'string' }])),
      },
    },
    handle: (call) => {
      const raw = call.request.query as RawQuery;
      const limits = { ...engine.limits, defaultLimit: DEFAULT_LIMIT };
      const query = parseComputedQuery({ ...engine, limits }, raw, FIELDS, 'id');
      if (query.isClamped) call.reply.header('x-limit-applied', String(query.limit));
      const order = query.order.keys.length > 0 ? query.order : { ...query.order, compare: compareItems };
      return listItems(itemsOf(callerOf(call).domain), { ...query, order }, ALL);
    },
  },
];
