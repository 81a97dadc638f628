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

const combine = (domain: Domain): Json[] => {
  const groups = [...domain.all('contactgroup')]
    .sort((left, right) => compareText(String(left.code), String(right.code)))
    .map(
      ({ id, code, name }): Json => ({
        id,
        key: String(code),
        type: 'contactgroup',
        name,
        number: `group#${String(code)}`,
      }),
    );
  const contacts = [...domain.all('contact')]
    .sort(
      (left, right) =>
        compareText(String(left.displayname), String(right.displayname)) ||
        Number(left.autokey) - Number(right.autokey),
    )
    .map(
      ({ id, autokey, displayname, number }): Json => ({
        id,
        key: String(autokey),
        type: 'contact',
        name: displayname,
        number,
      }),
    );
  return [...groups, ...contacts];
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
      const items = combine(callerOf(call).domain);
      if (query.isClamped) call.reply.header('x-limit-applied', String(query.limit));
      // Without an order of the caller's own, groups stay before contacts.
      const order = query.order.keys.length > 0 ? query.order : { ...query.order, compare: () => 0 };
      return listItems(items, { ...query, order }, ALL);
    },
  },
];
