/** The three that are measured side by side: Parley, the bare ceiling, the yardstick, all with the same users. */
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Child, startChild } from './child.ts';
import { call, fill, startParley } from './parley.ts';
import { type Asks, createAsks, idOf, LIST_PATH, userOf, userPath } from './seed.ts';

export type Service = {
  readonly name: string;
  readonly child: Child;
  readonly asks: Asks;
  readonly token: string;
};

/** Not of the answer itself, or counted anew for each. */
const OWN_HEADERS = new Set(['connection', 'content-length', 'date', 'keep-alive', 'transfer-encoding']);
const READERS = 32;

/** What Parley answers to each request, so that the ceiling can answer the same. */
const collectAnswers = async (parley: Child, token: string, ids: readonly string[]) => {
  const answers: Record<string, string> = {};
  const { headers, text } = await call(parley.url, token, 'GET', LIST_PATH.slice('/rest/v1/'.length));
  answers[LIST_PATH] = text;
  const waiting = ids.slice();
  const read = async (): Promise<void> => {
    for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
      answers[userPath(id)] = (await call(parley.url, token, 'GET', `iam/users/${id}`)).text;
    }
  };
  await Promise.all(Array.from({ length: READERS }, read));
  return { answers, headers: Object.fromEntries([...headers].filter(([name]) => !OWN_HEADERS.has(name))) };
};

export type Wanted = {
  readonly folder: string;
  readonly users: number;
  readonly signal: AbortSignal;
  /** A program that runs each service, by the service's name. */
  readonly under?: (name: string) => readonly string[];
};

const idsOf = (users: number): string[] => Array.from({ length: users }, (_, index) => idOf(index + 1));

/** Parley alone; its data lies in `parley` below the folder. */
export const startParleyService = async (
  { folder, users, signal, under = () => [] }: Wanted,
  stack: AsyncDisposableStack,
): Promise<Service> => {
  const child = stack.use(await startParley({ dataDir: join(folder, 'parley'), signal, under: under('Parley') }));
  const token = await fill(child.url, users, signal);
  return { name: 'Parley', child, asks: createAsks(token, idsOf(users)), token };
};

const startOther = async (
  name: string,
  module: URL,
  args: readonly string[],
  token: string,
  { users, signal, under = () => [] }: Wanted,
  stack: AsyncDisposableStack,
): Promise<Service> => {
  const path = fileURLToPath(module);
  const child = stack.use(await startChild({ module: path, args, signal, under: under(name) }));
  return { name, child, asks: createAsks(token, idsOf(users)), token };
};

/** The ceiling, with the answers of a Parley that holds the same users. */
export const startBare = async (parley: Service, wanted: Wanted, stack: AsyncDisposableStack): Promise<Service> => {
  const file = join(wanted.folder, 'bare.json');
  const token = randomBytes(32).toString('base64url');
  const answers = await collectAnswers(parley.child, parley.token, idsOf(wanted.users));
  await writeFile(file, JSON.stringify({ token, ...answers }));
  return startOther('bare', new URL('./bare.ts', import.meta.url), [file], token, wanted, stack);
};

export const startYardstick = async (wanted: Wanted, stack: AsyncDisposableStack): Promise<Service> => {
  const file = join(wanted.folder, 'yardstick.json');
  const token = randomBytes(32).toString('base64url');
  const users = Array.from({ length: wanted.users }, (_, index) => userOf(index + 1));
  await writeFile(file, JSON.stringify({ token, users }));
  return startOther(
    'yardstick',
    new URL('./yardstick.ts', import.meta.url),
    [wanted.folder, file],
    token,
    wanted,
    stack,
  );
};
