/** That the database is away is no fault of ours: the caller may come again. */
import type { Render } from '@parley/kit/http/errors.ts';
import { StoreUnavailable } from '@parley/kit/store/store.ts';
import { problem } from '../core/codes.ts';

const RETRY_AFTER_SEC = 5;

/** Renders what the Store's absence caused as storage_unavailable. */
export const renderAway =
  (render: Render): Render =>
  (fault, request) =>
    render(
      fault.status === 500 && fault.cause instanceof StoreUnavailable
        ? problem('storage_unavailable', 'The database cannot be reached now.', {
            retryAfterSec: RETRY_AFTER_SEC,
            cause: fault.cause,
          })
        : fault,
      request,
    );
