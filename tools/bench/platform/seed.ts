/** The users that every measured service holds, and the requests it is asked. */
import { createHash } from 'node:crypto';

export type SeededUser = {
  readonly id: string;
  readonly login: string;
  readonly name: string;
  readonly timezone: string;
  readonly opts: Readonly<Record<string, unknown>>;
  readonly ext: Readonly<Record<string, unknown>>;
};

export const CLIENTS = 16;
export const LIST_ITEMS = 100;
const FIELDS = ['id', 'login', 'name', 'timezone'];

/** A user's id, the same in every run. */
export const idOf = (n: number): string => {
  const hex = createHash('sha256').update(`user${n}`).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
};

/** Users by number, from 1. */
export const userOf = (n: number): SeededUser => ({
  id: idOf(n),
  login: `user${n}`,
  name: `User ${n}`,
  timezone: 'default',
  opts: { title: '', comment: `seeded ${n}`, roles: n % 10 === 0 ? ['admin', 'operator'] : ['operator'] },
  ext: { floor: n % 7 },
});

export const userPath = (id: string): string => `/rest/v1/iam/users/${id}`;

/** The first hundred of those whose name begins with "User 7", by login from the end. */
export const LIST_PATH = `/rest/v1/iam/users?${new URLSearchParams({
  limit: String(LIST_ITEMS),
  mask: FIELDS.join(','),
  order: JSON.stringify([{ login: 'desc' }]),
  filter: JSON.stringify({ name: 'User 7%' }),
})}`.replaceAll('+', '%20');

/** A request as it goes over the wire. */
export const toRequest = (
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body?: string,
): Buffer => {
  const lines = [
    `${method} ${path} HTTP/1.1`,
    'host: 127.0.0.1',
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    ...(body === undefined ? [] : ['content-type: application/json', `content-length: ${Buffer.byteLength(body)}`]),
  ];
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body ?? ''}`);
};

/** Numbers from 1 to `count` in an order that looks random and is the same in every run. */
export const createPicker = (count: number): (() => number) => {
  let state = 42;
  return () => {
    // Numerical Recipes' generator; its high bits are good enough to spread requests.
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return 1 + Math.floor((state / 2 ** 32) * count);
  };
};

/** What is asked of a service, each as an endless supply. */
export type Asks = {
  readonly get: () => Buffer;
  readonly list: () => Buffer;
  readonly patch: () => Buffer;
};

/** The same requests for each service; only the credentials differ. `ids`: of the users by number, from 1. */
export const createAsks = (token: string, ids: readonly string[]): Asks => {
  const headers = { authorization: `Bearer ${token}` };
  // Not made beforehand: a million of them would be the generator's own load.
  const [beforeId = '', afterId = ''] = toRequest('GET', userPath('{id}'), headers).toString().split('{id}');
  const list = toRequest('GET', LIST_PATH, headers);
  const pick = createPicker(ids.length);
  let writes = 0;
  return {
    get: () => Buffer.from(beforeId + ids[pick() - 1] + afterId),
    list: () => list,
    patch: () => {
      const n = pick();
      // Goes on matching the list's filter when it did before.
      writes += 1;
      return toRequest('PATCH', userPath(ids[n - 1]!), headers, JSON.stringify({ name: `User ${n} ${writes}` }));
    },
  };
};
