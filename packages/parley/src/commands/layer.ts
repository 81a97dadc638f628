/** `parley layer`: the maker's side of product layers. Makes the key that signs them, and signed archives of folders. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { packLayer } from '@parley/platform/product-layer/pack.ts';
import { createLayerKey } from '@parley/platform/product-layer/signature.ts';
import type { Command, Output } from '../command.ts';

type Action = (args: readonly string[], out: Output) => Promise<void>;

const USAGE = 'keys FILE | pack FOLDER --key FILE [--out FOLDER]';

export const layerCommand: Command = {
  name: 'layer',
  usage: 'keys | pack',
  summary: 'for makers of product layers: the signing key, and signed archives',
  run: async ([action = '', ...args], { out }) => {
    const run = Object.hasOwn(ACTIONS, action) ? ACTIONS[action] : undefined;
    if (!run) throw new Error(`layer wants one of: ${USAGE}`);
    await run(args, out);
    return 0;
  },
};

/** The private key goes into a new file that only its owner reads; the public one is shown. */
const keys: Action = async (args, out) => {
  const { positionals } = parseArgs({ args: [...args], allowPositionals: true, options: {} });
  const [file, ...others] = positionals;
  if (file === undefined || others.length > 0) throw new Error('layer keys needs the name of a new file.');
  const { publicKey, privateKey } = createLayerKey();
  writeFileSync(file, `${JSON.stringify(privateKey)}\n`, { mode: 0o600, flag: 'wx' });
  out.write(`${publicKey}\n`);
};

const pack: Action = async (args, out) => {
  const { positionals, values } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { key: { type: 'string' }, out: { type: 'string' } },
  });
  const [folder, ...others] = positionals;
  if (folder === undefined || others.length > 0) throw new Error('layer pack needs one folder with a layer.json.');
  if (values.key === undefined) throw new Error('layer pack needs --key FILE, a file of layer keys.');
  const into = values.out ?? '.';
  mkdirSync(into, { recursive: true });
  const { archive, signature, md5 } = await packLayer(folder, readKey(values.key), into);
  out.write(`${archive}  md5 ${md5}\n${signature}\n`);
};

const ACTIONS: Readonly<Record<string, Action>> = { keys, pack };

const readKey = (file: string): Record<string, string> => {
  const text = readFileSync(file, 'utf8');
  try {
    const key = JSON.parse(text) as Record<string, string>;
    if (key.kty === 'OKP' && key.crv === 'Ed25519' && typeof key.d === 'string') return key;
  } catch {
    // Told below.
  }
  throw new Error('--key must be a file of layer keys.');
};
