/**
 * `service/svcscript_elements` (an extension): the elements a script can be made of and what each of their keys holds, for
 * whoever draws scripts. The same declarations check a script when it is saved.
 */
import type { JsonSchema, RestEndpoint } from '../rest/endpoint.ts';
import type { Json } from '../rest/json.ts';
import type { Element } from '../scripts/element.ts';
import { keysOf } from '../scripts/keys.ts';

const ANSWER: JsonSchema = {
  type: 'array',
  items: {
    type: 'object',
    properties: {
      oType: { type: 'integer' },
      name: { type: 'string' },
      keys: { type: 'object', description: 'Key → kind, required, min, max, words, items, maxItems, description.' },
      is_end: { type: 'boolean', description: 'Nothing follows it.' },
      is_note: { type: 'boolean', description: 'No part of the flow.' },
    },
  },
};

const render = (element: Element): Json => ({
  oType: element.oType,
  name: element.name,
  keys: keysOf(element),
  is_end: element.isEnd === true,
  is_note: element.isNote === true,
});

export const createScriptElementsEndpoint = (elements: readonly Element[]): RestEndpoint => ({
  method: 'GET',
  path: '/rest/v1/service/svcscript_elements',
  access: 'signed-in',
  tag: 'service/svcscripts',
  summary: 'The elements of scripts and their keys',
  description: 'Extension. What a script can hold and what each key of an element takes.',
  answer: ANSWER,
  handle: () => elements.map(render),
});
