/** `parley licence`: the vendor's side. Makes the key that signs licences, and licences for one installation each. */
import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { type Addressee, createVendorKey, issueLicence } from '@parley/platform/licence/issue.ts';
import type { Command, Output } from '../command.ts';

type Action = (args: readonly string[], out: Output) => Promise<void>;

const USAGE =
  'keygen FILE | issue --key FILE --installation FILE --content FILE [--from TIME] [--expires TIME] [--issuer NAME]';

export const licenceCommand: Command = {
  name: 'licence',
  usage: 'keygen | issue',
  summary: 'for the vendor: the signing key, and licences for installations',
  run: async ([action = '', ...args], { out }) => {
    const run = Object.hasOwn(ACTIONS, action) ? ACTIONS[action] : undefined;
    if (!run) throw new Error(`licence wants one of: ${USAGE}`);
    await run(args, out);
    return 0;
  },
};

/** The private key goes into a new file that only its owner reads; the public one is shown. */
const keygen: Action = async (args, out) => {
  const { positionals } = parseArgs({ args: [...args], allowPositionals: true, options: {} });
  const [file, ...others] = positionals;
  if (file === undefined || others.length > 0) throw new Error('licence keygen needs the name of a new file.');
  const { publicKey, privateKey } = await createVendorKey();
  writeFileSync(file, `${JSON.stringify(privateKey)}\n`, { mode: 0o600, flag: 'wx' });
  out.write(`${publicKey}\n`);
};

const issue: Action = async (args, out) => {
  const { values } = parseArgs({
    args: [...args],
    options: {
      key: { type: 'string' },
      installation: { type: 'string' },
      content: { type: 'string' },
      from: { type: 'string' },
      expires: { type: 'string' },
      issuer: { type: 'string' },
    },
  });
  const fields = {
    ...readObject(values.content, '--content'),
    ...(values.issuer === undefined ? {} : { iss: values.issuer }),
    ...(values.from === undefined ? {} : { nbf: toSeconds(values.from, '--from') }),
    ...(values.expires === undefined ? {} : { exp: toSeconds(values.expires, '--expires') }),
  };
  const addressee = readObject(values.installation, '--installation') as Addressee;
  if (typeof addressee.installation !== 'string' || typeof addressee.key !== 'object') {
    throw new Error('--installation must be what GET /rest/v1/master/license/installation answers.');
  }
  const key = readObject(values.key, '--key');
  if (key.kty !== 'OKP' || typeof key.d !== 'string') throw new Error('--key must be a file of licence keygen.');
  out.write(`${await issueLicence(fields, addressee, key, Math.floor(Date.now() / 1000))}\n`);
};

const ACTIONS: Readonly<Record<string, Action>> = { keygen, issue };

const readObject = (file: string | undefined, option: string): Record<string, unknown> => {
  if (file === undefined) throw new Error(`licence issue needs ${option} FILE.`);
  const value = parseJson(readFileSync(file, 'utf8'));
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Error(`${option}: the file holds no JSON object.`);
  }
  return value as Record<string, unknown>;
};

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

const toSeconds = (text: string, option: string): number => {
  const atMs = Date.parse(text);
  if (Number.isNaN(atMs)) throw new Error(`${option} must be a time such as 2030-12-31T00:00:00Z.`);
  return Math.floor(atMs / 1000);
};
