import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { RouteRule } from '../domains/types.ts';
import { compileRoutes, covers } from './route-pattern.ts';

const rule = (url: string, ...methods: string[]): RouteRule => ({ methods: methods.length > 0 ? methods : ['*'], url });
const allows = (rules: RouteRule[], method: string, path: string) => compileRoutes(rules).allows(method, path);
const isCovered = (granter: RouteRule[], granted: RouteRule[]) =>
  covers(compileRoutes(granter).rules, compileRoutes(granted).rules);

describe('a route', () => {
  it('is exact, or open at its end, or open in one segment', () => {
    for (const [url, yes, no] of [
      ['/iam/users', ['/iam/users'], ['/iam/users/1', '/iam/user', '/iam/Users', '/iam']],
      ['/iam/users/*', ['/iam/users/1', '/iam/users/1/2'], ['/iam/users', '/iam/usersx']],
      ['/iam/users*', ['/iam/users', '/iam/users/1', '/iam/usersx'], ['/iam/user']],
      ['/iam/*/ext', ['/iam/x/ext'], ['/iam/ext', '/iam/x/y/ext', '/iam/x']],
      ['/iam/u*s/x', ['/iam/u*s/x'], ['/iam/users/x']],
      ['*', ['/', '/iam', '/a/b'], []],
      ['/*', ['/iam', '/a/b'], []],
    ] as const) {
      for (const path of yes) assert.ok(allows([rule(url)], 'GET', `/rest/v1${path}`), `${url} ${path}`);
      for (const path of no) assert.ok(!allows([rule(url)], 'GET', `/rest/v1${path}`), `${url} ${path}`);
    }
  });

  it('may be written with or without the base', () => {
    for (const url of ['/iam/users', 'iam/users', '/rest/v1/iam/users', '/rest/*', '/rest*']) {
      assert.ok(allows([rule(url)], 'GET', '/rest/v1/iam/users'), url);
    }
    assert.ok(!allows([rule('/*')], 'GET', '/elsewhere'));
  });

  it('gives HEAD with GET, LOOKUP only by name, everything with *', () => {
    assert.ok(allows([rule('/x', 'get')], 'HEAD', '/rest/v1/x'));
    assert.ok(!allows([rule('/x', 'HEAD')], 'GET', '/rest/v1/x'));
    assert.ok(!allows([rule('/x', 'GET', 'POST')], 'LOOKUP', '/rest/v1/x'));
    assert.ok(!allows([rule('/x*', 'POST')], 'DELETE', '/rest/v1/x'));
    for (const method of ['LOOKUP', 'WEBSOCKET', 'DELETE']) assert.ok(allows([rule('/x')], method, '/rest/v1/x'));
  });

  it('names a channel of a socket after #', () => {
    assert.ok(allows([rule('/ws/calls#events', 'WEBSOCKET')], 'WEBSOCKET', '/rest/v1/ws/calls#events'));
    assert.ok(!allows([rule('/ws/calls#events', 'WEBSOCKET')], 'WEBSOCKET', '/rest/v1/ws/calls'));
    assert.ok(!allows([rule('/ws/calls', 'WEBSOCKET')], 'WEBSOCKET', '/rest/v1/ws/calls#events'));
    assert.ok(allows([rule('/ws/*', 'WEBSOCKET')], 'WEBSOCKET', '/rest/v1/ws/calls#events'));
  });
});

describe('coverage', () => {
  it('compares methods and paths', () => {
    const users = [rule('/iam/users*', 'GET', 'PATCH')];
    assert.ok(isCovered([rule('*')], [rule('*')]));
    assert.ok(!isCovered([rule('/*')], [rule('*')]));
    assert.ok(isCovered(users, [rule('/iam/users/1', 'PATCH'), rule('/rest/v1/iam/users/*/x', 'HEAD')]));
    assert.ok(!isCovered(users, [rule('/iam/users', 'DELETE')]));
    assert.ok(!isCovered(users, [rule('/iam/users', '*')]));
    assert.ok(!isCovered(users, [rule('/iam/user*', 'GET')]));
    assert.ok(!isCovered([rule('/iam/users/*')], [rule('/iam/users')]));
    assert.ok(!isCovered([rule('/iam/*/x')], [rule('/iam/*')]));
    assert.ok(isCovered([rule('/iam/*/x')], [rule('/iam/users/x')]));
    assert.ok(!isCovered([rule('/iam/users/x')], [rule('/iam/*/x')]));
    assert.ok(isCovered([], []));
    assert.ok(!isCovered([], [rule('/x')]));
  });
});

