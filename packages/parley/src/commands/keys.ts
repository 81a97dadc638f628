/** `parley keys`: issues, lists, removes and rotates API keys of the speech service, also while it runs. */
import { parseArgs } from 'node:util';
import { createLog } from '@parley/kit/log.ts';
import { readSettings } from '@parley/kit/settings.ts';
import { openStore } from '@parley/kit/store/open.ts';
import { draftKey, type Issued, issueKey, listKeys, removeKey, rotateKey } from '@parley/speech/keys/issue.ts';
import { type KeyBook, type KeyRecord, keyFileBook } from '@parley/speech/keys/key-file.ts';
import { isShared, keysPathOf } from '@parley/speech/keys/place.ts';
import { sharedBook } from '@parley/speech/keys/shared-book.ts';
import { SPEECH_SETTINGS } from '@parley/speech/settings.ts';
import type { Command, CommandContext, Output } from '../command.ts';

type Action = (book: KeyBook, args: readonly string[], out: Output) => Promise<void>;

const USAGE =
  'issue NAME [--admin] [--interactive] [--rps N] [--models GLOB,…] [--expires TIME] [--hash-only] | list | remove | rotate';

export const keysCommand: Command = {
  name: 'keys',
  usage: 'issue | list | remove | rotate',
  summary: 'API keys of the speech service',
  run: async ([action = '', ...args], context) => {
    const run = Object.hasOwn(ACTIONS, action) ? ACTIONS[action] : undefined;
    if (!run) throw new Error(`keys wants one of: ${USAGE}`);
    await withBook(context, (book) => run(book, args, context.out));
    return 0;
  },
};

/** The keys a running service reads: its file, or the rows that several services share. */
const withBook = async ({ line }: CommandContext, use: (book: KeyBook) => Promise<void>): Promise<void> => {
  const { values } = readSettings(SPEECH_SETTINGS, { section: 'speech', ...line });
  const path = keysPathOf(values.data_dir, values['auth.keys_file']);
  if (!isShared(values['storage.url'], values['auth.keys_file'])) return use(keyFileBook(path));
  await using store = await openStore(values['storage.url'], createLog('keys', 'warn'));
  await use(sharedBook(store, path));
};

const issue: Action = async (book, args, out) => {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      admin: { type: 'boolean', default: false },
      interactive: { type: 'boolean', default: false },
      rps: { type: 'string' },
      models: { type: 'string' },
      expires: { type: 'string' },
      'hash-only': { type: 'boolean', default: false },
    },
  });
  const key = {
    name: onlyOne(positionals, 'a name'),
    admin: values.admin,
    priority: values.interactive ? 'interactive' : 'batch',
    ...(values.rps !== undefined && { rps: toRate(values.rps) }),
    ...(values.models !== undefined && { models: values.models.split(',').map((glob) => glob.trim()) }),
    ...(values.expires !== undefined && { expiresAt: toTime(values.expires) }),
  } as const;
  if (values['hash-only']) {
    const { secret, record } = draftKey(key);
    out.write(`${secret}\n${JSON.stringify(record)}\n`);
  } else showSecret(await issueKey(book, key), out);
};

const showSecret = ({ record, secret }: Issued, out: Output): void => {
  if (out.isTTY) out.write(`Key ${record.name} (${record.id}). This is the only time its secret is shown:\n`);
  out.write(`${secret}\n`);
};

const list: Action = async (book, args, out) => {
  parseArgs({ args: [...args], options: {} });
  const rows = (await listKeys(book)).map((record) => [record.name, record.id, rightsOf(record), record.created_at]);
  const table = [['NAME', 'ID', 'RIGHTS', 'CREATED'], ...rows];
  const widths = table[0]!.map((_, column) => Math.max(...table.map((row) => row[column]!.length)));
  for (const row of table) {
    out.write(
      `${row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join('  ')
        .trimEnd()}\n`,
    );
  }
};

const rightsOf = (record: KeyRecord): string =>
  [
    record.admin ? 'admin' : 'user',
    record.priority,
    ...(record.rps > 0 ? [`${record.rps}/s`] : []),
    ...(record.models.join() === '*' ? [] : [record.models.join('|')]),
    ...(record.disabled ? ['disabled'] : []),
    ...(record.expires_at === undefined ? [] : [`until ${record.expires_at}`]),
  ].join(' ');

const remove: Action = async (book, args, out) => {
  const record = await removeKey(book, onlyOne(positionalsOf(args), 'a name or an id'));
  out.write(`Removed ${record.name} (${record.id}).\n`);
};

const rotate: Action = async (book, args, out) => {
  showSecret(await rotateKey(book, onlyOne(positionalsOf(args), 'a name or an id')), out);
};

const ACTIONS: Readonly<Record<string, Action>> = { issue, list, remove, rotate };

const positionalsOf = (args: readonly string[]): string[] =>
  parseArgs({ args: [...args], allowPositionals: true, options: {} }).positionals;

const onlyOne = (positionals: readonly string[], what: string): string => {
  const [only, ...others] = positionals;
  if (only === undefined || others.length > 0) throw new Error(`This needs ${what}, and nothing else.`);
  return only;
};

const toRate = (text: string): number => {
  const rate = Number(text);
  if (text.trim() === '' || !Number.isFinite(rate) || rate < 0) throw new Error('--rps must be a number from 0.');
  return rate;
};

const toTime = (text: string): string => {
  const at = Date.parse(text);
  if (Number.isNaN(at)) throw new Error('--expires must be a time such as 2030-12-31T00:00:00Z.');
  return new Date(at).toISOString();
};
