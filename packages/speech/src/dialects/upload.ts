/** The one way a dialect takes a recording in: spooled to disk, checked for being there, removed when all is said. */
import type { Call } from '@parley/kit/http/endpoint.ts';
import { readUpload } from '@parley/kit/http/upload.ts';
import { Problem } from '@parley/kit/problem.ts';
import { problem } from '../core/codes.ts';
import type { Caller, Upload } from '../core/types.ts';
import type { UploadLimits } from './dialect.ts';
import type { Form } from './form.ts';

/**
 * Reads the form, hands over the recording and the other fields, and removes the recording whatever happens. `use`
 * resolves with what sends the answer, so that nothing is left on disk when the client has it. Problems: those of
 * `readUpload`, and invalid_request naming `field` when there is no recording (or what `refuseMissing` throws) or an
 * empty one.
 */
export const withUpload = async <T>(
  limits: UploadLimits,
  call: Call<Caller>,
  field: string,
  use: (upload: Upload, form: Form) => Promise<() => T>,
  refuseMissing: (form: Form) => never = () => missing(field),
): Promise<Awaited<T>> => {
  const { file, fields } = await readUpload(call.request, {
    spoolDir: limits.spoolDir,
    maxBytes: limits.maxBytes,
    idleTimeoutMs: limits.idleMs,
    fileFields: [field],
  });
  if (!file) return refuseMissing(fields);
  const send = await useAndRemove(file, () => {
    if (file.sizeBytes === 0) throw problem('invalid_request', `${field} is empty.`, { param: field });
    return use(file, fields);
  }).catch((thrown: unknown) => {
    throw call.signal.aborted ? clientWentAway(thrown) : thrown;
  });
  return await send();
};

const missing = (field: string): never => {
  throw problem('invalid_request', `${field} is missing: send the recording under this name.`, { param: field });
};

const useAndRemove = async <T>(file: Upload, use: () => Promise<T>): Promise<T> => {
  try {
    return await use();
  } finally {
    await file.remove();
  }
};

/** nginx's status for it; nobody reads the answer, and the log must not call it a fault of ours. */
const clientWentAway = (cause: unknown): Problem =>
  new Problem({ code: 'client_closed_request', status: 499, message: 'The client went away.', cause });
