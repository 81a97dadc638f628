/** `iam/sessions/current/routes` (an extension): what a session may do, so that a page offers nothing that is refused. */
import { rulesOf } from '../auth/routes.ts';
import { callerOf, type JsonSchema, type RestEndpoint } from '../rest/endpoint.ts';

const ANSWER: JsonSchema = {
  type: 'array',
  items: {
    type: 'object',
    properties: { methods: { type: 'array', items: { type: 'string' } }, url: { type: 'string' } },
  },
};

/** The routes of all roles of the caller in the domain the session is in, those of parents included. */
export const ownRoutesEndpoint: RestEndpoint = {
  method: 'GET',
  path: '/rest/v1/iam/sessions/current/routes',
  access: 'signed-in',
  tag: 'iam/sessions',
  summary: 'What the roles of this session allow',
  answer: ANSWER,
  handle: (call) => {
    const { domain, roles } = callerOf(call);
    return rulesOf(domain, roles).map(({ methods, url }) => ({ methods, url }));
  },
};
