/** The whole platform: requests to every address of its description, by an administrator and by nobody. No answer may be 500. */
import { ADMIN_PASSWORD, type Client, startTestPlatform } from '../../packages/platform/test/start-test-platform.ts';
import type { Random } from './random.ts';
import type { Target } from './target.ts';

type Schema = {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly $ref?: string;
};
type Operation = {
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema?: Schema }>> };
};
type Described = { readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>> };
type Place = {
  readonly method: string;
  readonly path: string;
  readonly fields: readonly string[];
  readonly query: readonly string[];
};

const METHODS = ['get', 'put', 'post', 'patch', 'delete'];
const WORDS = [
  'admin',
  'user',
  'master',
  '*',
  'code',
  'name',
  'value',
  'id',
  'true',
  '00000000-0000-0000-0000-000000000000',
];
const SUFFIXES = ['', '', '', '', '!lookup', '!patch', '!delete', '!put', '!head'];
/** Addresses that wait for others, end this process's own session, or hold a connection open. */
const LEFT_OUT = /\/run$|nodes|events|sessions/;
const MAX_KNOWN_IDS = 50;

const fieldsIn = (schema: Schema | undefined, depth = 0): string[] => {
  if (!schema || depth > 3) return [];
  const own = Object.entries(schema.properties ?? {}).flatMap(([name, inner]) => [name, ...fieldsIn(inner, depth + 1)]);
  return [...own, ...fieldsIn(schema.items, depth + 1)];
};

const placesOf = ({ paths }: Described): Place[] =>
  Object.entries(paths)
    .filter(([path]) => !LEFT_OUT.test(path))
    .flatMap(([path, operations]) =>
      Object.entries(operations)
        .filter(([method]) => METHODS.includes(method))
        .map(([method, { parameters = [], requestBody }]) => ({
          method: method.toUpperCase(),
          path,
          fields: Object.values(requestBody?.content ?? {}).flatMap(({ schema }) => fieldsIn(schema)),
          query: parameters.filter((each) => each.in === 'query').map(({ name }) => name),
        })),
    );

const bodyOf = (random: Random, { fields }: Place): unknown => {
  const words = [...fields, ...WORDS];
  if (random.chance(0.1)) return random.json(words);
  return Object.fromEntries(
    fields
      .filter(() => random.chance(0.5))
      .map((name) => [name, random.chance(0.4) ? random.pick(words) : random.json(words)]),
  );
};

const addressOf = (random: Random, { path, query }: Place, ids: readonly string[]): string => {
  const filled = path.replaceAll(/\{[^}]+\}/g, () => {
    const id = ids.length > 0 && random.chance(0.6) ? random.pick(ids) : random.pick([...WORDS, random.text()]);
    return encodeURIComponent(id.toWellFormed());
  });
  const asked = [...query, 'filter', 'order', 'mask', 'limit'].filter(() => random.chance(0.2));
  const value = () => JSON.stringify(random.json(['id', 'name', 'code', 'and', '=', 'like', ...WORDS])) ?? '';
  const text = asked
    .map((name) => `${name}=${encodeURIComponent((random.chance(0.7) ? value() : random.text()).toWellFormed())}`)
    .join('&');
  return text === '' ? filled : `${filled}?${text}`;
};

type Sent = { readonly method: string; readonly target: string; readonly body: unknown };

const requestOf = (random: Random, place: Place, ids: readonly string[]): Sent => {
  const { method } = place;
  const [path, query] = addressOf(random, place, ids).split('?', 2);
  const suffix = method === 'POST' ? random.pick(SUFFIXES) : '';
  const target = `${path}${suffix}${query === undefined ? '' : `?${query}`}`;
  return { method, target, body: method === 'GET' ? undefined : bodyOf(random, place) };
};

export const api: Target = {
  name: 'api',
  weight: 0.2,
  open: async () => {
    const platform = await startTestPlatform();
    const signIn = (): Promise<Client> => platform.signIn('admin', ADMIN_PASSWORD, 'master');
    let admin = await signIn();
    const places = placesOf((await admin.call('GET', 'openapi.json')).body as Described);
    let ids: readonly string[] = [];
    return {
      run: async (random) => {
        const { method, target, body } = requestOf(random, random.pick(places), ids);
        const isAdmin = random.chance(0.95);
        const client = isAdmin ? admin : platform.guest;
        const answer = await client.call(method, target, body === undefined ? {} : { body });
        if (answer.status === 500) throw new Error(`${method} ${target} ${JSON.stringify(body)}: ${answer.text}`);
        if (answer.status === 401 && isAdmin) admin = await signIn();
        const { id } = (answer.body ?? {}) as { id?: unknown };
        if (typeof id === 'string') ids = [id, ...ids].slice(0, MAX_KNOWN_IDS);
        return answer.status < 400;
      },
      [Symbol.asyncDispose]: () => platform[Symbol.asyncDispose](),
    };
  },
};
