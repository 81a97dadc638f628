/** The platform itself as a caller: it may do everything, and the journal calls it `system`. */
import { ZERO_UUID } from '@parley/kit/ids.ts';
import type { Caller, Domain } from '../domains/types.ts';

export const createSystemCaller = (domain: Domain, name = 'system'): Caller => ({
  domain,
  home: domain,
  userId: ZERO_UUID,
  login: '',
  name,
  roles: [],
  address: '',
  session: { kind: 'system' },
  covers: () => true,
});
