/** `master/license`: installing a licence, and what is in force. */
import { badRequest } from '../codes.ts';
import { readDocument } from '../http/body.ts';
import type { Licences } from '../licence/licence.ts';
import { callerOf, type JsonSchema, type RestEndpoint } from '../rest/endpoint.ts';
import { type RawQuery, readFlag } from '../rest/query.ts';

const PATH = '/rest/v1/master/license';
const LICENCE: JsonSchema = {
  type: 'object',
  properties: {
    products: { type: 'string' },
    topleveldnpolicy: { type: 'integer' },
    dql: { type: 'object', additionalProperties: { type: 'integer' } },
    sqf: { type: 'object', additionalProperties: { type: 'boolean' } },
    ext: { type: 'object' },
  },
};

export const createLicenseEndpoints = (licences: Licences): RestEndpoint[] => {
  const common = { access: 'route', domain: 'master', tag: 'master/license' } as const;
  return [
    {
      ...common,
      method: 'POST',
      path: PATH,
      summary: 'Installs a licence',
      body: { type: 'string', description: 'The document as the vendor issued it.' },
      answer: LICENCE,
      handle: async (call) => {
        const document = await readDocument(call.request, 'create');
        if (typeof document !== 'string' || document === '')
          throw badRequest('body', 'must be the licence as a JSON string');
        return licences.install(document.trim(), callerOf(call));
      },
    },
    {
      ...common,
      method: 'GET',
      path: PATH,
      summary: 'The licence in force',
      parameters: [
        {
          name: 'file',
          in: 'query',
          description: 'true: as it was issued, without its smart conditions.',
          schema: { type: 'boolean', default: false },
        },
      ],
      answer: LICENCE,
      handle: (call) => licences.show(readFlag(call.request.query as RawQuery, 'file')),
    },
    {
      ...common,
      method: 'GET',
      path: `${PATH}/installation`,
      summary: 'What the vendor needs to issue a licence for this installation',
      answer: { type: 'object', properties: { installation: { type: 'string' }, key: { type: 'object' } } },
      handle: () => licences.addressee(),
    },
  ];
};