// Few letters, so that patterns and paths meet often.
const segment = fc.constantFrom('a', 'b', 'ab', 'a#b');
const path = fc.array(segment, { minLength: 1, maxLength: 4 }).map((parts) => `/rest/v1/${parts.join('/')}`);
const method = fc.constantFrom('GET', 'HEAD', 'POST', 'LOOKUP', 'WEBSOCKET');
const pattern = fc
  .tuple(fc.array(fc.oneof(segment, fc.constant('*')), { minLength: 1, maxLength: 4 }), fc.constantFrom('', '*', '/*'))
  .map(([parts, end]) => `/rest/v1/${parts.join('/')}${end}`);
const rules = fc.array(
  fc.record({
    methods: fc.array(fc.oneof(method, fc.constant('*')), { maxLength: 2 }),
    url: fc.oneof({ weight: 20, arbitrary: pattern }, { weight: 1, arbitrary: fc.constant('*') }),
  }),
  { maxLength: 6 },
);

/** The rules read off as regular expressions, one after the other. */
const allowsNaively = (list: readonly RouteRule[], wanted: string, at: string): boolean =>
  list.some(({ methods, url }) => {
    if (!methods.some((each) => each === '*' || each === wanted || (each === 'GET' && wanted === 'HEAD'))) return false;
    if (url === '*') return true;
    const open = url.endsWith('*');
    const parts = (open ? url.slice(0, -1) : url).split('/').map((part, i, all) => {
      const isLast = open && i === all.length - 1;
      return part === '*' && !isLast ? '[^/]+' : part.replaceAll('*', '\\*');
    });
    return new RegExp(`^${parts.join('/')}${open ? '.*' : ''}$`).test(at);
  });

describe('compiled routes', () => {
  it('allow what the rules say, read one after the other', () => {
    fc.assert(
      fc.property(rules, method, path, (list, wanted, at) => {
        assert.equal(compileRoutes(list).allows(wanted, at), allowsNaively(list, wanted, at));
      }),
      { numRuns: 3000 },
    );
  });

  it('that cover others allow all that those allow', () => {
    let covered = 0;
    fc.assert(
      fc.property(
        rules,
        rules,
        fc.array(fc.tuple(method, path), { minLength: 5, maxLength: 5 }),
        (wide, narrow, asks) => {
          if (!isCovered(wide, narrow)) return;
          covered += narrow.length > 0 ? 1 : 0;
          for (const [wanted, at] of asks) {
            if (allows(narrow, wanted, at)) assert.ok(allows(wide, wanted, at), `${wanted} ${at}`);
          }
        },
      ),
      { numRuns: 5000 },
    );
    assert.ok(covered > 50, `only ${covered} were covered`);
  });

  it('cover themselves', () => {
    fc.assert(fc.property(rules, (list) => assert.ok(isCovered(list, list))));
  });
});

describe('the ends of patterns', () => {
  it('are no way to more: an exact path covers nothing below it', () => {
    assert.ok(isCovered([rule('/a/b')], [rule('/a/b')]));
    for (const granted of ['/a/b/*', '/a/b*', '/a/b/c', '/a/*', '/a/*/c']) {
      assert.ok(!isCovered([rule('/a/b')], [rule(granted)]), granted);
    }
    assert.ok(isCovered([rule('/a/b*')], [rule('/a/b/*')]));
    assert.ok(!isCovered([rule('/a/b/*')], [rule('/a/b*')]));
    assert.ok(!isCovered([rule('/a/*/c')], [rule('/a/*/c/*')]));
  });

  it('match no empty segment in their middle', () => {
    assert.ok(!allows([rule('/a/*/c')], 'GET', '/rest/v1/a//c'));
    assert.ok(allows([rule('/a/*')], 'GET', '/rest/v1/a/'));
  });
});
