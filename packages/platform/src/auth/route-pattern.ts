/**
 * Patterns of role routes: an exact path; a closing `*` for any rest, slashes included; an inner `*` for exactly one
 * segment; `*` alone for everything. Written with or without the API's base. A `#` and a channel name may follow a
 * socket's path and are plain characters.
 */
import type { RouteRule } from '../domains/types.ts';

const BASE = '/rest/v1';

/** Stands for one whole segment. */
const ANY_SEGMENT = Symbol('*');
type Segment = string | typeof ANY_SEGMENT;

/** `rest`: what the segment after the last one begins with; undefined when the path ends there. */
type Pattern = { readonly segments: readonly Segment[]; readonly rest: string | undefined };

/** One rule ready for matching; `everything` is the pattern `*`. */
export type CompiledRule = { readonly methods: ReadonlySet<string>; readonly pattern: Pattern | 'everything' };

const withBase = (url: string): string => {
  if (url === '/rest' || url === '/rest*' || url.startsWith('/rest/')) return url;
  return `${BASE}${url.startsWith('/') ? '' : '/'}${url}`;
};

const parsePattern = (url: string): Pattern | 'everything' => {
  if (url === '*') return 'everything';
  const full = withBase(url);
  const parts = (full.endsWith('*') ? full.slice(0, -1) : full).slice(1).split('/');
  const rest = full.endsWith('*') ? parts.pop() : undefined;
  return { segments: parts.map((part) => (part === '*' ? ANY_SEGMENT : part)), rest };
};

/** GET implies HEAD. */
const methodsOf = ({ methods }: RouteRule): ReadonlySet<string> => {
  const upper = new Set(methods.map((method) => method.toUpperCase()));
  return upper.has('GET') ? upper.add('HEAD') : upper;
};

export const compileRule = (rule: RouteRule): CompiledRule => ({
  methods: methodsOf(rule),
  pattern: parsePattern(rule.url),
});

const hasMethod = (methods: ReadonlySet<string>, method: string): boolean => methods.has('*') || methods.has(method);

type Node = {
  readonly next: Map<Segment, Node>;
  /** Methods of patterns that end here. */
  readonly here: Set<string>;
  /** Patterns that go on with any rest which begins so. */
  readonly rests: { readonly prefix: string; readonly methods: ReadonlySet<string> }[];
};

const createNode = (): Node => ({ next: new Map(), here: new Set(), rests: [] });

export type Routes = {
  /** `method` in upper case; `path` canonical: decoded once, no query, no closing slash. */
  allows(method: string, path: string): boolean;
  readonly rules: readonly CompiledRule[];
};

/** A tree by segments: a check costs the length of the path, not the number of rules. */
export const compileRoutes = (source: readonly RouteRule[]): Routes => {
  const rules = source.map(compileRule);
  const everywhere = new Set<string>();
  const root = createNode();
  for (const { methods, pattern } of rules) {
    if (pattern === 'everything') for (const method of methods) everywhere.add(method);
    else plant(root, pattern, methods);
  }

  const search = (node: Node, method: string, segments: readonly string[], at: number): boolean => {
    const segment = segments[at];
    if (segment === undefined) return hasMethod(node.here, method);
    if (node.rests.some(({ prefix, methods }) => segment.startsWith(prefix) && hasMethod(methods, method))) return true;
    const exact = node.next.get(segment);
    if (exact && search(exact, method, segments, at + 1)) return true;
    const any = segment === '' ? undefined : node.next.get(ANY_SEGMENT);
    return any !== undefined && search(any, method, segments, at + 1);
  };

  return {
    allows: (method, path) => hasMethod(everywhere, method) || search(root, method, path.slice(1).split('/'), 0),
    rules,
  };
};

const plant = (root: Node, { segments, rest }: Pattern, methods: ReadonlySet<string>): void => {
  let node = root;
  for (const segment of segments) {
    const known = node.next.get(segment);
    const next = known ?? createNode();
    if (!known) node.next.set(segment, next);
    node = next;
  }
  if (rest === undefined) for (const method of methods) node.here.add(method);
  else node.rests.push({ prefix: rest, methods });
};

const segmentCovers = (wide: Segment, narrow: Segment): boolean =>
  wide === ANY_SEGMENT ? narrow !== '' : wide === narrow;

/** What stands at a depth of a pattern begins with `prefix` in every path the pattern matches. */
const beginsWith = ({ segments, rest }: Pattern, depth: number, prefix: string): boolean => {
  if (depth === segments.length) return rest?.startsWith(prefix) ?? false;
  const segment = segments[depth]!;
  return segment === ANY_SEGMENT ? prefix === '' : segment.startsWith(prefix);
};

/** Every path that `narrow` matches, `wide` matches too. */
const patternCovers = (wide: Pattern | 'everything', narrow: Pattern | 'everything'): boolean => {
  if (wide === 'everything') return true;
  if (narrow === 'everything' || narrow.segments.length < wide.segments.length) return false;
  if (!wide.segments.every((segment, at) => segmentCovers(segment, narrow.segments[at]!))) return false;
  if (wide.rest !== undefined) return beginsWith(narrow, wide.segments.length, wide.rest);
  return narrow.rest === undefined && narrow.segments.length === wide.segments.length;
};

/**
 * The coverage rule: whoever has `granter` may do everything that `granted` allows. Each granted method and path must
 * lie within one rule of the granter; several rules that only together would cover it do not count.
 */
export const covers = (granter: readonly CompiledRule[], granted: readonly CompiledRule[]): boolean =>
  granted.every(({ methods, pattern }) =>
    [...methods].every((method) =>
      granter.some((own) => hasMethod(own.methods, method) && patternCovers(own.pattern, pattern)),
    ),
  );
