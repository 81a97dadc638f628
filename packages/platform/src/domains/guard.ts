/** Some endpoints exist in the master domain only, some only in working ones. */
import { problem } from '../codes.ts';
import type { Caller } from './types.ts';

/** 403 when the endpoint is of another kind of domain than the caller's. */
export const checkDomainType = (caller: Caller, wanted: 'any' | 'master' | 'working'): void => {
  if (wanted === 'any' || caller.domain.isMaster === (wanted === 'master')) return;
  throw problem('forbidden', { details: { domain_type: wanted } });
};
