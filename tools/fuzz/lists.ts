/** List parameters of the platform: filter, order, mask, patterns, route rules. */
import { compileRule, covers } from '@parley/platform/auth/route-pattern.ts';
import { integrationPoints } from '@parley/platform/resources/integration-points.ts';
import type { Json } from '@parley/platform/rest/json.ts';
import { parseListQuery } from '@parley/platform/rest/query.ts';
import { createPatternCache } from '@parley/platform/rest/regex.ts';
import type { Random } from './random.ts';
import type { Target } from './target.ts';

const WORDS = [
  'id', 'code', 'type', 'name', 'opts', 'opts.title', 'opts.issync', 'ext', 'ext.lwt', 'tokenlocal', 'url', 'a.b.c',
  'and', 'or', 'not', '$and', '$or', '$not', '=', '!=', '<', '>=', 'in', 'like', 'regex', 'between', 'property', 'const',
  'asc', 'desc', '1~2', '~5', 'a%', '%a', 'a|b', '/a+/', '/(a+)+$/i', '*', '-code', '+code', 'true', '1;2~3',
]; // biome-ignore format: words
const LIMITS = { defaultLimit: 10, maxLimit: 100 };

const source = (random: Random): string => {
  if (random.chance(0.7)) return JSON.stringify(random.json(WORDS)) ?? 'null';
  if (random.chance(0.5)) return random.mutateText(JSON.stringify(random.json(WORDS)) ?? 'null');
  return random.list(6, () => random.pick(WORDS)).join(random.pick([',', ' ', '.', '']));
};

const document = (random: Random): Json => ({
  ...(random.json(WORDS) as Json),
  id: random.text(),
  code: random.text(),
  opts: random.json(WORDS),
});

export const lists: Target = {
  name: 'list',
  weight: 6,
  open: () => {
    const { resolve, fieldOf, id: idField } = integrationPoints;
    return {
      run: (random) => {
        const parameter = () =>
          random.chance(0.7) ? source(random) : random.chance(0.2) ? [source(random)] : undefined;
        const query = {
          filter: parameter(),
          order: parameter(),
          mask: parameter(),
          limit: random.pick([undefined, '', '5', '0', random.text()]),
          offset: random.pick([undefined, '1', random.text()]),
          flat: random.pick([undefined, 'true', random.text()]),
        };
        const patterns = createPatternCache();
        const list = parseListQuery(query, { resolve, fieldOf, idField, limits: LIMITS, patterns });
        const documents = random.list(4, () => document(random));
        for (const each of documents) {
          list.filter.test(each);
          list.mask?.apply(each);
        }
        documents.sort(list.order.compare);
      },
    };
  },
};

const PIECES = ['a', '.', '*', '+', '?', '{2,5}', '{1000}', '(', ')', '(?:', '(?i)', '|', '[a-z]', '[^', ']', '\\d', '\\b', '\\p{L}', '^', '$', '\\', 'ä', '(?=', '(?<n>', '\\1']; // biome-ignore format: pieces

export const patterns: Target = {
  name: 'regex',
  weight: 3,
  open: () => ({
    run: (random) => {
      const pattern = random.chance(0.8) ? random.list(20, () => random.pick(PIECES)).join('') : random.text();
      const test = createPatternCache().compile(pattern, random.chance(0.5), 'filter');
      test(random.text());
      test(random.pick(['a', 'ab', 'aä', '0']).repeat(random.int(2000)));
    },
  }),
};

export const routes: Target = {
  name: 'routes',
  weight: 3,
  open: () => ({
    run: (random) => {
      const url = () =>
        random.list(6, () => random.pick(['/', '*', 'rest', 'v1', 'iam', 'users', '#', 'a*', random.text()])).join('');
      const rule = () =>
        compileRule({ methods: random.list(2, () => random.pick(['GET', '*', 'get', random.text()])), url: url() });
      covers(random.list(4, rule), random.list(2, rule));
    },
  }),
};
