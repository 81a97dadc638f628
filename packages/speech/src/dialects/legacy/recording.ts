/** Takes the recording and the parameters of a legacy request in; what is wrong with them is said as FastAPI says it. */
import type { Call } from '@parley/kit/http/endpoint.ts';
import type { Caller, Upload } from '../../core/types.ts';
import type { DialectParts } from '../dialect.ts';
import type { Form } from '../form.ts';
import { withUpload } from '../upload.ts';
import { FILE_FIELD } from './answer.ts';
import { createParameters, type Parameters } from './parameters.ts';

/**
 * Reads the form, then the parameters with `parse`, and hands both on. Problems: those of the upload, and a list of
 * everything that is missing or cannot be read (422).
 */
export const withRecording = async <A, T>(
  parts: DialectParts,
  call: Call<Caller>,
  parse: (read: Parameters) => A,
  use: (asked: A, upload: Upload) => Promise<() => T>,
): Promise<Awaited<T>> => {
  const { request } = call;
  const refuseMissing = (form: Form): never => {
    const read = createParameters(request.query, form);
    read.missingFile(FILE_FIELD);
    parse(read);
    read.finish();
    throw new Error('A missing file went unnoticed.');
  };
  // Without any body there is no form to complain about.
  if (request.headers['content-type'] === undefined) return refuseMissing(new Map());
  return withUpload(
    parts.uploads,
    call,
    FILE_FIELD,
    (upload, form) => {
      const read = createParameters(request.query, form);
      const asked = parse(read);
      read.finish();
      return use(asked, upload);
    },
    refuseMissing,
  );
};
