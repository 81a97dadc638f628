/**
 * Network namespaces of Linux, one for each server of a soak, on a bridge: each has an address and a loopback of its own,
 * and its cable can be pulled. Needs root and iproute2; where they cannot be had, the first command that failed is told.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

export type Namespaces = AsyncDisposable & {
  /** Of the bridge, which everybody reaches: the place for what the servers share. */
  readonly address: string;
  /** All of them, as CIDR. */
  readonly network: string;
  addressOf(name: string): string;
  /** The words before a command that has it run there; it keeps its process id. */
  enter(name: string): readonly string[];
  /** Pulls the cable of one, or puts it back. Nobody is told: packets are lost. */
  plug(name: string, isIn: boolean): Promise<void>;
};

/** Of 198.18.0.0/15, which RFC 2544 keeps for measurements: nobody else has these. */
const PREFIX = '198.18';
const FIRST_HOST = 2;

const TAG = 'parley';

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

/** Removes what a soak that was killed left: its namespaces, and with them their cables, and its bridge. */
const sweep = async (): Promise<void> => {
  const left = async (...words: string[]): Promise<string[]> => {
    const { stdout } = await run('ip', words);
    const names = stdout.match(new RegExp(`\\b${TAG}\\d+(?:-\\w+)?\\b`, 'g')) ?? [];
    return [...new Set(names)].filter((name) => !isAlive(Number.parseInt(name.slice(TAG.length), 10)));
  };
  for (const name of await left('netns', 'list')) await run('ip', ['netns', 'del', name]);
  for (const name of await left('-o', 'link', 'show', 'type', 'bridge')) await run('ip', ['link', 'del', name]);
};

/** The namespaces of these names; a sentence that says why there are none where they cannot be made. */
export const openNamespaces = async (names: readonly string[]): Promise<Namespaces | string> => {
  const tag = `${TAG}${process.pid}`;
  const subnet = `${PREFIX}.${process.pid % 256}`;
  const placeOf = new Map(names.map((name, index) => [name, index] as const));
  const indexOf = (name: string): number => placeOf.get(name)!;
  const addressOf = (name: string): string => `${subnet}.${FIRST_HOST + indexOf(name)}`;
  const spaceOf = (name: string): string => `${tag}-${name}`;
  // Names of links have at most 15 bytes.
  const cableOf = (name: string): string => `${tag}v${indexOf(name)}`;
  const ip = (...words: string[]) => run('ip', words);
  const made: string[][] = [];
  const make = async (undo: string[], ...words: string[]): Promise<void> => {
    await ip(...words);
    made.unshift(undo);
  };
  const remove = async (): Promise<void> => {
    for (const undo of made) await ip(...undo).catch(() => undefined);
    made.length = 0;
  };
  const add = async (name: string): Promise<void> => {
    const [space, cable] = [spaceOf(name), cableOf(name)];
    const inside = (...words: string[]) => ip('-n', space, ...words);
    await make(['netns', 'del', space], 'netns', 'add', space);
    await make(['link', 'del', cable], 'link', 'add', cable, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', space);
    await ip('link', 'set', cable, 'master', tag, 'up');
    await inside('addr', 'add', `${addressOf(name)}/24`, 'dev', 'eth0');
    await inside('link', 'set', 'eth0', 'up');
    await inside('link', 'set', 'lo', 'up');
  };
  try {
    await sweep();
    await make(['link', 'del', tag], 'link', 'add', tag, 'type', 'bridge');
    await ip('addr', 'add', `${subnet}.1/24`, 'dev', tag);
    await ip('link', 'set', tag, 'up');
    for (const name of names) await add(name);
  } catch (thrown) {
    await remove();
    return `no network namespaces: ${(thrown as Error).message.trim().replaceAll('\n', ': ')}`;
  }
  return {
    address: `${subnet}.1`,
    network: `${subnet}.0/24`,
    addressOf,
    enter: (name) => ['ip', 'netns', 'exec', spaceOf(name)],
    plug: async (name, isIn) => {
      await ip('link', 'set', cableOf(name), isIn ? 'up' : 'down');
    },
    [Symbol.asyncDispose]: remove,
  };
};
