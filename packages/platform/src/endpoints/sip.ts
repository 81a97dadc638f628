/** `user/sip`: the sections of the tree of SIP endpoints, and what stands in them. */
import { callerOf, type RestEndpoint } from '../rest/endpoint.ts';
import type { SipAccounts } from './own-user.ts';

const SECTIONS = ['accounts', 'calls', 'conferences'];
const PATH = '/rest/v1/user/sip';
const common = { method: 'GET', access: 'signed-in', domain: 'working', tag: 'user/sip' } as const;
const list = (items: Record<string, unknown>) => ({ type: 'array', items });

export const createSipEndpoints = (accounts: SipAccounts): RestEndpoint[] => [
  {
    ...common,
    path: PATH,
    summary: 'Names of the sections',
    answer: list({ type: 'string' }),
    handle: () => SECTIONS,
  },
  {
    ...common,
    path: `${PATH}/accounts`,
    summary: 'Own SIP accounts',
    answer: list({ type: 'object' }),
    handle: (call) => {
      const { home, userId } = callerOf(call);
      return accounts.of(home, userId);
    },
  },
  // No telephony server is part of this service: there are never calls or conferences to show.
  ...['calls', 'conferences'].map(
    (section): RestEndpoint => ({
      ...common,
      path: `${PATH}/${section}`,
      summary: `Own ${section}; always empty`,
      answer: list({ type: 'object' }),
      handle: () => [],
    }),
  ),
];
