/** The trace of an order: what was done and why it failed, without secrets and places of this server. */
import { MAX_TRACE_BYTES } from './limits.ts';

export type Trace = { add(line: string): void; text(): string };

const CUT = '[cut]';
const CREDENTIALS = /(\b[a-z][a-z0-9+.-]*:\/\/)[^\s/@]+@/gi;
/** `password: x`, `"token":"x"`, `api_key=x`, `Bearer x`. */
const NAMED = /((?:pass(?:word|wd)?|pwd|secret|token|api_?key|private_?key|authorization)"?\s*[:=]\s*"?)[^\s",;}]+/gi;
const BEARER = /(\bBearer\s+)[A-Za-z0-9._~+/=-]+/gi;

/** The text without what opens anything. `folders` of this server are shown as `.`. */
export const cutSecrets = (text: string, folders: readonly string[] = []): string => {
  const placeless = folders.reduce((said, folder) => said.replaceAll(folder, '.'), text);
  return placeless.replace(BEARER, `$1${CUT}`).replace(CREDENTIALS, `$1${CUT}@`).replace(NAMED, `$1${CUT}`);
};

/** A trace that grows line by line and never beyond its limit. */
export const createTrace = (folders: readonly string[]): Trace => {
  let text = '';
  return {
    add: (line) => {
      const bytes = Buffer.from(`${text}${cutSecrets(line, folders)}\n`);
      // A sign that was cut in two is dropped.
      text = new TextDecoder('utf8').decode(bytes.subarray(0, MAX_TRACE_BYTES)).replace(/\uFFFD+$/, '');
    },
    text: () => text,
  };
};
